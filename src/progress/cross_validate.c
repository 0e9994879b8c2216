/*
 * cross_validate.c
 *		progress_cross_validate: for each lambda and each fold of the groups, a
 *		linear fit on the other folds, judged on these and on the one held out.
 *
 * The features are read once.  What a fit needs of a fold are its statistics,
 * which add up; what a judgement needs of a rollout are its sums.  Where there are
 * so many sparse features that statistics have no room, each fit reads the sums.
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
#include "progress/linear_fit.h"
#include "progress/quality.h"
#include "progress/statistics.h"
#include "progress/step_arguments.h"
#include "state_value.h"

PG_FUNCTION_INFO_V1(stepadv_progress_validate_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_validate_sparse_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_cross_validate_final);

#define MOST_LAMBDAS 100
#define MOST_FOLDS 1000
#define DEFAULT_FOLDS 5

/* Arguments from ARG_PARAMETERS on, or ARG_SPARSE_PARAMETERS; the shorter form stops at the lambdas. */
enum
{
	GROUP_ID,
	LAMBDAS,
	FOLDS						/* and what read_split reads */
};

/* Kept in the state, as far as there are lambdas; no padding. */
typedef struct SplitParameters
{
	int64		seed;
	int32		folds;
	int32		intercept;		/* Intercept */
	int64		n_lambdas;
	double		lambda[MOST_LAMBDAS];
} SplitParameters;

static void
read_lambdas(FunctionCallInfo fcinfo, int arg, SplitParameters *parameters)
{
	ArrayType  *array;

	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("lambdas must not be null")));
	array = PG_GETARG_ARRAYTYPE_P(arg);
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

static const Parameter split_parameters[] = {
	INTEGER_PARAMETER("folds", 2, MOST_FOLDS), INTEGER_PARAMETER("seed", -2147483648.0, 2147483647.0), INTERCEPT_PARAMETER
};

static void
read_split(FunctionCallInfo fcinfo, int first, SplitParameters *parameters)
{
	ParameterValue values[lengthof(split_parameters)] = {
		{.number = DEFAULT_FOLDS}, {.number = 0}, {.choice = INTERCEPT_ROLLOUT}
	};

	if (PG_NARGS() > first)
		read_parameters_in_order(fcinfo->args + first, split_parameters, lengthof(split_parameters), values);
	parameters->folds = (int32) values[0].number;
	parameters->seed = (int64) values[1].number;
	parameters->intercept = values[2].choice;
}

/* What follows the outcome, from the group on; the state. */
static FitState *
state_of_split(FunctionCallInfo fcinfo, int first)
{
	SplitParameters parameters;

	if (PG_ARGISNULL(first + GROUP_ID))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("group_id of rollout " INT64_FORMAT " must not be null", rollout_id_argument(fcinfo))));
	read_split(fcinfo, first + FOLDS, &parameters);
	read_lambdas(fcinfo, first + LAMBDAS, &parameters);
	return fit_state_of_row(fcinfo, &parameters,
							offsetof(SplitParameters, lambda) + parameters.n_lambdas * sizeof(double));
}

/* progress_cross_validate(rollout_id, features, outcome, group_id, lambdas [, folds, seed, intercept]) */
Datum
stepadv_progress_validate_trans(PG_FUNCTION_ARGS)
{
	FitState   *state = state_of_split(fcinfo, ARG_PARAMETERS);

	fit_state_add_features(state, fcinfo, PG_GETARG_INT64(ARG_PARAMETERS + GROUP_ID));
	PG_RETURN_DATUM(state_datum(state));
}

/* progress_cross_validate(rollout_id, places, weights, outcome, group_id, lambdas [, folds, seed, intercept]) */
Datum
stepadv_progress_validate_sparse_trans(PG_FUNCTION_ARGS)
{
	FitState   *state = state_of_split(fcinfo, ARG_SPARSE_PARAMETERS);

	fit_state_add_sparse_features(state, fcinfo, PG_GETARG_INT64(ARG_SPARSE_PARAMETERS + GROUP_ID));
	PG_RETURN_DATUM(state_datum(state));
}

/* ----------
 * Final function
 * ----------
 */

