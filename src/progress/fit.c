/*
 * fit.c
 *		The aggregates over steps of a linear fit and of its judgement: progress_fit
 *		and progress_quality.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "parameters.h"
#include "progress/fit_state.h"
#include "progress/linear_fit.h"
#include "progress/quality.h"
#include "state_value.h"

PG_FUNCTION_INFO_V1(stepadv_progress_fit_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_sparse_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_final);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_final);

/* The first arguments of every transition function here; parameters follow. */
enum
{
	ARG_STATE,
	ARG_ROLLOUT_ID,
	ARG_FEATURES,				/* or a contribution, or places; then all others are one further on */
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

static double
require_finite(double number, const char *what, int64 rollout_id)
{
	if (!isfinite(number))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s of rollout " INT64_FORMAT " is %s, not a finite number",
						what, rollout_id, isnan(number) ? "NaN" : "infinite")));
	return number;
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
	if (PG_ARGISNULL(arg))
		return NAN;
	return require_finite(PG_GETARG_FLOAT8(arg), "outcome", rollout_id);
}

static const Parameter fit_parameters[] = {NUMBER_PARAMETER("lambda", 0, INFINITY), LOSS_PARAMETER};

/* lambda [, loss] */
static LinearFit
read_fit(FunctionCallInfo fcinfo, int first)
{
	ParameterValue values[lengthof(fit_parameters)] = {{.number = 0}, {.choice = LOSS_SQUARED}};

	read_parameters_in_order(fcinfo->args + first, fit_parameters, PG_NARGS() - first, values);
	return (LinearFit) {values[0].number, values[1].choice};
}

/* progress_fit(rollout_id, features, outcome, lambda [, loss]) */
Datum
stepadv_progress_fit_trans(PG_FUNCTION_ARGS)
{
	LinearFit	fit = read_fit(fcinfo, ARG_PARAMETERS);
	FitState   *state = fit_state_of_row(fcinfo, &fit, sizeof(fit));
	int64		rollout_id = rollout_id_argument(fcinfo);
	Features	features;

	if (PG_ARGISNULL(ARG_FEATURES))
		refuse_null("features", rollout_id);
	features = features_open(PG_GETARG_ARRAYTYPE_P(ARG_FEATURES), &rollout_id);
	rollout_sums_dense_step(state->sums, rollout_id, &features, outcome_argument(fcinfo, ARG_OUTCOME, rollout_id));
	PG_RETURN_DATUM(state_datum(state));
}

/* progress_fit(rollout_id, places, weights, outcome, lambda [, loss]) */
Datum
stepadv_progress_fit_sparse_trans(PG_FUNCTION_ARGS)
{
	LinearFit	fit = read_fit(fcinfo, ARG_PARAMETERS + 1);
	FitState   *state = fit_state_of_row(fcinfo, &fit, sizeof(fit));
	int64		rollout_id = rollout_id_argument(fcinfo);
	SparseFeatures features;

	if (PG_ARGISNULL(ARG_FEATURES))
		refuse_null("places of the features", rollout_id);
	if (PG_ARGISNULL(ARG_WEIGHTS))
		refuse_null("weights of the features", rollout_id);
	features = sparse_features_open(PG_GETARG_ARRAYTYPE_P(ARG_FEATURES), PG_GETARG_ARRAYTYPE_P(ARG_WEIGHTS), &rollout_id);
	rollout_sums_sparse_step(state->sums, rollout_id, &features, outcome_argument(fcinfo, ARG_OUTCOME + 1, rollout_id));
	PG_RETURN_DATUM(state_datum(state));
}

/* NULL over no judged rollout. */
Datum
stepadv_progress_fit_final(PG_FUNCTION_ARGS)
{
	FitState   *state = fit_state_of_rows(fcinfo, sizeof(LinearFit));
	RolloutSum **rollouts;
	uint64		n;
	FitRows		rows;
	LinearFit	fit;

	if (state == NULL)
		PG_RETURN_NULL();
	if (rollout_sums_dimension(state->sums) == NO_FEATURES)
		refuse_fit_state();
	rollouts = rollout_sums_judged(state->sums, &n);
	if (n == 0)
		PG_RETURN_NULL();
	memcpy(&fit, state->parameters, sizeof(fit));
	if (!(fit.lambda >= 0) || fit.loss < LOSS_SQUARED || fit.loss > LOSS_LOGISTIC)
		refuse_fit_state();
	rows = fit_rows_of(state->sums, rollouts, n);
	PG_RETURN_POINTER(progress_seal(fit_linear(&rows, &fit)));
}

/* progress_quality(rollout_id, contribution, outcome) */
Datum
stepadv_progress_quality_trans(PG_FUNCTION_ARGS)
{
	FitState   *state = fit_state_of_row(fcinfo, NULL, 0);
	int64		rollout_id = rollout_id_argument(fcinfo);

	if (PG_ARGISNULL(ARG_FEATURES))
		refuse_null("contribution", rollout_id);
	rollout_sums_contribution(state->sums, rollout_id, require_finite(PG_GETARG_FLOAT8(ARG_FEATURES), "contribution", rollout_id),
							  outcome_argument(fcinfo, ARG_OUTCOME, rollout_id));
	PG_RETURN_DATUM(state_datum(state));
}

Datum
stepadv_progress_quality_final(PG_FUNCTION_ARGS)
{
	FitState   *state = fit_state_of_rows(fcinfo, 0);
	RolloutSum **rollouts;
	uint64		n;

	if (state == NULL)
		PG_RETURN_NULL();
	if (rollout_sums_dimension(state->sums) != NO_FEATURES)
		refuse_fit_state();
	rollouts = rollout_sums_judged(state->sums, &n);
	if (n == 0)
		PG_RETURN_NULL();
	return quality_row(rollouts, n, lookup_rowtype_tupdesc_copy(get_func_rettype(fcinfo->flinfo->fn_oid), -1));
}
