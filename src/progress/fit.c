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
#include "progress/predict.h"
#include "progress/quality.h"
#include "progress/statistics.h"
#include "progress/step_arguments.h"

PG_FUNCTION_INFO_V1(stepadv_progress_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_statistics_final);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_final);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_of_model_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_quality_final);
PG_FUNCTION_INFO_V1(stepadv_progress_calibration_final);

static const Parameter fit_parameters[] = {NUMBER_PARAMETER("lambda", 0, INFINITY), FLAG_PARAMETER("intercept")};

/* Kept in the state; no padding. */
typedef struct FitParameters
{
	double		lambda;
	int64		intercept;
} FitParameters;

/* progress_statistics(rollout_id, features, outcome), progress_fit(… [, lambda [, intercept]]) */
Datum
stepadv_progress_trans(PG_FUNCTION_ARGS)
{
	int			n_parameters = PG_NARGS() - ARG_PARAMETERS;
	ParameterValue values[lengthof(fit_parameters)] = {{.number = 0}, {.flag = true}};
	FitParameters parameters;
	FitState   *state;

	read_parameters_in_order(fcinfo->args + ARG_PARAMETERS, fit_parameters, n_parameters, values);
	parameters = (FitParameters) {values[0].number, values[1].flag};
	state = fit_state_of_row(fcinfo, &parameters, sizeof(parameters));
	fit_state_add_features(state, fcinfo, 0);
	PG_RETURN_POINTER(state);
}

/* NULL over no judged rollout. */
Datum
stepadv_progress_statistics_final(PG_FUNCTION_ARGS)
{
	FitState   *state = fit_state_of_rows(fcinfo);
	ProgressValue *statistics = state == NULL ? NULL : statistics_of_sums(state->sums);

	if (statistics == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(progress_seal(statistics));
}

Datum
stepadv_progress_fit_final(PG_FUNCTION_ARGS)
{
	FitState   *state = fit_state_of_rows(fcinfo);
	ProgressValue *statistics = state == NULL ? NULL : statistics_of_sums(state->sums);
	FitParameters parameters;
	ProgressValue *model;

	if (statistics == NULL)
		PG_RETURN_NULL();
	memcpy(&parameters, state->parameters, sizeof(parameters));
	model = solve_statistics(statistics, parameters.lambda, parameters.intercept != 0);
	pfree(statistics);
	PG_RETURN_POINTER(progress_seal(model));
}

/* progress_quality and progress_calibration(rollout_id, contribution, outcome) */
Datum
stepadv_progress_quality_trans(PG_FUNCTION_ARGS)
{
	FitState   *state = fit_state_of_row(fcinfo, NULL, 0);

	fit_state_add_contribution(state, fcinfo);
	PG_RETURN_POINTER(state);
}

/*
 * progress_quality(model, rollout_id, features, outcome): of what the model
 * predicts, the arguments after it being those of the others.
 */
Datum
stepadv_progress_quality_of_model_trans(PG_FUNCTION_ARGS)
{
	LOCAL_FCINFO(row, ARG_PARAMETERS);
	int64		rollout_id;
	double		contribution;

	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("model must not be null")));
	InitFunctionCallInfoData(*row, fcinfo->flinfo, ARG_PARAMETERS, InvalidOid, fcinfo->context, NULL);
	row->args[ARG_STATE] = fcinfo->args[0];
	for (int arg = ARG_ROLLOUT_ID; arg < ARG_PARAMETERS; arg++)
		row->args[arg] = fcinfo->args[arg + 1];
	rollout_id = rollout_id_argument(row);
	(void) features_argument(row, rollout_id);
	contribution = progress_contribution(progress_model_argument(fcinfo->flinfo, PG_GETARG_DATUM(1)),
										 DatumGetArrayTypeP(row->args[ARG_FEATURES].value), &rollout_id);
	row->args[ARG_FEATURES].value = Float8GetDatum(contribution);
	return stepadv_progress_quality_trans(row);
}

/* Rollouts that are judged, and the sums of their contributions; none: false. */
static bool
judged_predictions(const FitState *state, Predictions *predictions)
{
	RolloutSum **rollouts;
	double	   *predicted;

	if (state == NULL)
		return false;
	rollouts = rollout_sums_judged(state->sums, &predictions->n);
	predicted = ALLOCATE_ARRAY(double, predictions->n);
	for (uint64 i = 0; i < predictions->n; i++)
		predicted[i] = rollouts[i]->sum[0];
	predictions->rollouts = rollouts;
	predictions->predicted = predicted;
	return predictions->n > 0;
}

Datum
stepadv_progress_quality_final(PG_FUNCTION_ARGS)
{
	Predictions predictions;

	if (!judged_predictions(fit_state_of_rows(fcinfo), &predictions))
		PG_RETURN_NULL();
	return quality_row(&predictions, composite_result(fcinfo));
}

Datum
stepadv_progress_calibration_final(PG_FUNCTION_ARGS)
{
	Predictions predictions;

	if (!judged_predictions(fit_state_of_rows(fcinfo), &predictions))
		PG_RETURN_NULL();
	return calibration_rows(&predictions, composite_result(fcinfo));
}
