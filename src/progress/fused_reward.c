/*
 * fused_reward.c
 *		Functions for estimators of progress: SPA's fused reward, and folds for
 *		cross-validation by group.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"

#include "hash.h"
#include "parameters.h"

PG_FUNCTION_INFO_V1(stepadv_fused_reward);
PG_FUNCTION_INFO_V1(stepadv_fused_reward_or_nan);
PG_FUNCTION_INFO_V1(stepadv_progress_fold);

/* alpha * contribution + beta * grounded; strict.  lenient: NaN instead of an error. */
static Datum
fuse(FunctionCallInfo fcinfo, bool lenient)
{
	static const Parameter declared[] = {
		NUMBER_PARAMETER("alpha", -INFINITY, INFINITY), NUMBER_PARAMETER("beta", -INFINITY, INFINITY)
	};
	ParameterValue parameters[lengthof(declared)];
	double		contribution = PG_GETARG_FLOAT8(0);

	read_parameters(fcinfo, 2, declared, lengthof(declared), parameters);
	if (!isfinite(contribution) && lenient)
		PG_RETURN_FLOAT8(NAN);
	if (!isfinite(contribution))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("contribution is %s, not a finite number", isnan(contribution) ? "NaN" : "infinite")));
	PG_RETURN_FLOAT8(parameters[0].number * contribution + (PG_GETARG_BOOL(1) ? parameters[1].number : 0));
}

Datum
stepadv_fused_reward(PG_FUNCTION_ARGS)
{
	return fuse(fcinfo, false);
}

Datum
stepadv_fused_reward_or_nan(PG_FUNCTION_ARGS)
{
	return fuse(fcinfo, true);
}

/* The number of a group's fold; strict. */
Datum
stepadv_progress_fold(PG_FUNCTION_ARGS)
{
	int32		folds = PG_GETARG_INT32(1);
	uint64		bits;

	if (folds < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("folds must be at least 1, not %d", folds)));
	bits = (uint64) hash_int64_onto(PG_GETARG_INT64(0), PG_GETARG_INT32(2));
	PG_RETURN_INT32((int32) (((bits >> 32) * (uint64) folds) >> 32));
}
