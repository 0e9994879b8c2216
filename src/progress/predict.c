/*
 * predict.c
 *		progress_predict(model, features), progress_predict(model, places,
 *		weights): a step's contribution.
 *		progress_attribution, progress_residual: window functions over a
 *		rollout's steps, which compare contributions with the outcome.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"
#include "windowapi.h"

#include "arrays.h"
#include "compat.h"
#include "progress/features.h"
#include "progress/kernels.h"
#include "progress/predict.h"
#include "progress/value.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_progress_predict);
PG_FUNCTION_INFO_V1(stepadv_progress_predict_sparse);
PG_FUNCTION_INFO_V1(stepadv_progress_predict_or_nan);
PG_FUNCTION_INFO_V1(stepadv_progress_attribution);
PG_FUNCTION_INFO_V1(stepadv_progress_residual);

/* Of as many features as the model has; NaN or infinity where not all of them are finite. */
static double
contribution_of(const ProgressValue *model, const Features *features)
{
	return progress_step_intercept(model) + features_dot(model->numbers + LINEAR_WEIGHTS, features->x, features->n);
}

double
progress_step_intercept(const ProgressValue *model)
{
	return (model->flags & PROGRESS_OF_ROLLOUT) != 0 ? 0 : model->numbers[MODEL_INTERCEPT];
}

double
progress_rollout_intercept(const ProgressValue *model)
{
	return (model->flags & PROGRESS_OF_ROLLOUT) != 0 ? model->numbers[MODEL_INTERCEPT] : 0;
}

double
progress_outcome(double sum, bool logistic)
{
	if (!logistic)
		return sum;
	return sum >= 0 ? 1 / (1 + exp(-sum)) : exp(sum) / (1 + exp(sum));
}

static void
refuse_overflow(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("contribution is out of range for type double precision")));
}

double
progress_contribution(const ProgressValue *model, ArrayType *array, const int64 *rollout_id)
{
	Features	features = features_open(array, rollout_id);
	double		contribution;

	if (model->kind == PROGRESS_SPARSE)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("the model is of sparse features, these are dense"),
				 errhint("Give their places and weights.")));
	if (features.n != (int) model->dimension)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("features have %d elements, the model expects %u", features.n, model->dimension)));
	contribution = contribution_of(model, &features);
	if (unlikely(!isfinite(contribution)))
	{
		if (!features_finite(features.x, features.n))
			features_refuse(&features, rollout_id);
		refuse_overflow();
	}
	return contribution;
}

/* Places and those of the model both ascend, the model's being many more. */
static double
sparse_dot(const ProgressValue *model, const SparseFeatures *features)
{
	const double *weight = model->numbers + LINEAR_WEIGHTS;
	const double *place = model->numbers + SPARSE_PLACES(model);
	uint32		low = 0;
	double		sum = 0;

	for (int i = 0; i < features->n; i++)
	{
		uint32		high = model->dimension;

		while (low < high)
		{
			uint32		middle = low + (high - low) / 2;

			if (place[middle] < features->place[i])
				low = middle + 1;
			else
				high = middle;
		}
		/* A feature that no rollout of the fit had weighs nothing. */
		if (low < model->dimension && place[low] == features->place[i])
			sum += weight[low] * features->weight[i];
	}
	return sum;
}

double
progress_sparse_contribution(const ProgressValue *model, const SparseFeatures *features)
{
	double		contribution;

	if (model->kind == PROGRESS_SPARSE)
		contribution = progress_step_intercept(model) + sparse_dot(model, features);
	else
	{
		float	   *x = palloc0(model->dimension * sizeof(float));
		Features	dense = {x, (int) model->dimension};

		for (int i = 0; i < features->n; i++)
		{
			if (features->place[i] > (int64) model->dimension)
				ereport(ERROR,
						(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
						 errmsg("features have place %d, the model expects %u elements", features->place[i], model->dimension)));
			x[features->place[i] - 1] = features->weight[i];
		}
		contribution = contribution_of(model, &dense);
		pfree(x);
	}
	if (unlikely(!isfinite(contribution)))
		refuse_overflow();
	return contribution;
}

