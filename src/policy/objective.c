/*
 * objective.c
 *		clipped_objective, is_clipped: what PPO and its kin maximise, for one step.
 *
 *	min(w A, clip(w, 1 - clip_low, 1 + clip_high) A),
 *	and with dual_clip c, where A < 0, at least c A
 */
#include "postgres.h"

#include <math.h>

#include "parameters.h"

PG_FUNCTION_INFO_V1(stepadv_clipped_objective);
PG_FUNCTION_INFO_V1(stepadv_is_clipped);

static const Parameter clip_parameters[] = {
	NUMBER_PARAMETER("clip_low", 0, 1),
	NULLABLE_NUMBER_PARAMETER("clip_high", 0, INFINITY),
	NULLABLE_NUMBER_PARAMETER("dual_clip", 1, INFINITY)
};

typedef struct ClippedStep
{
	double		ratio;
	double		advantage;
	double		least;			/* ratios between these two are left alone */
	double		most;
	double		dual;			/* infinite: no dual clip */
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
	step->least = 1 - clip[0].number;
	step->most = 1 + (clip[1].isnull ? clip[0].number : clip[1].number);
	step->dual = clip[2].isnull ? INFINITY : clip[2].number;
	return true;
}

/* An infinite ratio of no advantage is worth nothing, not NaN. */
static double
objective(const ClippedStep *step)
{
	double		a = step->advantage;

	if (a == 0)
		return 0;
	if (a > 0)
		return Min(step->ratio, step->most) * a;
	return Min(Max(step->ratio, step->least), step->dual) * a;
}

Datum
stepadv_clipped_objective(PG_FUNCTION_ARGS)
{
	ClippedStep step;

	if (!read_step(fcinfo, &step))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(objective(&step));
}

/* Whether the ratio has left the range in which it moves the objective. */
Datum
stepadv_is_clipped(PG_FUNCTION_ARGS)
{
	ClippedStep step;

	if (!read_step(fcinfo, &step))
		PG_RETURN_NULL();
	if (step.advantage > 0)
		PG_RETURN_BOOL(step.ratio > step.most);
	PG_RETURN_BOOL(step.advantage < 0 && (step.ratio < step.least || step.ratio > step.dual));
}
