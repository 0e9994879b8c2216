/*
 * cross_validate.c
 *		progress_cross_validate: for each lambda and each fold of the groups, a
 *		linear fit on the other folds, judged on these and on the one held out.
 *
 * The features are read once.  What a fit needs of a fold are its statistics,
 * which add up; what a judgement needs of a rollout are its sums.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "arrays.h"
#include "compat.h"
#include "parameters.h"
#include "progress/composite.h"
#include "progress/fit_state.h"
#include "progress/fold.h"
#include "progress/kernels.h"
#include "progress/quality.h"
#include "progress/statistics.h"
#include "progress/step_arguments.h"

PG_FUNCTION_INFO_V1(stepadv_progress_cross_validate_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_cross_validate_final);

#define MOST_LAMBDAS 100
#define DEFAULT_FOLDS 5

/* Arguments of the transition function; the shorter form stops at the lambdas. */
enum
{
	ARG_GROUP_ID = ARG_PARAMETERS,
	ARG_LAMBDAS,
	ARG_FOLDS					/* and what read_split reads */
};

/* Kept in the state, as far as there are lambdas; no padding. */
typedef struct SplitParameters
{
	int64		seed;
	int32		folds;
	int32		intercept;
	int64		n_lambdas;
	double		lambda[MOST_LAMBDAS];
} SplitParameters;

static void
read_lambdas(FunctionCallInfo fcinfo, SplitParameters *parameters)
{
	ArrayType  *array;

	if (PG_ARGISNULL(ARG_LAMBDAS))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("lambdas must not be null")));
	array = PG_GETARG_ARRAYTYPE_P(ARG_LAMBDAS);
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("lambdas must not contain nulls")));
	parameters->n_lambdas = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (parameters->n_lambdas < 1 || parameters->n_lambdas > MOST_LAMBDAS)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("lambdas must be 1 to %d numbers, not " INT64_FORMAT, MOST_LAMBDAS, parameters->n_lambdas)));
	memcpy(parameters->lambda, ARR_DATA_PTR(array), parameters->n_lambdas * sizeof(double));
	for (int i = 0; i < parameters->n_lambdas; i++)
		if (!isfinite(parameters->lambda[i]) || parameters->lambda[i] < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("lambda must be a finite number of at least 0, not %g", parameters->lambda[i])));
}

static void
read_split(FunctionCallInfo fcinfo, SplitParameters *parameters)
{
	static const Parameter declared[] = {
		INTEGER_PARAMETER("folds", 2, 1000), INTEGER_PARAMETER("seed", -2147483648.0, 2147483647.0), FLAG_PARAMETER("intercept")
	};
	ParameterValue values[lengthof(declared)] = {{.number = DEFAULT_FOLDS}, {.number = 0}, {.flag = true}};

	if (PG_NARGS() > ARG_FOLDS)
		read_parameters_in_order(fcinfo->args + ARG_FOLDS, declared, lengthof(declared), values);
	parameters->folds = (int32) values[0].number;
	parameters->seed = (int64) values[1].number;
	parameters->intercept = values[2].flag;
}

/* progress_cross_validate(rollout_id, features, outcome, group_id, lambdas [, folds, seed, intercept]) */
Datum
stepadv_progress_cross_validate_trans(PG_FUNCTION_ARGS)
{
	SplitParameters parameters;
	FitState   *state;

	if (PG_ARGISNULL(ARG_GROUP_ID))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("group_id of rollout " INT64_FORMAT " must not be null", rollout_id_argument(fcinfo))));
	read_split(fcinfo, &parameters);
	read_lambdas(fcinfo, &parameters);
	state = fit_state_of_row(fcinfo, &parameters,
							 offsetof(SplitParameters, lambda) + parameters.n_lambdas * sizeof(double));
	fit_state_add_features(state, fcinfo, PG_GETARG_INT64(ARG_GROUP_ID));
	PG_RETURN_POINTER(state);
}

/* ----------
 * Final function
 * ----------
 */

/* The judged rollouts fold by fold, those of fold f from first[f] to first[f + 1]. */
static RolloutSum **
rollouts_by_fold(RolloutSums *sums, const SplitParameters *parameters, uint64 *first)
{
	uint64		n;
	RolloutSum **rollouts = rollout_sums_judged(sums, &n);
	RolloutSum **sorted = ALLOCATE_ARRAY(RolloutSum *, n);
	uint64	   *next = ALLOCATE_ZEROED_ARRAY(uint64, parameters->folds);

#define FOLD(i) fold_of_group(rollouts[i]->group_id, parameters->folds, parameters->seed)
	for (uint64 i = 0; i < n; i++)
		next[FOLD(i)]++;
	first[0] = 0;
	for (int f = 0; f < parameters->folds; f++)
	{
		first[f + 1] = first[f] + next[f];
		next[f] = first[f];
	}
	for (uint64 i = 0; i < n; i++)
		sorted[next[FOLD(i)]++] = rollouts[i];
#undef FOLD
	pfree(next);
	pfree(rollouts);
	return sorted;
}

