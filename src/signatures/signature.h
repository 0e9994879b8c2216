/*
 * signature.h
 *		Parses a signature: what it adds to a state.
 */
#ifndef STEPADV_SIGNATURE_H
#define STEPADV_SIGNATURE_H

#include "lib/stringinfo.h"
#include "span.h"

typedef struct ParsedSignature
{
	Span		category;
	Span		scope;			/* without the colons around it */
	Span		target;			/* data NULL if there is none */
	bool		ok;
	bool		error;
} ParsedSignature;

/* What one effect adds to the state. */
typedef enum TraceKind
{
	TRACE_NONE,					/* nothing: it failed */
	TRACE_FILE,					/* an operation on a file: an element of the state's set */
	TRACE_FLAG					/* something that is counted */
} TraceKind;

extern bool next_signature(Span *rest, Span *signature);
extern void parse_signature(Span text, ParsedSignature *parsed);
extern TraceKind signature_trace(const ParsedSignature *parsed, StringInfo path, StringInfo op);
extern bool is_change(const ParsedSignature *parsed);

#endif							/* STEPADV_SIGNATURE_H */
