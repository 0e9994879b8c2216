/*
 * broadcast.c
 *		broadcast(advantage, mask), broadcast(advantage, n): a step's advantage on
 *		each of its tokens, as trainers take it.
 *
 * It is repeated, never divided by their number; where the mask is false it is 0.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/memutils.h"

#include "policy/mask.h"

PG_FUNCTION_INFO_V1(stepadv_broadcast_mask);
PG_FUNCTION_INFO_V1(stepadv_broadcast_n);

static float
real_advantage(double advantage)
{
	float		real = (float) advantage;

	if (!isfinite(real))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("advantage %g is out of range for type real", advantage)));
	return real;
}

/* A real[] of n zeros. */
static ArrayType *
make_reals(int n)
{
	Size		size = ARR_OVERHEAD_NONULLS(1) + (Size) n * sizeof(float);
	ArrayType  *array;

	if (n == 0)
		return construct_empty_array(FLOAT4OID);
	if (!AllocSizeIsValid(size))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("an array of %d elements is too large", n)));
	array = palloc0(size);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = FLOAT4OID;
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = 1;
	return array;
}

Datum
stepadv_broadcast_mask(PG_FUNCTION_ARGS)
{
	float		advantage = real_advantage(PG_GETARG_FLOAT8(0));
	int			n;
	const bool *mask = open_mask(PG_GETARG_ARRAYTYPE_P(1), &n);
	ArrayType  *result;
	float	   *tokens;

	result = make_reals(n);
	tokens = (float *) ARR_DATA_PTR(result);
	for (int i = 0; i < n; i++)
		if (mask[i])
			tokens[i] = advantage;
	PG_RETURN_ARRAYTYPE_P(result);
}

Datum
stepadv_broadcast_n(PG_FUNCTION_ARGS)
{
	float		advantage = real_advantage(PG_GETARG_FLOAT8(0));
	int			n = PG_GETARG_INT32(1);
	ArrayType  *result;
	float	   *tokens;

	if (n < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("n must be at least 0, not %d", n)));
	result = make_reals(n);
	tokens = (float *) ARR_DATA_PTR(result);
	for (int i = 0; i < n; i++)
		tokens[i] = advantage;
	PG_RETURN_ARRAYTYPE_P(result);
}
