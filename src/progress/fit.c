/*
 * fit.c
 *		The aggregates over steps: progress_statistics, progress_fit and
 *		progress_quality, a thin adapter between rows and RolloutSums.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "libpq/pqformat.h"

#include "aggregate.h"
#include "compat.h"
#include "progress/features.h"
#include "progress/kernels.h"
#include "progress/quality.h"
#include "progress/rollout_sums.h"
#include "progress/statistics.h"

PG_FUNCTION_INFO_V1(stepadv_progress_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_combine);
PG_FUNCTION_INFO_V1(stepadv_progress_serial);
PG_FUNCTION_INFO_V1(stepadv_progress_deserial);
PG_FUNCTION_INFO_V1(stepadv_progress_statistics_final);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_final);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_final);

/* Arguments of the transition functions; the shorter forms stop earlier. */
enum
{
	ARG_STATE,
	ARG_ROLLOUT_ID,
	ARG_FEATURES,
	ARG_OUTCOME,
	ARG_LAMBDA,
	ARG_INTERCEPT
};

typedef struct FitState
{
	RolloutSums *sums;
	double		lambda;			/* of the first row; all must agree */
	bool		intercept;
} FitState;

static FitState *
create_state(MemoryContext context)
{
	FitState   *state = MemoryContextAllocZero(context, sizeof(FitState));

	state->sums = rollout_sums_create(context);
	state->intercept = true;
	return state;
}

static FitState *
state_argument(FunctionCallInfo fcinfo, int arg)
{
	return (FitState *) PG_GETARG_POINTER(arg);
}

static void
refuse_other_parameters(const FitState *state, double lambda, bool intercept)
{
	if (state->lambda != lambda || state->intercept != intercept)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lambda and intercept must be the same in all rows of a fit")));
}

static void
read_fit_parameters(FunctionCallInfo fcinfo, FitState *state, bool first)
{
	double		lambda;
	bool		intercept = true;

	if (PG_ARGISNULL(ARG_LAMBDA))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("lambda must not be null")));
	lambda = PG_GETARG_FLOAT8(ARG_LAMBDA);
	if (!isfinite(lambda) || lambda < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lambda must be a finite number of at least 0, not %g", lambda)));
	if (PG_NARGS() > ARG_INTERCEPT)
	{
		if (PG_ARGISNULL(ARG_INTERCEPT))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("intercept must not be null")));
		intercept = PG_GETARG_BOOL(ARG_INTERCEPT);
	}
	if (!first)
		refuse_other_parameters(state, lambda, intercept);
	state->lambda = lambda;
	state->intercept = intercept;
}

static int64
rollout_argument(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(ARG_ROLLOUT_ID))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("rollout_id must not be null")));
	return PG_GETARG_INT64(ARG_ROLLOUT_ID);
}

/* NULL: nothing to judge by in this row. */
static void
judge(FunctionCallInfo fcinfo, RolloutSum *rollout)
{
	double		outcome;

	if (PG_ARGISNULL(ARG_OUTCOME))
		return;
	outcome = PG_GETARG_FLOAT8(ARG_OUTCOME);
	if (!isfinite(outcome))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("outcome of rollout " INT64_FORMAT " is %s, not a finite number",
						rollout->rollout_id, isnan(outcome) ? "NaN" : "infinite")));
	rollout_sum_judge(rollout, outcome);
}

/* progress_statistics(rollout_id, features, outcome), progress_fit(… [, lambda [, intercept]]) */
Datum
stepadv_progress_trans(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	int64		rollout_id = rollout_argument(fcinfo);
	FitState   *state = PG_ARGISNULL(ARG_STATE) ? create_state(context) : state_argument(fcinfo, ARG_STATE);
	RolloutSum *rollout;
	Features	features;

	if (PG_ARGISNULL(ARG_FEATURES))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("features of rollout " INT64_FORMAT " must not be null", rollout_id)));
	if (PG_NARGS() > ARG_LAMBDA)
		read_fit_parameters(fcinfo, state, PG_ARGISNULL(ARG_STATE));
	features = features_open(PG_GETARG_ARRAYTYPE_P(ARG_FEATURES), &rollout_id);
	rollout = rollout_sums_step(state->sums, rollout_id, features.n);
	if (unlikely(!features_add(rollout->sum, features.x, features.n)))
		features_refuse(&features, &rollout_id);
	judge(fcinfo, rollout);
	PG_RETURN_POINTER(state);
}

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
	{
		state = create_state(context);
		state->lambda = other->lambda;
		state->intercept = other->intercept;
	}
	else
		state = state_argument(fcinfo, 0);
	refuse_other_parameters(state, other->lambda, other->intercept);
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
	pq_sendfloat8(&bytes, state->lambda);
	pq_sendbyte(&bytes, state->intercept);
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
	state->lambda = pq_getmsgfloat8(&bytes);
	state->intercept = pq_getmsgbyte(&bytes) != 0;
	state->sums = rollout_sums_read(CurrentMemoryContext, &bytes);
	pq_getmsgend(&bytes);
	PG_RETURN_POINTER(state);
}

/* NULL over no judged rollout. */
Datum
stepadv_progress_statistics_final(PG_FUNCTION_ARGS)
{
	ProgressValue *statistics;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	statistics = statistics_of_sums(state_argument(fcinfo, 0)->sums);
	if (statistics == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(progress_seal(statistics));
}

Datum
stepadv_progress_fit_final(PG_FUNCTION_ARGS)
{
	FitState   *state;
	ProgressValue *statistics;
	ProgressValue *model;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = state_argument(fcinfo, 0);
	statistics = statistics_of_sums(state->sums);
	if (statistics == NULL)
		PG_RETURN_NULL();
	model = solve_statistics(statistics, state->lambda, state->intercept);
	pfree(statistics);
	PG_RETURN_POINTER(progress_seal(model));
}

/* progress_quality(rollout_id, contribution, outcome): a contribution is its own only feature. */
Datum
stepadv_progress_quality_trans(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	int64		rollout_id = rollout_argument(fcinfo);
	FitState   *state = PG_ARGISNULL(ARG_STATE) ? create_state(context) : state_argument(fcinfo, ARG_STATE);
	RolloutSum *rollout;
	double		contribution;

	if (PG_ARGISNULL(ARG_FEATURES))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("contribution of rollout " INT64_FORMAT " must not be null", rollout_id)));
	contribution = PG_GETARG_FLOAT8(ARG_FEATURES);
	if (!isfinite(contribution))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("contribution of rollout " INT64_FORMAT " is %s, not a finite number",
						rollout_id, isnan(contribution) ? "NaN" : "infinite")));
	rollout = rollout_sums_step(state->sums, rollout_id, 1);
	rollout->sum[0] += contribution;
	judge(fcinfo, rollout);
	PG_RETURN_POINTER(state);
}

Datum
stepadv_progress_quality_final(PG_FUNCTION_ARGS)
{
	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	return quality_of_sums(fcinfo, state_argument(fcinfo, 0)->sums);
}
