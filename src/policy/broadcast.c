/*
 * broadcast.c
 *		broadcast(advantage, mask): a step's advantage for each of its tokens, as
 *		trainers expect it.
 *
 * It is not divided by the number of tokens; where the mask is false, it is 0.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"

#include "arrays.h"
#include "checked_arguments.h"

PG_FUNCTION_INFO_V1(stepadv_broadcast);

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

Datum
stepadv_broadcast(PG_FUNCTION_ARGS)
{
	float		advantage = real_advantage(PG_GETARG_FLOAT8(0));
	int			n;
	const bool *mask = list_argument(fcinfo, 1, "mask", BOOLOID, &n);
	ArrayType  *result;
	float	   *tokens;

	result = zeroed_vector(FLOAT4OID, n, sizeof(float));
	tokens = (float *) ARR_DATA_PTR(result);
	for (int i = 0; i < n; i++)
		if (mask[i])
			tokens[i] = advantage;
	PG_RETURN_ARRAYTYPE_P(result);
}
