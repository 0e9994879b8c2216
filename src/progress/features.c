/*
 * features.c
 *		Reading the feature vector of a step.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"

#include "compat.h"
#include "progress/features.h"

static const char *
of_rollout(const int64 *rollout_id)
{
	return rollout_id == NULL ? "" : psprintf(" of rollout " INT64_FORMAT, *rollout_id);
}

Features
features_open(ArrayType *array, const int64 *rollout_id)
{
	Features	features;

	Assert(ARR_ELEMTYPE(array) == FLOAT4OID);
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("features%s have %d dimensions, not one", of_rollout(rollout_id), ARR_NDIM(array))));
	features.n = ARR_NDIM(array) == 0 ? 0 : ARR_DIMS(array)[0];
	if (features.n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("features%s are empty", of_rollout(rollout_id))));
	if (ARR_HASNULL(array) && array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("features%s must not contain nulls", of_rollout(rollout_id))));
	features.x = (const float *) ARR_DATA_PTR(array);
	return features;
}

void
features_refuse(const Features *features, const int64 *rollout_id)
{
	for (int i = 0; i < features->n; i++)
		if (!isfinite(features->x[i]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("element %d of the features%s is %s, not a finite number", i + 1,
							of_rollout(rollout_id), isnan(features->x[i]) ? "NaN" : "infinite")));
	elog(ERROR, "features are finite");
}