/* Of the state, which may be anybody's bytes. */
static void
take_parameters(const FitState *state, SplitParameters *parameters)
{
	if (state->parameters_size > sizeof(SplitParameters))
		refuse_fit_state();
	memcpy(parameters, state->parameters, state->parameters_size);
	if (parameters->folds < 2 || parameters->folds > MOST_FOLDS || parameters->n_lambdas < 1 || parameters->n_lambdas > MOST_LAMBDAS ||
		parameters->intercept < INTERCEPT_ROLLOUT || parameters->intercept > INTERCEPT_NONE ||
		state->parameters_size != offsetof(SplitParameters, lambda) + parameters->n_lambdas * sizeof(double))
		refuse_fit_state();
}

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
	{
		CHECK_ONCE_IN_A_WHILE(i);
		next[FOLD(i)]++;
	}
	first[0] = 0;
	for (int f = 0; f < parameters->folds; f++)
	{
		first[f + 1] = first[f] + next[f];
		next[f] = first[f];
	}
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		sorted[next[FOLD(i)]++] = rollouts[i];
	}
#undef FOLD
	pfree(next);
	pfree(rollouts);
	return sorted;
}

/* What the model makes of a rollout. */
static double
predict_rollout(const ProgressValue *model, const FitRow *row)
{
	return fit_row_dot(row, model->numbers + LINEAR_WEIGHTS) +
		model->numbers[MODEL_INTERCEPT] * ((model->flags & PROGRESS_OF_ROLLOUT) != 0 ? 1 : row->n_steps);
}

/* The model's score on rollouts, as a row. */
static Datum
score(const ProgressValue *model, const FitRows *rows, RolloutSum *const *rollouts, TupleDesc desc)
{
	double	   *predicted = ALLOCATE_ARRAY(double, rows->n);
	Predictions predictions = {rows->n, rollouts, predicted};

	for (uint64 i = 0; i < rows->n; i++)
	{
		predicted[i] = predict_rollout(model, &rows->row[i]);
		if (i % 256 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return quality_row(&predictions, desc);
}

/* What is validated: the rollouts fold by fold, and what each fold comes to. */
typedef struct Validation
{
	SplitParameters parameters;
	RolloutSum **rollouts;
	FitRows		rows;			/* the same */
	uint64	   *first;			/* by fold, and the end */
	uint64		n;
	bool		add_up;			/* statistics of folds are made, and summed for each fit */
	ProgressValue **statistics; /* by fold; NULL: it has no rollouts */
	int			n_used;			/* folds that have */
	TupleDesc	row_type;
	TupleDesc	score_type;
} Validation;

static void
measure_folds(Validation *validation)
{
	int			folds = validation->parameters.folds;
	const uint64 *first = validation->first;

	validation->statistics = ALLOCATE_ZEROED_ARRAY(ProgressValue *, folds);
	validation->n_used = 0;
	for (int f = 0; f < folds; f++)
	{
		uint64		n_held_out = first[f + 1] - first[f];

		if (n_held_out == validation->n)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("all " UINT64_FORMAT " judged rollouts are in one fold of %d", validation->n, folds),
					 errhint("Cross-validation needs several groups; with few, choose more folds or another seed.")));
		if (n_held_out == 0)
			continue;
		validation->n_used++;
		if (validation->add_up)
		{
			FitRows		rows = fit_rows_part(&validation->rows, first[f], first[f + 1]);

			validation->statistics[f] = statistics_of_rows(&(LeastSquares) {.rows = &rows});
		}
	}
}

