/*
 * fit.c
 *		The aggregates over steps of a linear fit and of its judgement:
 *		progress_statistics, progress_fit, progress_quality and
 *		progress_calibration.
 */
#include "postgres.h"

#include "fmgr.h"

#include "arrays.h"
#include "parameters.h"
#include "progress/composite.h"
#include "progress/fit_state.h"
#include "progress/linear_fit.h"
#include "progress/predict.h"
#include "progress/quality.h"
#include "progress/statistics.h"
#include "progress/step_arguments.h"
#include "state_value.h"

PG_FUNCTION_INFO_V1(stepadv_progress_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_sparse_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_statistics_final);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_final);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_of_model_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_of_sparse_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_final);
PG_FUNCTION_INFO_V1(stepadv_progress_calibration_final);

/* What is summed over the steps of a rollout of which a model predicts. */
enum
{
	PREDICTED_STEPS,			/* contributions */
	PREDICTED_INTERCEPT,		/* the rollout's, as often as it has steps */
	PREDICTED_LOGISTIC,
	N_PREDICTED
};

/* progress_statistics(rollout_id, features, outcome) */
Datum
stepadv_progress_trans(PG_FUNCTION_ARGS)
{
	LinearFit	fit = {0, INTERCEPT_STEP, LOSS_SQUARED};
	FitState   *state = fit_state_of_row(fcinfo, &fit, sizeof(fit));

	fit_state_add_features(state, fcinfo, 0);
	PG_RETURN_DATUM(state_datum(state));
}

static const Parameter fit_parameters[] = {NUMBER_PARAMETER("lambda", 0, INFINITY), INTERCEPT_PARAMETER, LOSS_PARAMETER};

/* lambda [, intercept [, loss]] */
static LinearFit
read_fit(FunctionCallInfo fcinfo, int first)
{
	ParameterValue values[lengthof(fit_parameters)] = {{.number = 0}, {.choice = INTERCEPT_ROLLOUT}, {.choice = LOSS_SQUARED}};

	read_parameters_in_order(fcinfo->args + first, fit_parameters, PG_NARGS() - first, values);
	return (LinearFit) {values[0].number, values[1].choice, values[2].choice};
}

/* progress_fit(rollout_id, features, outcome, lambda [, intercept [, loss]]) */
Datum
stepadv_progress_fit_trans(PG_FUNCTION_ARGS)
{
	LinearFit	fit = read_fit(fcinfo, ARG_PARAMETERS);
	FitState   *state = fit_state_of_row(fcinfo, &fit, sizeof(fit));

	fit_state_add_features(state, fcinfo, 0);
	PG_RETURN_DATUM(state_datum(state));
}

/* progress_fit(rollout_id, places, weights, outcome, lambda [, intercept, loss]) */
Datum
stepadv_progress_fit_sparse_trans(PG_FUNCTION_ARGS)
{
	LinearFit	fit = read_fit(fcinfo, ARG_SPARSE_PARAMETERS);
	FitState   *state = fit_state_of_row(fcinfo, &fit, sizeof(fit));

	fit_state_add_sparse_features(state, fcinfo, 0);
	PG_RETURN_DATUM(state_datum(state));
}

/* NULL over no judged rollout. */
Datum
stepadv_progress_statistics_final(PG_FUNCTION_ARGS)
{
	FitState   *state = fit_state_of_rows(fcinfo, sizeof(LinearFit));
	ProgressValue *statistics;

	if (state == NULL)
		PG_RETURN_NULL();
	if (rollout_sums_dimension(state->sums) == SPARSE_DIMENSION)
		refuse_fit_state();
	statistics = statistics_of_sums(state->sums);
	if (statistics == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(progress_seal(statistics));
}

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
	rollouts = rollout_sums_judged(state->sums, &n);
	if (n == 0)
		PG_RETURN_NULL();
	memcpy(&fit, state->parameters, sizeof(fit));
	if (!(fit.lambda >= 0) || fit.intercept < INTERCEPT_ROLLOUT || fit.intercept > INTERCEPT_NONE ||
		fit.loss < LOSS_SQUARED || fit.loss > LOSS_LOGISTIC)
		refuse_fit_state();
	rows = fit_rows_of(state->sums, rollouts, n);
	PG_RETURN_POINTER(progress_seal(fit_linear(&rows, &fit)));
}

/* progress_quality and progress_calibration(rollout_id, contribution, outcome) */
Datum
stepadv_progress_quality_trans(PG_FUNCTION_ARGS)
{
	FitState   *state = fit_state_of_row(fcinfo, NULL, 0);

	fit_state_add_contribution(state, fcinfo);
	PG_RETURN_DATUM(state_datum(state));
}

