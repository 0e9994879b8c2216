/*
 * checked_arguments.h
 *		Checked access to the arguments of C functions.
 *
 * Any user can call a function that SQL declares, with any values of the declared types: NULLs unless the
 * declaration excludes them, arrays of any shape, and aggregate states made by hand. parameters.h reads named
 * parameters.
 */
#ifndef STEPADV_CHECKED_ARGUMENTS_H
#define STEPADV_CHECKED_ARGUMENTS_H

#include "fmgr.h"
#include "utils/array.h"

/* The elements of an array argument of this type.  It must have at most one dimension, and no NULLs. */
extern const void *list_argument(FunctionCallInfo fcinfo, int arg, const char *name, Oid type, int *n);

/*
 * The n numbers, float8 or int8, in the state of an aggregate: to read, or to change.  They are changed in
 * place if an aggregate makes the call, and in a copy otherwise; *state is set to the array to return.
 */
extern const void *state_numbers(FunctionCallInfo fcinfo, int arg, const char *aggregate, Oid type, int n);
extern void *state_numbers_to_change(FunctionCallInfo fcinfo, const char *aggregate, Oid type, int n, Datum *state);

#endif							/* STEPADV_CHECKED_ARGUMENTS_H */
