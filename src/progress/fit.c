/*
 * fit.c
 *		progress_fit, the aggregate over steps of a linear fit.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"

#include "aggregate.h"
#include "parameters.h"
#include "progress/linear_fit.h"

PG_FUNCTION_INFO_V1(stepadv_progress_fit_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_sparse_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_final);

/* The first arguments of every transition function here; parameters follow. */
enum
{
	ARG_STATE,
	ARG_ROLLOUT_ID,
	ARG_FEATURES,				/* or indices; then all others are one further on */
	ARG_OUTCOME,
	ARG_PARAMETERS,
	ARG_WEIGHTS = ARG_OUTCOME
};

static void
refuse_null(const char *what, int64 rollout_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s of rollout " INT64_FORMAT " must not be null", what, rollout_id)));
}

static int64
rollout_id_argument(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(ARG_ROLLOUT_ID))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("rollout_id must not be null")));
	return PG_GETARG_INT64(ARG_ROLLOUT_ID);
}

/* NaN: none in this row. */
static double
outcome_argument(FunctionCallInfo fcinfo, int arg, int64 rollout_id)
{
	double		outcome;

	if (PG_ARGISNULL(arg))
		return NAN;
	outcome = PG_GETARG_FLOAT8(arg);
	if (!isfinite(outcome))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("outcome of rollout " INT64_FORMAT " is %s, not a finite number", rollout_id,
						isnan(outcome) ? "NaN" : "infinite")));
	return outcome;
}

static const Parameter fit_parameters[] = {NUMBER_PARAMETER("lambda", 0, INFINITY), LOSS_PARAMETER};

/* The state of the aggregate. */
typedef struct FitState
{
	LinearFit	fit;
	RolloutSums *sums;
} FitState;

/* That of the rows so far, whose lambda [, loss] are those of this one. */
static FitState *
state_of_row(FunctionCallInfo fcinfo, int first_parameter)
{
	MemoryContext context = aggregate_context(fcinfo);
	FitState   *state = PG_ARGISNULL(ARG_STATE) ? NULL : (FitState *) PG_GETARG_POINTER(ARG_STATE);
	ParameterValue values[lengthof(fit_parameters)] = {{.number = 0}, {.choice = LOSS_SQUARED}};

	read_parameters_in_order(fcinfo->args + first_parameter, fit_parameters, PG_NARGS() - first_parameter, values);
	if (state == NULL)
	{
		state = MemoryContextAlloc(context, sizeof(FitState));
		*state = (FitState) {{values[0].number, values[1].choice}, rollout_sums_create(context)};
	}
	if (state->fit.lambda != values[0].number || state->fit.loss != values[1].choice)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parameters must be the same in all rows of a fit")));
	return state;
}

/* progress_fit(rollout_id, features, outcome, lambda [, loss]) */
Datum
stepadv_progress_fit_trans(PG_FUNCTION_ARGS)
{
	FitState   *state = state_of_row(fcinfo, ARG_PARAMETERS);
	int64		rollout_id = rollout_id_argument(fcinfo);
	Features	features;

	if (PG_ARGISNULL(ARG_FEATURES))
		refuse_null("features", rollout_id);
	features = features_open(PG_GETARG_ARRAYTYPE_P(ARG_FEATURES), &rollout_id);
	rollout_sums_dense_step(state->sums, rollout_id, &features, outcome_argument(fcinfo, ARG_OUTCOME, rollout_id));
	PG_RETURN_POINTER(state);
}

/* progress_fit(rollout_id, indices, weights, outcome, lambda [, loss]) */
Datum
stepadv_progress_fit_sparse_trans(PG_FUNCTION_ARGS)
{
	FitState   *state = state_of_row(fcinfo, ARG_PARAMETERS + 1);
	int64		rollout_id = rollout_id_argument(fcinfo);
	SparseFeatures features;

	if (PG_ARGISNULL(ARG_FEATURES))
		refuse_null("indices of the features", rollout_id);
	if (PG_ARGISNULL(ARG_WEIGHTS))
		refuse_null("weights of the features", rollout_id);
	features = sparse_features_open(PG_GETARG_ARRAYTYPE_P(ARG_FEATURES), PG_GETARG_ARRAYTYPE_P(ARG_WEIGHTS), &rollout_id);
	rollout_sums_sparse_step(state->sums, rollout_id, &features, outcome_argument(fcinfo, ARG_OUTCOME + 1, rollout_id));
	PG_RETURN_POINTER(state);
}

/* NULL over no judged rollout. */
Datum
stepadv_progress_fit_final(PG_FUNCTION_ARGS)
{
	FitState   *state = PG_ARGISNULL(0) ? NULL : (FitState *) PG_GETARG_POINTER(0);
	RolloutSum **rollouts;
	uint64		n;
	FitRows		rows;
	ProgressModel model;

	(void) aggregate_context(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	rollouts = rollout_sums_judged(state->sums, &n);
	if (n == 0)
		PG_RETURN_NULL();
	rows = fit_rows_of(state->sums, rollouts, n);
	model = fit_linear(&rows, &state->fit);
	return progress_model_row(fcinfo, &model);
}