/*
 * The same of what a model predicts.  Each row may have a model of its own, so
 * what belongs to a rollout as a whole is kept with it.
 */
static Datum
add_prediction(FunctionCallInfo row, const ProgressValue *model, int64 rollout_id, double contribution, double outcome)
{
	FitState   *state = fit_state_of_row(row, NULL, 0);
	RolloutSum *rollout = rollout_sums_step(state->sums, rollout_id, 0, N_PREDICTED);

	rollout->sum[PREDICTED_STEPS] += contribution;
	rollout->sum[PREDICTED_INTERCEPT] += progress_rollout_intercept(model);
	rollout->sum[PREDICTED_LOGISTIC] += (model->flags & PROGRESS_LOGISTIC) != 0;
	rollout_sum_judge(rollout, outcome);
	return state_datum(state);
}

/* The arguments but for the model, in the places of a function without; the model. */
static const ProgressValue *
without_model(FunctionCallInfo fcinfo, FunctionCallInfo row, int n)
{
	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("model must not be null")));
	InitFunctionCallInfoData(*row, fcinfo->flinfo, n, InvalidOid, fcinfo->context, NULL);
	row->args[ARG_STATE] = fcinfo->args[0];
	for (int arg = ARG_ROLLOUT_ID; arg < n; arg++)
		row->args[arg] = fcinfo->args[arg + 1];
	return progress_model_argument(fcinfo->flinfo, PG_GETARG_DATUM(1));
}

/* progress_quality(model, rollout_id, features, outcome) */
Datum
stepadv_progress_quality_of_model_trans(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(row, ARG_PARAMETERS);
	const ProgressValue *model = without_model(fcinfo, row, ARG_PARAMETERS);
	int64		rollout_id = rollout_id_argument(row);

	(void) features_argument(row, rollout_id);
	return add_prediction(row, model, rollout_id,
						  progress_contribution(model, DatumGetArrayTypeP(row->args[ARG_FEATURES].value), &rollout_id),
						  outcome_argument(row, rollout_id));
}

/* progress_quality(model, rollout_id, places, weights, outcome) */
Datum
stepadv_progress_quality_of_sparse_trans(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(row, ARG_SPARSE_PARAMETERS);
	const ProgressValue *model = without_model(fcinfo, row, ARG_SPARSE_PARAMETERS);
	int64		rollout_id = rollout_id_argument(row);
	SparseFeatures features = sparse_features_argument(row, rollout_id);

	return add_prediction(row, model, rollout_id, progress_sparse_contribution(model, &features),
						  sparse_outcome_argument(row, rollout_id));
}

/* Of a rollout, of contributions alone or of what a model predicted. */
static double
predicted_outcome(const RolloutSum *rollout, int dimension)
{
	const double *sum = rollout->sum;

	if (dimension != N_PREDICTED)
		return sum[PREDICTED_STEPS];
	return progress_outcome(sum[PREDICTED_STEPS] + sum[PREDICTED_INTERCEPT] / rollout->n_steps, sum[PREDICTED_LOGISTIC] > 0);
}

/* Rollouts that are judged, and what is predicted of them; none: false. */
static bool
judged_predictions(const FitState *state, Predictions *predictions)
{
	RolloutSum **rollouts;
	double	   *predicted;

	if (state == NULL)
		return false;
	if (rollout_sums_dimension(state->sums) == SPARSE_DIMENSION)
		refuse_fit_state();
	rollouts = rollout_sums_judged(state->sums, &predictions->n);
	predicted = ALLOCATE_ARRAY(double, predictions->n);
	for (uint64 i = 0; i < predictions->n; i++)
		predicted[i] = predicted_outcome(rollouts[i], rollout_sums_dimension(state->sums));
	predictions->rollouts = rollouts;
	predictions->predicted = predicted;
	return predictions->n > 0;
}

Datum
stepadv_progress_quality_final(PG_FUNCTION_ARGS)
{
	Predictions predictions;

	if (!judged_predictions(fit_state_of_rows(fcinfo, 0), &predictions))
		PG_RETURN_NULL();
	return quality_row(&predictions, composite_result(fcinfo));
}

Datum
stepadv_progress_calibration_final(PG_FUNCTION_ARGS)
{
	Predictions predictions;

	if (!judged_predictions(fit_state_of_rows(fcinfo, 0), &predictions))
		PG_RETURN_NULL();
	return calibration_rows(&predictions, composite_result(fcinfo));
}
