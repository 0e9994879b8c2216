/*
 * step_arguments.c
 *		What aggregates over steps are given by row, read and checked alike.
 */
#include "postgres.h"

#include <math.h>

#include "progress/step_arguments.h"

static void
refuse_null(const char *what, int64 rollout_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s of rollout " INT64_FORMAT " must not be null", what, rollout_id)));
}

static double
require_finite(double number, const char *what, int64 rollout_id)
{
	if (!isfinite(number))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s of rollout " INT64_FORMAT " is %s, not a finite number",
						what, rollout_id, isnan(number) ? "NaN" : "infinite")));
	return number;
}

int64
rollout_id_argument(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(ARG_ROLLOUT_ID))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("rollout_id must not be null")));
	return PG_GETARG_INT64(ARG_ROLLOUT_ID);
}

Features
features_argument(FunctionCallInfo fcinfo, int64 rollout_id)
{
	if (PG_ARGISNULL(ARG_FEATURES))
		refuse_null("features", rollout_id);
	return features_open(PG_GETARG_ARRAYTYPE_P(ARG_FEATURES), &rollout_id);
}

SparseFeatures
sparse_features_argument(FunctionCallInfo fcinfo, int64 rollout_id)
{
	if (PG_ARGISNULL(ARG_PLACES))
		refuse_null("places of the features", rollout_id);
	if (PG_ARGISNULL(ARG_WEIGHTS))
		refuse_null("weights of the features", rollout_id);
	return sparse_features_open(PG_GETARG_ARRAYTYPE_P(ARG_PLACES), PG_GETARG_ARRAYTYPE_P(ARG_WEIGHTS), &rollout_id);
}

double
contribution_argument(FunctionCallInfo fcinfo, int64 rollout_id)
{
	if (PG_ARGISNULL(ARG_FEATURES))
		refuse_null("contribution", rollout_id);
	return require_finite(PG_GETARG_FLOAT8(ARG_FEATURES), "contribution", rollout_id);
}

static double
outcome_at(FunctionCallInfo fcinfo, int arg, int64 rollout_id)
{
	if (PG_ARGISNULL(arg))
		return NAN;
	return require_finite(PG_GETARG_FLOAT8(arg), "outcome", rollout_id);
}

double
outcome_argument(FunctionCallInfo fcinfo, int64 rollout_id)
{
	return outcome_at(fcinfo, ARG_OUTCOME, rollout_id);
}

double
sparse_outcome_argument(FunctionCallInfo fcinfo, int64 rollout_id)
{
	return outcome_at(fcinfo, ARG_SPARSE_OUTCOME, rollout_id);
}
