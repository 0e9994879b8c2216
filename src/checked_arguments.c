#include "postgres.h"

#include "utils/builtins.h"

#include "checked_arguments.h"

/* Raise an error if the argument is NULL. */
static void
require_argument(FunctionCallInfo fcinfo, int arg, const char *name)
{
	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
}

/* The elements of an array with at most one dimension.  An error if it has another type or shape, or NULLs. */
static const void *
list_elements(ArrayType *array, const char *name, Oid type, int *n)
{
	if (ARR_ELEMTYPE(array) != type)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("%s must be %s[], not %s[]", name, format_type_be(type), format_type_be(ARR_ELEMTYPE(array)))));
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s has %d dimensions, not one", name, ARR_NDIM(array))));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not have null elements", name)));
	*n = ARR_NDIM(array) == 0 ? 0 : ARR_DIMS(array)[0];
	return ARR_DATA_PTR(array);
}

const void *
list_argument(FunctionCallInfo fcinfo, int arg, const char *name, Oid type, int *n)
{
	require_argument(fcinfo, arg, name);
	return list_elements(PG_GETARG_ARRAYTYPE_P(arg), name, type, n);
}

/* The numbers may still be invalid.  Then so is the result, but nothing worse happens. */
static void *
numbers_of_state(ArrayType *array, const char *aggregate, Oid type, int n)
{
	if (ARR_NDIM(array) != 1 || ARR_DIMS(array)[0] != n || ARR_ELEMTYPE(array) != type || array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("this array is not a state of %s", aggregate),
				 errhint("Call the aggregate instead of its support functions.")));
	return ARR_DATA_PTR(array);
}

const void *
state_numbers(FunctionCallInfo fcinfo, int arg, const char *aggregate, Oid type, int n)
{
	require_argument(fcinfo, arg, "the state");
	return numbers_of_state(PG_GETARG_ARRAYTYPE_P(arg), aggregate, type, n);
}

void *
state_numbers_to_change(FunctionCallInfo fcinfo, const char *aggregate, Oid type, int n, Datum *state)
{
	ArrayType  *array;

	require_argument(fcinfo, 0, "the state");
	array = AggCheckCallContext(fcinfo, NULL) ? PG_GETARG_ARRAYTYPE_P(0) : PG_GETARG_ARRAYTYPE_P_COPY(0);
	*state = PointerGetDatum(array);
	return numbers_of_state(array, aggregate, type, n);
}
