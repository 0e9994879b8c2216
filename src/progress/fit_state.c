/*
 * fit_state.c
 *		The state that the aggregates over sums by rollout share: a thin adapter
 *		between rows and RolloutSums.
 */
#include "postgres.h"

#include "libpq/pqformat.h"

#include "aggregate.h"
#include "compat.h"
#include "progress/fit_state.h"
#include "progress/kernels.h"
#include "progress/step_arguments.h"

PG_FUNCTION_INFO_V1(stepadv_progress_combine);
PG_FUNCTION_INFO_V1(stepadv_progress_serial);
PG_FUNCTION_INFO_V1(stepadv_progress_deserial);

static FitState *
create_state(MemoryContext context, const void *parameters, Size parameters_size)
{
	FitState   *state = MemoryContextAlloc(context, sizeof(FitState));

	state->sums = rollout_sums_create(context);
	state->parameters_size = parameters_size;
	state->parameters = MemoryContextAlloc(context, Max(parameters_size, 1));
	if (parameters_size > 0)
		memcpy(state->parameters, parameters, parameters_size);
	return state;
}

static void
refuse_other_parameters(const FitState *state, const void *parameters, Size parameters_size)
{
	if (state->parameters_size != parameters_size ||
		(parameters_size > 0 && memcmp(state->parameters, parameters, parameters_size) != 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parameters must be the same in all rows of a fit")));
}

static FitState *
state_argument(FunctionCallInfo fcinfo, int arg)
{
	return (FitState *) PG_GETARG_POINTER(arg);
}

FitState *
fit_state_of_row(FunctionCallInfo fcinfo, const void *parameters, Size parameters_size)
{
	MemoryContext context = aggregate_context(fcinfo);

	if (PG_ARGISNULL(ARG_STATE))
		return create_state(context, parameters, parameters_size);
	refuse_other_parameters(state_argument(fcinfo, ARG_STATE), parameters, parameters_size);
	return state_argument(fcinfo, ARG_STATE);
}

FitState *
fit_state_of_rows(FunctionCallInfo fcinfo)
{
	(void) aggregate_context(fcinfo);
	return PG_ARGISNULL(0) ? NULL : state_argument(fcinfo, 0);
}

void
fit_state_add_features(FitState *state, FunctionCallInfo fcinfo, int64 group_id)
{
	int64		rollout_id = rollout_id_argument(fcinfo);
	Features	features = features_argument(fcinfo, rollout_id);
	RolloutSum *rollout = rollout_sums_step(state->sums, rollout_id, group_id, features.n);

	if (unlikely(!features_add(rollout->sum, features.x, features.n)))
		features_refuse(&features, &rollout_id);
	rollout_sum_judge(rollout, outcome_argument(fcinfo, rollout_id));
}

void
fit_state_add_sparse_features(FitState *state, FunctionCallInfo fcinfo, int64 group_id)
{
	int64		rollout_id = rollout_id_argument(fcinfo);
	SparseFeatures features = sparse_features_argument(fcinfo, rollout_id);

	rollout_sums_sparse_step(state->sums, rollout_id, group_id, &features, sparse_outcome_argument(fcinfo, rollout_id));
}

void
fit_state_add_contribution(FitState *state, FunctionCallInfo fcinfo)
{
	int64		rollout_id = rollout_id_argument(fcinfo);
	double		contribution = contribution_argument(fcinfo, rollout_id);
	RolloutSum *rollout = rollout_sums_step(state->sums, rollout_id, 0, 1);

	rollout->sum[0] += contribution;
	rollout_sum_judge(rollout, outcome_argument(fcinfo, rollout_id));
}

/* ----------
 * In parallel
 * ----------
 */

/*
 * Keeps no pointer into the right state, which may be freed at any time.
 */
Datum
stepadv_progress_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	FitState   *state;
	FitState   *other;

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state_argument(fcinfo, 0));
	}
	other = state_argument(fcinfo, 1);
	if (PG_ARGISNULL(0))
		state = create_state(context, other->parameters, other->parameters_size);
	else
	{
		state = state_argument(fcinfo, 0);
		refuse_other_parameters(state, other->parameters, other->parameters_size);
	}
	rollout_sums_merge(state->sums, other->sums);
	PG_RETURN_POINTER(state);
}

Datum
stepadv_progress_serial(PG_FUNCTION_ARGS)
{
	FitState   *state = state_argument(fcinfo, 0);
	StringInfoData bytes;

	(void) aggregate_context(fcinfo);
	pq_begintypsend(&bytes);
	pq_sendint32(&bytes, (int32) state->parameters_size);
	pq_sendbytes(&bytes, state->parameters, (int) state->parameters_size);
	rollout_sums_write(state->sums, &bytes);
	PG_RETURN_BYTEA_P(pq_endtypsend(&bytes));
}

Datum
stepadv_progress_deserial(PG_FUNCTION_ARGS)
{
	bytea	   *serialised = PG_GETARG_BYTEA_PP(0);
	FitState   *state;
	StringInfoData bytes;

	(void) aggregate_context(fcinfo);
	bytes.data = VARDATA_ANY(serialised);
	bytes.len = VARSIZE_ANY_EXHDR(serialised);
	bytes.maxlen = bytes.len;
	bytes.cursor = 0;
	state = palloc(sizeof(FitState));
	state->parameters_size = pq_getmsgint(&bytes, 4);
	state->parameters = palloc(Max(state->parameters_size, 1));
	pq_copymsgbytes(&bytes, state->parameters, (int) state->parameters_size);
	state->sums = rollout_sums_read(CurrentMemoryContext, &bytes);
	pq_getmsgend(&bytes);
	PG_RETURN_POINTER(state);
}
