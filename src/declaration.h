/*
 * declaration.h
 *		Compares the SQL declaration of a C function with what the C code expects.
 *
 * Parameters and result columns are matched by name, so a declaration may have them in any order.  A
 * declaration that lacks one, or has another type for it, is an error and cannot cause wrong results.
 */
#ifndef STEPADV_DECLARATION_H
#define STEPADV_DECLARATION_H

#include "fmgr.h"

/* A parameter or a result column that the C code expects. */
typedef struct Expected
{
	const char *name;
	Oid			type;			/* or TYPE_OF_FIRST_ARGUMENT */
} Expected;

/* The OIDs of an extension's types are not known to C code. */
#define TYPE_OF_FIRST_ARGUMENT InvalidOid

/* The result of a comparison, kept in fn_extra for the duration of the query. */
typedef struct Declaration
{
	int16	   *arguments;		/* argument number by parameter; NULL: not matched yet */
	int16	   *columns;		/* declared position by column of the C code; NULL: not matched yet */
} Declaration;

extern Declaration *make_declaration(FmgrInfo *function);

static inline Declaration *
declaration_of(FmgrInfo *function)
{
	return function->fn_extra ? (Declaration *) function->fn_extra : make_declaration(function);
}

/* Match the arguments from number first on with the expected ones, which may be in any order. */
extern void match_arguments(FmgrInfo *function, int first, const Expected *expected, int n);

/* Match the result columns likewise. */
extern void match_columns(FmgrInfo *function, const Expected *expected, int n);

/* An error unless the first argument is a rollout_group. */
extern void require_group_argument(FmgrInfo *function);

#endif							/* STEPADV_DECLARATION_H */
