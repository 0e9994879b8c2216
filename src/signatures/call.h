/*
 * call.h
 *		From a tool call to its effects, and from these to its signature.
 */
#ifndef STEPADV_CALL_H
#define STEPADV_CALL_H

#include "signatures/effect.h"
#include "signatures/call_arguments.h"
#include "signatures/vocabulary.h"

typedef enum CallResult
{
	RESULT_UNKNOWN,
	RESULT_OK,
	RESULT_ERROR
} CallResult;

/* Stands between the signatures of the effects of one call, and never occurs inside one. */
#define EFFECT_SEPARATOR " ; "

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
	bool		has_digits;		/* the text that render.c hashed last, and its hash */
	Span		hashed_old;
	Span		hashed_new;
	char		digits[5];
} SignatureOptions;

/* call.c */
extern void classify_call(Span tool, Arguments *arguments, const UserVocabulary *vocabulary, CallResult result,
						  Effects *effects);

/* render.c */
extern const char *category_name(EffectCategory category);
extern CallResult effect_result(const Effect *effect, CallResult call);
extern void render_target(StringInfo out, const Effect *effect, const SignatureOptions *options);
extern void render_effect(StringInfo out, const Effect *effect, CallResult result, SignatureOptions *options);
extern void render_call(StringInfo out, const Effects *effects, CallResult result, SignatureOptions *options);
extern void append_encoded(StringInfo out, const char *text, int length);

/* content.c, or a stand-in of the fuzzer: four hexadecimal digits and a NUL */
extern void edit_hash(Span old_text, Span new_text, ContentHash kind, char digits[5]);

#endif							/* STEPADV_CALL_H */