/* Strict. */
Datum
stepadv_progress_predict_sparse(PG_FUNCTION_ARGS)
{
	const ProgressValue *model = progress_model_argument(fcinfo->flinfo, PG_GETARG_DATUM(0));
	SparseFeatures features = sparse_features_open(PG_GETARG_ARRAYTYPE_P(1), PG_GETARG_ARRAYTYPE_P(2), NULL);

	PG_RETURN_FLOAT8(progress_sparse_contribution(model, &features));
}

/* Strict. */
Datum
stepadv_progress_predict(PG_FUNCTION_ARGS)
{
	const ProgressValue *model = progress_model_argument(fcinfo->flinfo, PG_GETARG_DATUM(0));

	PG_RETURN_FLOAT8(progress_contribution(model, PG_GETARG_ARRAYTYPE_P(1), NULL));
}

/* The same for rows that nobody vouches for: NaN where that is an error.  Strict. */
Datum
stepadv_progress_predict_or_nan(PG_FUNCTION_ARGS)
{
	const ProgressValue *model = progress_model_argument(fcinfo->flinfo, PG_GETARG_DATUM(0));
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(1);
	Features	features;
	double		contribution;

	if (model->kind == PROGRESS_SPARSE || ARR_NDIM(array) != 1 || array_contains_nulls(array) ||
		ARR_DIMS(array)[0] != (int) model->dimension)
		PG_RETURN_FLOAT8(NAN);
	features = features_open(array, NULL);
	contribution = contribution_of(model, &features);
	PG_RETURN_FLOAT8(isfinite(contribution) ? contribution : NAN);
}

/* ----------
 * Over a rollout
 * ----------
 */

/* Arguments of the window functions. */
enum
{
	ROW_MODEL,
	ROW_FEATURES,
	ROW_OUTCOME,
	ROW_REDISTRIBUTE
};

#define SWEEP_ROWS 64

/* What a partition remembers between its rows. */
typedef struct Attribution
{
	double	   *contribution;	/* by row, once made; NaN: NULL */
	double		residual;		/* NaN: no outcome */
} Attribution;

static Datum
argument_of_row(WindowObject window, int arg, int64 row, bool *isnull)
{
	bool		isout;

	return WinGetFuncArgInPartition(window, arg, row, WINDOW_SEEK_HEAD, false, isnull, &isout);
}

/* Each row's contribution; what arguments and detoasting allocate is freed as we go. */
static void
predict_partition(WindowObject window, const ProgressValue *model, int64 n, double *contribution)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "stepadv progress", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);

	for (int64 i = 0; i < n; i++)
	{
		bool		isnull;
		Datum		features = argument_of_row(window, ROW_FEATURES, i, &isnull);

		if (isnull)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("features must not be null"),
					 errdetail("They are in row " INT64_FORMAT " of a rollout's " INT64_FORMAT ".", i + 1, n)));
		contribution[i] = progress_contribution(model, DatumGetArrayTypeP(features), NULL);
		if (i % SWEEP_ROWS == 0)
		{
			MemoryContextReset(scratch);
			CHECK_FOR_INTERRUPTS();
		}
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

/* NaN: no row has one. */
static double
outcome_of_partition(WindowObject window, int64 n)
{
	double		found = NAN;

	for (int64 i = n; i-- > 0;)
	{
		bool		isnull;
		Datum		value = argument_of_row(window, ROW_OUTCOME, i, &isnull);
		double		outcome;

		if (isnull)
			continue;
		outcome = DatumGetFloat8(value);
		if (!isfinite(outcome))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("outcome is %s, not a finite number", isnan(outcome) ? "NaN" : "infinite")));
		if (!isnan(found) && found != outcome)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("one rollout has two outcomes, %g and %g", Min(found, outcome), Max(found, outcome)),
					 errhint("The window's partition must be a rollout, its outcome the same on all rows.")));
		found = outcome;
	}
	return found;
}

