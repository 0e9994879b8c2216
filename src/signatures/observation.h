/*
 * observation.h
 *		Removes what differs from run to run from observations; test/fuzz compiles this without a server.
 */
#ifndef STEPADV_OBSERVATION_H
#define STEPADV_OBSERVATION_H

#include "lib/stringinfo.h"
#include "span.h"

typedef struct ObservationOptions
{
	bool		whitespace;		/* runs of white space become one blank, none at the ends */
	bool		ansi;			/* remove terminal escapes */
	bool		lowercase;		/* ASCII letters */
	bool		digits;			/* runs of digits become 0 */
	bool		addresses;		/* 0x7f… becomes <address> */
	bool		timestamps;		/* <time>, <duration> */
	Span		root;			/* remove this directory from the front of paths; length 0 = none */
} ObservationOptions;

extern void normalize_text(StringInfo out, Span text, const ObservationOptions *options);

#endif							/* STEPADV_OBSERVATION_H */
