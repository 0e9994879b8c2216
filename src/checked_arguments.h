/*
 * checked_arguments.h
 *		What a C function is given, checked.
 *
 * Any user can call what SQL can reach, with any values of the declared types:
 * NULLs where the declaration does not exclude them, arrays of any shape, and states
 * of aggregates that their caller made.  Named parameters are read by parameters.h.
 */
#ifndef STEPADV_CHECKED_ARGUMENTS_H
#define STEPADV_CHECKED_ARGUMENTS_H

#include "fmgr.h"
#include "utils/array.h"

/* The elements of an array argument of this type, where they lie; it must have one dimension at most, and no NULLs. */
extern const void *list_argument(FunctionCallInfo fcinfo, int arg, const char *name, Oid type, int *n);

/*
 * The n numbers, float8 or int8, that are the state of an aggregate: to read, or to change, which is
 * done in place only where the state is the aggregate's own; `state` is then what to return.
 */
extern const void *state_numbers(FunctionCallInfo fcinfo, int arg, const char *aggregate, Oid type, int n);
extern void *state_numbers_to_change(FunctionCallInfo fcinfo, const char *aggregate, Oid type, int n, Datum *state);

#endif							/* STEPADV_CHECKED_ARGUMENTS_H */