/* The sum of the model's contributions over a rollout. */
static double
predict_rollout(const ProgressValue *model, const RolloutSum *rollout)
{
	return numbers_dot(model->numbers + LINEAR_WEIGHTS, rollout->sum, model->dimension) +
		model->numbers[MODEL_INTERCEPT] * rollout->n_steps;
}

/* The model's score on n rollouts, as a row. */
static Datum
score(const ProgressValue *model, RolloutSum *const *rollouts, uint64 n, TupleDesc desc)
{
	double	   *predicted = ALLOCATE_ARRAY(double, n);
	Predictions predictions = {n, rollouts, predicted};

	for (uint64 i = 0; i < n; i++)
	{
		predicted[i] = predict_rollout(model, rollouts[i]);
		if (i % 256 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return quality_row(&predictions, desc);
}

/* What an error in a fit belongs to. */
typedef struct Place
{
	int			fold;
	double		lambda;
} Place;

static void
tell_place(void *arg)
{
	const Place *place = arg;

	errcontext("fit without fold %d, lambda %g", place->fold, place->lambda);
}

Datum
stepadv_progress_cross_validate_final(PG_FUNCTION_ARGS)
{
	FitState   *state = fit_state_of_rows(fcinfo);
	SplitParameters parameters;
	TupleDesc	row_type;
	TupleDesc	score_type;
	RolloutSum **rollouts;
	RolloutSum **others;
	uint64	   *first;
	uint64		n;
	int			dimension;
	int			n_used = 0;
	ProgressValue **statistics;
	Datum	   *rows;
	MemoryContext result_context = CurrentMemoryContext;
	MemoryContext scratch;

	if (state == NULL)
		PG_RETURN_NULL();
	memcpy(&parameters, state->parameters, state->parameters_size);
	first = ALLOCATE_ARRAY(uint64, parameters.folds + 1);
	rollouts = rollouts_by_fold(state->sums, &parameters, first);
	n = first[parameters.folds];
	if (n == 0)
		PG_RETURN_NULL();
	row_type = composite_result(fcinfo);
	score_type = composite_column(row_type, 2);
	dimension = rollout_sums_dimension(state->sums);
	statistics = ALLOCATE_ZEROED_ARRAY(ProgressValue *, parameters.folds);
	for (int f = 0; f < parameters.folds; f++)
	{
		uint64		n_held_out = first[f + 1] - first[f];

		if (n_held_out == n)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("all " UINT64_FORMAT " judged rollouts are in one fold of %d", n, parameters.folds),
					 errhint("Cross-validation needs several groups; with few, choose more folds or another seed.")));
		if (n_held_out == 0)
			continue;
		statistics[f] = statistics_of_rollouts(rollouts + first[f], n_held_out, dimension);
		n_used++;
	}

	rows = ALLOCATE_ARRAY(Datum, n_used * parameters.n_lambdas);
	others = ALLOCATE_ARRAY(RolloutSum *, n);
	scratch = AllocSetContextCreate(CurrentMemoryContext, "stepadv cross-validation", ALLOCSET_DEFAULT_SIZES);
	for (int f = 0, used = 0; f < parameters.folds; f++)
	{
		ProgressValue *training;
		uint64		n_others = n - (first[f + 1] - first[f]);

		if (statistics[f] == NULL)
			continue;
		/* The sum of the others, not the difference to all, which would cancel. */
		training = progress_allocate(PROGRESS_STATISTICS, dimension, 0);
		for (int g = 0; g < parameters.folds; g++)
			if (g != f && statistics[g] != NULL)
				statistics_add(training, statistics[g]);
		memcpy(others, rollouts, first[f] * sizeof(RolloutSum *));
		memcpy(others + first[f], rollouts + first[f + 1], (n - first[f + 1]) * sizeof(RolloutSum *));
		for (int l = 0; l < parameters.n_lambdas; l++)
		{
			Place		place = {f, parameters.lambda[l]};
			ErrorContextCallback callback = {error_context_stack, tell_place, &place};
			ProgressValue *model;
			Datum		values[4];
			bool		nulls[4] = {false};

			MemoryContextSwitchTo(scratch);
			error_context_stack = &callback;
			model = solve_statistics(training, parameters.lambda[l], parameters.intercept != 0);
			values[0] = Float8GetDatum(parameters.lambda[l]);
			values[1] = Int32GetDatum(f);
			values[2] = score(model, others, n_others, score_type);
			values[3] = score(model, rollouts + first[f], first[f + 1] - first[f], score_type);
			error_context_stack = callback.previous;
			MemoryContextSwitchTo(result_context);
			rows[l * n_used + used] = composite_value(row_type, values, nulls);
			MemoryContextReset(scratch);
		}
		pfree(training);
		used++;
	}
	return composite_array(row_type, rows, (int) (n_used * parameters.n_lambdas));
}
