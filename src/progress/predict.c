/*
 * predict.c
 *		progress_predict(model, features), progress_predict(model, indices,
 *		weights): a step's contribution.
 *		progress_outcome(model, total): the outcome predicted from their sum.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/builtins.h"

#include "progress/features.h"
#include "progress/kernels.h"
#include "progress/model.h"

PG_FUNCTION_INFO_V1(stepadv_progress_predict);
PG_FUNCTION_INFO_V1(stepadv_progress_predict_sparse);
PG_FUNCTION_INFO_V1(stepadv_progress_predict_or_nan);
PG_FUNCTION_INFO_V1(stepadv_progress_outcome);

double
logistic(double log_odds)
{
	return log_odds >= 0 ? 1 / (1 + exp(-log_odds)) : exp(log_odds) / (1 + exp(log_odds));
}

static void
refuse_overflow(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("contribution is out of range for type double precision")));
}

static double
contribution_of_array(const ProgressModel *model, ArrayType *array)
{
	Features	features = features_open(array, NULL);
	double		contribution;

	if (model->place != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the model expects sparse features, not dense ones"),
				 errhint("Give their indices and weights.")));
	if (features.n != model->n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("features have %d elements, the model expects %d", features.n, model->n)));
	contribution = features_dot(model->weight, features.x, features.n);
	if (unlikely(!isfinite(contribution)))
	{
		if (!features_finite(features.x, features.n))
			features_refuse(&features, NULL);
		refuse_overflow();
	}
	return contribution;
}

/* Indices ascend in both; the model usually has many more, so they are found by binary search. */
static double
sparse_dot(const ProgressModel *model, const SparseFeatures *features)
{
	int			low = 0;
	double		sum = 0;

	for (int i = 0; i < features->n; i++)
	{
		int			high = model->n;

		while (low < high)
		{
			int			middle = low + (high - low) / 2;

			if (model->place[middle] < features->place[i])
				low = middle + 1;
			else
				high = middle;
		}
		/* A feature that the fit has not seen has weight 0. */
		if (low < model->n && model->place[low] == features->place[i])
			sum += model->weight[low] * features->weight[i];
	}
	return sum;
}

static double
dense_dot(const ProgressModel *model, const SparseFeatures *features)
{
	double		sum = 0;

	for (int i = 0; i < features->n; i++)
	{
		if (features->place[i] > model->n)
			ereport(ERROR,
					(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
					 errmsg("features have index %d, the model expects %d elements", features->place[i], model->n)));
		sum += model->weight[features->place[i] - 1] * features->weight[i];
	}
	return sum;
}

/* Strict. */
Datum
stepadv_progress_predict_sparse(PG_FUNCTION_ARGS)
{
	const ProgressModel *model = progress_model_argument(fcinfo);
	SparseFeatures features = sparse_features_open(PG_GETARG_ARRAYTYPE_P(1), PG_GETARG_ARRAYTYPE_P(2), NULL);
	double		contribution = model->place != NULL ? sparse_dot(model, &features) : dense_dot(model, &features);

	if (unlikely(!isfinite(contribution)))
		refuse_overflow();
	PG_RETURN_FLOAT8(contribution);
}

/* Strict. */
Datum
stepadv_progress_predict(PG_FUNCTION_ARGS)
{
	const ProgressModel *model = progress_model_argument(fcinfo);

	PG_RETURN_FLOAT8(contribution_of_array(model, PG_GETARG_ARRAYTYPE_P(1)));
}

/*
 * The same for views: NaN instead of errors about features, NULL for NULL features.  Error without
 * a model; name, the third argument, is for its message.
 */
Datum
stepadv_progress_predict_or_nan(PG_FUNCTION_ARGS)
{
	const ProgressModel *model;
	ArrayType  *array;
	Features	features;
	double		contribution;

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there is no progress model %s",
						PG_ARGISNULL(2) ? "NULL" : quote_literal_cstr(text_to_cstring(PG_GETARG_TEXT_PP(2)))),
				 errhint("Models are rows of the table progress_models.")));
	if (PG_ARGISNULL(1))
		PG_RETURN_NULL();
	model = progress_model_argument(fcinfo);
	array = PG_GETARG_ARRAYTYPE_P(1);
	if (model->place != NULL || ARR_NDIM(array) != 1 || array_contains_nulls(array) || ARR_DIMS(array)[0] != model->n)
		PG_RETURN_FLOAT8(NAN);
	features = features_open(array, NULL);
	contribution = features_dot(model->weight, features.x, features.n);
	PG_RETURN_FLOAT8(isfinite(contribution) ? contribution : NAN);
}

/* progress_outcome(model, total): the outcome of a rollout whose contributions add up to total; strict. */
Datum
stepadv_progress_outcome(PG_FUNCTION_ARGS)
{
	const ProgressModel *model = progress_model_argument(fcinfo);
	double		outcome = model->intercept + PG_GETARG_FLOAT8(1);

	if (model->logistic)
		outcome = logistic(outcome);
	PG_RETURN_FLOAT8(outcome);
}
