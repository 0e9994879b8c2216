/*
 * call_arguments.h
 *		The arguments of a tool call as names and texts.
 *
 * Scaffolds store them as an object, as a text with JSON, or as a text in a kind of XML.  read_call.c reads
 * the objects, call_arguments.c the texts.  Every value becomes a text: a string its content, a number or a
 * word itself, an array its elements separated by blanks (strings quoted for a shell, so that
 * ["bash","-lc","ls | wc"] is a command), an object its JSON.
 */
#ifndef STEPADV_CALL_ARGUMENTS_H
#define STEPADV_CALL_ARGUMENTS_H

#include "lib/stringinfo.h"
#include "span.h"

#define MAX_ARGUMENTS 32		/* of one call; further ones are ignored */

typedef struct Argument
{
	Span		name;
	Span		value;
} Argument;

typedef struct Arguments
{
	int			n;
	Argument	items[MAX_ARGUMENTS];
	Span		text;			/* the arguments are a single text */
	Span		tool;			/* XML may name the tool */
	bool		utf8;			/* \u escapes become UTF-8; else they stay as they are */
} Arguments;

extern void arguments_init(Arguments *arguments, bool utf8);
extern void arguments_add(Arguments *arguments, Span name, Span value);
extern void arguments_add_quoted(StringInfo list, Span element);
extern void arguments_read_text(Arguments *arguments, Span text);

#endif							/* STEPADV_CALL_ARGUMENTS_H */
