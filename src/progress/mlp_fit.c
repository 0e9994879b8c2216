/*
 * mlp_fit.c
 *		progress_fit_mlp: the aggregate that collects steps and trains on them.
 *
 * Steps are sorted by rollout and by their features before training, so that the
 * model does not depend on the order in which rows came.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "aggregate.h"
#include "arrays.h"
#include "compat.h"
#include "parameters.h"
#include "progress/kernels.h"
#include "progress/mlp_residual.h"
#include "progress/step_arguments.h"

PG_FUNCTION_INFO_V1(stepadv_progress_mlp_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_mlp_residual_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_mlp_final);

enum
{
	P_WIDTH,
	P_EPOCHS,
	P_LEARNING_RATE,
	P_BATCH_SIZE,
	P_LAMBDA,
	P_SEED,
	N_PARAMETERS
};

static const Parameter training_parameters[] = {
	INTEGER_PARAMETER("width", 1, 65536),
	INTEGER_PARAMETER("epochs", 0, 1000000),
	NUMBER_PARAMETER("learning_rate", 0, 1000),
	INTEGER_PARAMETER("batch_size", 1, 1000000),
	NUMBER_PARAMETER("lambda", 0, INFINITY),
	INTEGER_PARAMETER("seed", -2147483648.0, 2147483647.0)
};

/* Of the forms without parameters, epochs being the most of them where a hidden layer is put on top. */
static const double default_parameters[N_PARAMETERS] = {16, 100, 0.01, 64, 1e-4, 0};

typedef struct Step
{
	int64		rollout_id;
	int64		group_id;
	double		outcome;		/* NaN: not in this row */
	const float *x;
} Step;

static inline int
compare_steps(const Step *a, const Step *b, int dimension)
{
	if (a->rollout_id != b->rollout_id)
		return a->rollout_id < b->rollout_id ? -1 : 1;
	/* By number, not by byte: machines differ in the order of these. */
	for (int i = 0; i < dimension; i++)
		if (a->x[i] != b->x[i])
			return a->x[i] < b->x[i] ? -1 : 1;
	return 0;
}

#define ST_SORT sort_steps
#define ST_ELEMENT_TYPE Step
#define ST_COMPARE(a, b, dimension) compare_steps(a, b, *(dimension))
#define ST_COMPARE_ARG_TYPE const int
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

typedef struct MlpState
{
	MemoryContext context;
	double		parameters[N_PARAMETERS];
	bool		on_top;			/* of a linear fit, where it helps */
	int			dimension;
	int64		first_rollout;	/* that set it */
	Step	   *steps;
	uint64		n_steps;
	uint64		capacity;
	float	   *free_vectors;	/* cut from chunks */
	uint64		n_free;
} MlpState;

#define CHUNK_BYTES ((Size) 1024 * 1024)

static void
read_training_parameters(FunctionCallInfo fcinfo, double *values)
{
	ParameterValue read[N_PARAMETERS];

	if (PG_NARGS() == ARG_PARAMETERS)
	{
		memcpy(values, default_parameters, sizeof(default_parameters));
		return;
	}
	read_parameters_in_order(fcinfo->args + ARG_PARAMETERS, training_parameters, N_PARAMETERS, read);
	for (int i = 0; i < N_PARAMETERS; i++)
		values[i] = read[i].number;
}

static void
add_step(MlpState *state, int64 rollout_id, int64 group_id, const Features *features, double outcome)
{
	float	   *x;

	if (state->n_steps == state->capacity)
	{
		state->capacity = Max(state->capacity * 2, 64);
		state->steps = state->steps == NULL
			? MemoryContextAllocHuge(state->context, state->capacity * sizeof(Step))
			: repalloc_huge(state->steps, state->capacity * sizeof(Step));
	}
	if (state->n_free == 0)
	{
		state->n_free = Min(Max(CHUNK_BYTES / (features->n * sizeof(float)), 1), Max(state->n_steps / 4, 1));
		state->free_vectors = MemoryContextAllocHuge(state->context, state->n_free * features->n * sizeof(float));
	}
	x = state->free_vectors;
	state->free_vectors += features->n;
	state->n_free--;
	memcpy(x, features->x, features->n * sizeof(float));
	state->steps[state->n_steps++] = (Step) {rollout_id, group_id, outcome, x};
}

/* A row to the state. */
static MlpState *
add_row(FunctionCallInfo fcinfo, const double *parameters, bool on_top, int64 group_id)
{
	MemoryContext context = aggregate_context(fcinfo);
	MlpState   *state;
	int64		rollout_id = rollout_id_argument(fcinfo);
	Features	features = features_argument(fcinfo, rollout_id);
	double		outcome = outcome_argument(fcinfo, rollout_id);

	if (!features_finite(features.x, features.n))
		features_refuse(&features, &rollout_id);
	if (PG_ARGISNULL(ARG_STATE))
	{
		state = MemoryContextAllocZero(context, sizeof(MlpState));
		state->context = context;
		state->dimension = features.n;
		state->first_rollout = rollout_id;
		state->on_top = on_top;
		memcpy(state->parameters, parameters, sizeof(state->parameters));
	}
	else
		state = (MlpState *) PG_GETARG_POINTER(ARG_STATE);
	if (memcmp(state->parameters, parameters, sizeof(state->parameters)) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parameters must be the same in all rows of a fit")));
	if (features.n != state->dimension)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("features of rollout " INT64_FORMAT " have %d elements, those of rollout " INT64_FORMAT " have %d",
						rollout_id, features.n, state->first_rollout, state->dimension)));
	add_step(state, rollout_id, group_id, &features, outcome);
	return state;
}

