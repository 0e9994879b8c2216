/*
 * moments.c
 *		explained_variance, value_mse: how much of the returns a critic knew;
 *		return_scale: what rewards are multiplied by to have returns of one size.
 *
 *	explained_variance	1 - var(return - value) / var(return)
 *	value_mse			mean of (return - value)^2
 *	return_scale		1 / sqrt(variance + 1e-8), variance of all that was seen and of
 *						1e-4 observations of variance 1 about 0 (VecNormalize, as StepPO's
 *						code has it)
 *
 * Moments are kept as count, mean and sum of squared deviations (Welford; Chan,
 * Golub and LeVeque where workers' are put together).
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"

#include "arguments.h"

PG_FUNCTION_INFO_V1(stepadv_value_moments_trans);
PG_FUNCTION_INFO_V1(stepadv_return_moments_trans);
PG_FUNCTION_INFO_V1(stepadv_moments_combine);
PG_FUNCTION_INFO_V1(stepadv_explained_variance_final);
PG_FUNCTION_INFO_V1(stepadv_value_mse_final);
PG_FUNCTION_INFO_V1(stepadv_return_scale_final);

/* What VecNormalize begins with, and keeps from dividing by 0. */
#define PRIOR_COUNT 1e-4
#define PRIOR_VARIANCE 1
#define SCALE_EPSILON 1e-8

typedef struct Moments
{
	double		n;
	double		mean;
	double		squares;		/* of deviations from it */
} Moments;

/* A state has two of them: of returns, and of what the critic missed them by, where there is one. */
#define N_MOMENTS 2
#define N_NUMBERS ((int) (N_MOMENTS * sizeof(Moments) / sizeof(double)))

static const Moments *
moments_argument(FunctionCallInfo fcinfo, int arg)
{
	return state_numbers(fcinfo, arg, "moments", FLOAT8OID, N_NUMBERS);
}

static Moments *
writable_moments(FunctionCallInfo fcinfo, Datum *state)
{
	return state_numbers_to_change(fcinfo, "moments", FLOAT8OID, N_NUMBERS, state);
}

static void
merge_moments(Moments *moments, const Moments *other)
{
	double		n = moments->n + other->n;
	double		difference = other->mean - moments->mean;

	if (other->n == 0)
		return;
	moments->squares += other->squares + difference * difference * (moments->n / n) * other->n;
	moments->mean += difference * (other->n / n);
	moments->n = n;
}

static double
finite_argument(FunctionCallInfo fcinfo, int arg, const char *name)
{
	double		x = PG_GETARG_FLOAT8(arg);

	if (!isfinite(x))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s must be a finite number, not %g", name, x)));
	return x;
}

Datum
stepadv_value_moments_trans(PG_FUNCTION_ARGS)
{
	double		value = finite_argument(fcinfo, 1, "value");
	double		actual = finite_argument(fcinfo, 2, "return");
	Datum		state;
	Moments    *moments = writable_moments(fcinfo, &state);

	merge_moments(&moments[0], &(Moments) {1, actual, 0});
	merge_moments(&moments[1], &(Moments) {1, actual - value, 0});
	PG_RETURN_DATUM(state);
}

Datum
stepadv_return_moments_trans(PG_FUNCTION_ARGS)
{
	double		x = finite_argument(fcinfo, 1, "return");
	Datum		state;

	merge_moments(writable_moments(fcinfo, &state), &(Moments) {1, x, 0});
	PG_RETURN_DATUM(state);
}

Datum
stepadv_moments_combine(PG_FUNCTION_ARGS)
{
	const Moments *other = moments_argument(fcinfo, 1);
	Datum		state;
	Moments    *moments = writable_moments(fcinfo, &state);

	for (int i = 0; i < N_MOMENTS; i++)
		merge_moments(&moments[i], &other[i]);
	PG_RETURN_DATUM(state);
}

Datum
stepadv_explained_variance_final(PG_FUNCTION_ARGS)
{
	const Moments *moments = moments_argument(fcinfo, 0);

	if (moments[0].squares == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(1 - moments[1].squares / moments[0].squares);
}

Datum
stepadv_value_mse_final(PG_FUNCTION_ARGS)
{
	const Moments *missed = moments_argument(fcinfo, 0) + 1;

	if (missed->n == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(missed->squares / missed->n + missed->mean * missed->mean);
}

Datum
stepadv_return_scale_final(PG_FUNCTION_ARGS)
{
	Moments		all = {PRIOR_COUNT, 0, PRIOR_COUNT * PRIOR_VARIANCE};

	merge_moments(&all, moments_argument(fcinfo, 0));
	PG_RETURN_FLOAT8(1 / sqrt(all.squares / all.n + SCALE_EPSILON));
}
