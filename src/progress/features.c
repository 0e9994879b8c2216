#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"

#include "progress/features.h"
#include "progress/kernels.h"

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

/* Raise the error for an invalid index. */
static _Noreturn pg_noinline void
refuse_place(const SparseFeatures *features, int at, const char *of)
{
	int32		place = features->place[at];

	if (place < 1 || place > MOST_PLACES)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("index %d of the features%s is not between 1 and %d", place, of, MOST_PLACES),
				 errhint("Indices start at 1, as those of an array do.")));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_EXCEPTION),
			 place == features->place[at - 1]
			 ? errmsg("index %d of the features%s is given twice", place, of)
			 : errmsg("indices of the features%s do not ascend: %d comes after %d", of, place, features->place[at - 1]),
			 errhint("List each index once, with its weight, in ascending order.")));
}

SparseFeatures
sparse_features_open(ArrayType *indices, ArrayType *weights, const int64 *rollout_id)
{
	int			n = ArrayGetNItems(ARR_NDIM(indices), ARR_DIMS(indices));
	SparseFeatures features = {(const int32 *) ARR_DATA_PTR(indices), (const float *) ARR_DATA_PTR(weights), n};
	int32		before = 0;

	if (ARR_NDIM(indices) > 1 || ARR_NDIM(weights) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("indices and weights of the features%s must have one dimension", of_rollout(rollout_id))));
	if (ArrayGetNItems(ARR_NDIM(weights), ARR_DIMS(weights)) != n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("features%s have %d indices and %d weights", of_rollout(rollout_id), n,
						ArrayGetNItems(ARR_NDIM(weights), ARR_DIMS(weights)))));
	if (array_contains_nulls(indices) || array_contains_nulls(weights))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("indices and weights of the features%s must not contain nulls", of_rollout(rollout_id))));
	for (int i = 0; i < n; i++)
	{
		if (features.place[i] <= before || features.place[i] > MOST_PLACES)
			refuse_place(&features, i, of_rollout(rollout_id));
		before = features.place[i];
	}
	if (features_finite(features.weight, n))
		return features;
	for (int i = 0; i < n; i++)
		if (!isfinite(features.weight[i]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("the weight at index %d of the features%s is %s, not a finite number", features.place[i],
							of_rollout(rollout_id), isnan(features.weight[i]) ? "NaN" : "infinite")));
	return features;
}
