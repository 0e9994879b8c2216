/*
 * call.h
 *		From a tool call to an action, and from an action to its signature.
 */
#ifndef STEPADV_CALL_H
#define STEPADV_CALL_H

#include "signatures/action.h"
#include "signatures/arguments.h"
#include "signatures/vocabulary.h"

typedef enum CallResult
{
	RESULT_UNKNOWN,
	RESULT_OK,
	RESULT_ERROR
} CallResult;

typedef enum ContentHash
{
	CONTENT_MD5,
	CONTENT_XXH3,
	CONTENT_NONE
} ContentHash;

typedef struct SignatureOptions
{
	ContentHash content_hash;
	bool		basename;		/* print the last part of paths only */
	Span		root;			/* directory that paths are relative to; length 0 = none */
} SignatureOptions;

/* call.c */
extern void classify_call(Span tool, Arguments *arguments, const UserVocabulary *vocabulary, Action *action);

/* render.c */
extern const char *category_name(ActionCategory category);
extern void render_action(StringInfo out, const Action *action, CallResult result, const SignatureOptions *options);
extern void append_encoded(StringInfo out, const char *text, int length);

/* content.c, or a stand-in of the fuzzer: four hexadecimal digits and a NUL */
extern void edit_hash(Span old_text, Span new_text, ContentHash kind, char digits[5]);

#endif							/* STEPADV_CALL_H */