/* progress_fit_mlp(rollout_id, features, outcome, width, …); without parameters as 0.2.0 had it */
Datum
stepadv_progress_mlp_trans(PG_FUNCTION_ARGS)
{
	double		parameters[N_PARAMETERS];

	read_training_parameters(fcinfo, parameters);
	PG_RETURN_POINTER(add_row(fcinfo, parameters, false, 0));
}

/* progress_fit_mlp(rollout_id, features, outcome [, group_id]): a rollout is its own group where none is given */
Datum
stepadv_progress_mlp_residual_trans(PG_FUNCTION_ARGS)
{
	int64		group_id = rollout_id_argument(fcinfo);

	if (PG_NARGS() > ARG_PARAMETERS)
	{
		if (PG_ARGISNULL(ARG_PARAMETERS))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("group_id of rollout " INT64_FORMAT " must not be null", group_id)));
		group_id = PG_GETARG_INT64(ARG_PARAMETERS);
	}
	PG_RETURN_POINTER(add_row(fcinfo, default_parameters, true, group_id));
}

/* Rollouts that are judged, of sorted steps; their vectors come to x one after another. */
static MlpRollout *
find_rollouts(const MlpState *state, const float **x, uint64 *n_rollouts, uint64 *n_steps, uint32 *most_steps)
{
	MlpRollout *rollouts = ALLOCATE_ARRAY(MlpRollout, state->n_steps);
	uint64		end;

	*n_rollouts = 0;
	*n_steps = 0;
	*most_steps = 0;
	for (uint64 first = 0; first < state->n_steps; first = end)
	{
		double		outcome = NAN;

		for (end = first; end < state->n_steps && state->steps[end].rollout_id == state->steps[first].rollout_id; end++)
		{
			double		other = state->steps[end].outcome;
			int64		group_id = state->steps[first].group_id;

			if (state->steps[end].group_id != group_id)
				ereport(ERROR,
						(errcode(ERRCODE_DATA_EXCEPTION),
						 errmsg("rollout " INT64_FORMAT " is in two groups, " INT64_FORMAT " and " INT64_FORMAT,
								state->steps[first].rollout_id, Min(group_id, state->steps[end].group_id),
								Max(group_id, state->steps[end].group_id))));
			if (isnan(other))
				continue;
			if (!isnan(outcome) && other != outcome)
				ereport(ERROR,
						(errcode(ERRCODE_DATA_EXCEPTION),
						 errmsg("rollout " INT64_FORMAT " has two outcomes, %g and %g",
								state->steps[first].rollout_id, Min(outcome, other), Max(outcome, other))));
			outcome = other;
		}
		if (isnan(outcome))
			continue;
		rollouts[*n_rollouts] = (MlpRollout) {outcome, *n_steps, *n_steps + (end - first),
			state->steps[first].rollout_id, state->steps[first].group_id};
		(*n_rollouts)++;
		*most_steps = Max(*most_steps, end - first);
		for (uint64 i = first; i < end; i++)
			x[(*n_steps)++] = state->steps[i].x;
	}
	return rollouts;
}

Datum
stepadv_progress_mlp_final(PG_FUNCTION_ARGS)
{
	MlpState   *state;
	MlpTraining training;
	ProgressValue *model;
	const float **x;
	uint64		n_steps;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (MlpState *) PG_GETARG_POINTER(0);
	sort_steps(state->steps, state->n_steps, &state->dimension);
	x = ALLOCATE_ARRAY(const float *, state->n_steps);
	training.rollouts = find_rollouts(state, x, &training.n_rollouts, &n_steps, &training.most_steps);
	if (training.n_rollouts == 0)
		PG_RETURN_NULL();
	training.x = x;
	training.epochs = (int) state->parameters[P_EPOCHS];
	training.batch_size = (int) state->parameters[P_BATCH_SIZE];
	training.learning_rate = state->parameters[P_LEARNING_RATE];
	training.seed = (int64) state->parameters[P_SEED];
	training.tells = !state->on_top;
	training.after_epoch = NULL;
	if (state->on_top)
		PG_RETURN_POINTER(progress_seal(fit_residual(&training, state->dimension, (int) state->parameters[P_WIDTH],
													 state->parameters[P_LAMBDA])));

	model = progress_allocate(PROGRESS_MLP, PROGRESS_VERSION_1, state->dimension, (uint64) state->parameters[P_WIDTH]);
	model->flags |= PROGRESS_HAS_INTERCEPT;
	model->n_rollouts = (int64) training.n_rollouts;
	model->n_steps = (int64) n_steps;
	model->numbers[MODEL_LAMBDA] = state->parameters[P_LAMBDA];
	mlp_train(model, &training);
	PG_RETURN_POINTER(progress_seal(model));
}
