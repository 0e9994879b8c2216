/*
 * objective.c
 *		clipped_objective, is_clipped: the objective of PPO and its variants for one step.
 *
 *	min(w A, clip(w, 1 - clip_low, 1 + clip_high) A),
 *	and with dual_clip c, if A < 0, at least c A
 */
#include "postgres.h"

#include "policy/objective.h"

PG_FUNCTION_INFO_V1(stepadv_clipped_objective);
PG_FUNCTION_INFO_V1(stepadv_is_clipped);

static const Parameter clip_parameters[] = {CLIP_PARAMETERS};

typedef struct ClippedStep
{
	double		ratio;
	double		advantage;
	ClipBounds	bounds;
} ClippedStep;

/* False: ratio or advantage is NULL. */
static bool
read_step(FunctionCallInfo fcinfo, ClippedStep *step)
{
	ParameterValue clip[lengthof(clip_parameters)];

	read_parameters(fcinfo, 2, clip_parameters, lengthof(clip_parameters), clip);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return false;
	step->ratio = PG_GETARG_FLOAT8(0);
	step->advantage = PG_GETARG_FLOAT8(1);
	if (isnan(step->ratio) || step->ratio < 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("ratio must be a number of at least 0, not %g", step->ratio)));
	if (!isfinite(step->advantage))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("advantage must be a finite number, not %g", step->advantage)));
	step->bounds = clip_bounds(clip);
	return true;
}

Datum
stepadv_clipped_objective(PG_FUNCTION_ARGS)
{
	ClippedStep step;

	if (!read_step(fcinfo, &step))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(clipped_objective(step.ratio, step.advantage, &step.bounds));
}

Datum
stepadv_is_clipped(PG_FUNCTION_ARGS)
{
	ClippedStep step;

	if (!read_step(fcinfo, &step))
		PG_RETURN_NULL();
	PG_RETURN_BOOL(is_clipped(step.ratio, step.advantage, &step.bounds));
}
