/*
 * fit.c
 *		The aggregates over steps of a linear fit and of its judgement: progress_fit
 *		and progress_quality.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "parameters.h"
#include "progress/fit_state.h"
#include "progress/linear_fit.h"
#include "progress/quality.h"
#include "progress/step_arguments.h"
#include "state_value.h"

PG_FUNCTION_INFO_V1(stepadv_progress_fit_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_sparse_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_final);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_final);

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

	fit_state_add_features(state, fcinfo);
	PG_RETURN_DATUM(state_datum(state));
}

/* progress_fit(rollout_id, places, weights, outcome, lambda [, loss]) */
Datum
stepadv_progress_fit_sparse_trans(PG_FUNCTION_ARGS)
{
	LinearFit	fit = read_fit(fcinfo, ARG_SPARSE_PARAMETERS);
	FitState   *state = fit_state_of_row(fcinfo, &fit, sizeof(fit));

	fit_state_add_sparse_features(state, fcinfo);
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

	fit_state_add_contribution(state, fcinfo);
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