/*
 * Equal shares of the residual, and the last step takes what rounding left, so
 * that adding up the steps in the window's order gives the outcome.  Where the
 * last step's contribution is so large that it cannot, the step before it is
 * asked for a sum that it can be added to, and so on; an outcome with more
 * bits than the contributions leave room for is met to within their rounding.
 */
static void
redistribute(double *contribution, int64 n, double residual, double outcome, double *before)
{
	double		target = outcome;

	before[0] = 0;
	for (int64 i = 0; i < n; i++)
	{
		contribution[i] += residual / n;
		if (i < n - 1)
			before[i + 1] = before[i] + contribution[i];
	}
	for (int64 i = n - 1; i >= 0; i--)
	{
		contribution[i] = target - before[i];
		if (before[i] + contribution[i] == target)
			break;
		target -= contribution[i];
	}
}

static Attribution *
attribution_of_partition(FunctionCallInfo fcinfo)
{
	WindowObject window = PG_WINDOW_OBJECT();
	Attribution *attribution = WinGetPartitionLocalMemory(window, sizeof(Attribution));
	int64		n;
	Datum		datum;
	bool		isnull;
	bool		spread = false;
	double		outcome;
	double	   *contribution;
	MemoryContext old;
	Sum			sum = {0};

	if (attribution->contribution != NULL)
		return attribution;
	if (PG_NARGS() > ROW_REDISTRIBUTE)
	{
		spread = DatumGetBool(WinGetFuncArgCurrent(window, ROW_REDISTRIBUTE, &isnull));
		if (isnull)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("redistribute must not be null")));
	}
	n = WinGetPartitionRowCount(window);
	old = MemoryContextSwitchTo(GetMemoryChunkContext(attribution));
	contribution = ALLOCATE_ARRAY(double, n);
	MemoryContextSwitchTo(old);

	datum = argument_of_row(window, ROW_MODEL, 0, &isnull);
	attribution->residual = NAN;
	if (isnull)
		for (int64 i = 0; i < n; i++)
			contribution[i] = NAN;
	else
	{
		/* An inline model lives in the slot of the row just read: going on would free it. */
		struct varlena *stored = (struct varlena *) DatumGetPointer(datum);
		const ProgressValue *model;
		bool		logistic;

		if (!VARATT_IS_EXTERNAL(stored))
			datum = PointerGetDatum(PG_DETOAST_DATUM_COPY(datum));
		model = progress_model_argument(fcinfo->flinfo, datum);
		logistic = (model->flags & PROGRESS_LOGISTIC) != 0;
		if (spread && logistic)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("contributions of a logistic model cannot be redistributed"),
					 errdetail("They are log-odds, which do not add up to an outcome.")));
		predict_partition(window, model, n, contribution);
		outcome = outcome_of_partition(window, n);
		for (int64 i = 0; i < n; i++)
			sum_add(&sum, contribution[i]);
		attribution->residual = outcome - progress_outcome(progress_rollout_intercept(model) + sum_value(&sum), logistic);
		if (spread)
		{
			if (isnan(outcome))
				for (int64 i = 0; i < n; i++)
					contribution[i] = NAN;
			else
				/* With the rollout's intercept, if there is one: they are to add up to all of the outcome. */
				redistribute(contribution, n, outcome - sum_value(&sum), outcome, ALLOCATE_ARRAY(double, n));
		}
	}
	attribution->contribution = contribution;
	return attribution;
}

Datum
stepadv_progress_attribution(PG_FUNCTION_ARGS)
{
	Attribution *attribution = attribution_of_partition(fcinfo);
	double		contribution = attribution->contribution[WinGetCurrentPosition(PG_WINDOW_OBJECT())];

	if (isnan(contribution))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(contribution);
}

Datum
stepadv_progress_residual(PG_FUNCTION_ARGS)
{
	Attribution *attribution = attribution_of_partition(fcinfo);

	if (isnan(attribution->residual))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(attribution->residual);
}