/* The sum of the others, not the difference to all, which would cancel. */
static ProgressValue *
statistics_without(const Validation *validation, int fold)
{
	ProgressValue *others = progress_allocate(PROGRESS_STATISTICS, PROGRESS_VERSION_2, validation->rows.dimension);

	for (int g = 0; g < validation->parameters.folds; g++)
		if (g != fold && validation->statistics[g] != NULL)
			statistics_add(others, validation->statistics[g]);
	return others;
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

/* Rollouts and rows of all folds but one. */
typedef struct Training
{
	FitRows		rows;
	RolloutSum **rollouts;
	ProgressValue *statistics;	/* NULL: read the rows */
} Training;

static Training
training_without(const Validation *validation, int fold)
{
	const uint64 *first = validation->first + fold;
	uint64		n = validation->n - (first[1] - first[0]);
	Training	training = {validation->rows, ALLOCATE_ARRAY(RolloutSum *, n), NULL};

	memcpy(training.rollouts, validation->rollouts, first[0] * sizeof(RolloutSum *));
	memcpy(training.rollouts + first[0], validation->rollouts + first[1], (validation->n - first[1]) * sizeof(RolloutSum *));
	training.rows.n = n;
	training.rows.row = ALLOCATE_ARRAY(FitRow, n);
	memcpy(training.rows.row, validation->rows.row, first[0] * sizeof(FitRow));
	memcpy(training.rows.row + first[0], validation->rows.row + first[1], (validation->n - first[1]) * sizeof(FitRow));
	training.rows.n_steps = validation->rows.n_steps - fit_rows_part(&validation->rows, first[0], first[1]).n_steps;
	if (validation->add_up)
		training.statistics = statistics_without(validation, fold);
	return training;
}

static void
free_training(Training *training)
{
	pfree(training->rollouts);
	pfree(training->rows.row);
	if (training->statistics != NULL)
		pfree(training->statistics);
}

/* A fit without a fold, and its scores, as a row; what else it makes is in `scratch`. */
static Datum
validate_fit(const Validation *validation, Place place, const Training *training, MemoryContext scratch)
{
	const uint64 *first = validation->first + place.fold;
	FitRows		held_out = fit_rows_part(&validation->rows, first[0], first[1]);
	LinearFit	fit = {place.lambda, validation->parameters.intercept, LOSS_SQUARED};
	ErrorContextCallback callback = {error_context_stack, tell_place, &place};
	MemoryContext old = MemoryContextSwitchTo(scratch);
	ProgressValue *model;
	Datum		values[4];
	bool		nulls[4] = {false};
	Datum		row;

	error_context_stack = &callback;
	model = training->statistics != NULL ? solve_statistics(training->statistics, &training->rows, &fit)
		: fit_linear(&training->rows, &fit);
	values[0] = Float8GetDatum(place.lambda);
	values[1] = Int32GetDatum(place.fold);
	values[2] = score(model, &training->rows, training->rollouts, validation->score_type);
	values[3] = score(model, &held_out, validation->rollouts + first[0], validation->score_type);
	error_context_stack = callback.previous;
	MemoryContextSwitchTo(old);
	row = composite_value(validation->row_type, values, nulls);
	MemoryContextReset(scratch);
	return row;
}

Datum
stepadv_progress_cross_validate_final(PG_FUNCTION_ARGS)
{
	FitState   *state = fit_state_of_rows(fcinfo, offsetof(SplitParameters, lambda));
	Validation	validation;
	const SplitParameters *parameters = &validation.parameters;
	Datum	   *rows;
	MemoryContext scratch;

	if (state == NULL)
		PG_RETURN_NULL();
	take_parameters(state, &validation.parameters);
	validation.first = ALLOCATE_ARRAY(uint64, parameters->folds + 1);
	validation.rollouts = rollouts_by_fold(state->sums, parameters, validation.first);
	validation.n = validation.first[parameters->folds];
	if (validation.n == 0)
		PG_RETURN_NULL();
	validation.row_type = composite_result(fcinfo);
	validation.score_type = composite_column(validation.row_type, 2);
	validation.rows = fit_rows_of(state->sums, validation.rollouts, validation.n);
	validation.add_up = fit_is_exact(&validation.rows);
	measure_folds(&validation);

	rows = ALLOCATE_ARRAY(Datum, validation.n_used * parameters->n_lambdas);
	scratch = AllocSetContextCreate(CurrentMemoryContext, "stepadv cross-validation", ALLOCSET_DEFAULT_SIZES);
	for (int f = 0, used = 0; f < parameters->folds; f++)
	{
		Training	training;

		if (validation.first[f] == validation.first[f + 1])
			continue;
		training = training_without(&validation, f);
		for (int l = 0; l < parameters->n_lambdas; l++)
			rows[l * validation.n_used + used] =
				validate_fit(&validation, (Place) {f, parameters->lambda[l]}, &training, scratch);
		free_training(&training);
		used++;
	}
	return composite_array(validation.row_type, rows, (int) (validation.n_used * parameters->n_lambdas));
}
