/*
 * declaration.h
 *		What SQL declares of a C function, held against what the C code expects.
 *
 * Parameters and result columns are known by their names on both sides, so that
 * a declaration which has them in another order works all the same, and one which
 * lacks them, or has them with other types, is an error rather than other numbers.
 */
#ifndef STEPADV_DECLARATION_H
#define STEPADV_DECLARATION_H

#include "fmgr.h"

/* A parameter, or a result column, as the C code has it. */
typedef struct Expected
{
	const char *name;
	Oid			type;			/* or TYPE_OF_FIRST_ARGUMENT */
} Expected;

/* Extensions' types have no numbers that C code could know. */
#define TYPE_OF_FIRST_ARGUMENT InvalidOid

/* What was found, kept in fn_extra as long as the query runs. */
typedef struct Declaration
{
	int16	   *arguments;		/* by parameter: the number of the argument; NULL: not looked for yet */
	int16	   *columns;		/* by column of C: its place among the declared; NULL likewise */
} Declaration;

extern Declaration *make_declaration(FmgrInfo *function);

static inline Declaration *
declaration_of(FmgrInfo *function)
{
	return function->fn_extra ? (Declaration *) function->fn_extra : make_declaration(function);
}

/* The arguments from `first` on must be the expected ones, in any order. */
extern void match_arguments(FmgrInfo *function, int first, const Expected *expected, int n);

/* So are the result columns. */
extern void match_columns(FmgrInfo *function, const Expected *expected, int n);

/* An error unless the first argument is a rollout_group. */
extern void require_group_argument(FmgrInfo *function);

#endif							/* STEPADV_DECLARATION_H */
