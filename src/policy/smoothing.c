/*
 * smoothing.c
 *		ema, discounted_sum: what comes one after the other, the latest weighing most.
 *		Aggregates to be used as window functions, in the order of ORDER BY.
 *
 *	ema				sum_k s^k x_(t-k) / sum_k s^k, the exponential moving average that
 *					charts are smoothed by, without the pull of its start to 0
 *	discounted_sum	R_t = gamma R_(t-1) + x_t
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"

#include "arguments.h"
#include "parameters.h"

PG_FUNCTION_INFO_V1(stepadv_ema_trans);
PG_FUNCTION_INFO_V1(stepadv_ema_final);
PG_FUNCTION_INFO_V1(stepadv_discounted_sum_trans);

static const Parameter ema_parameters[] = {NUMBER_PARAMETER("smoothing", 0, 1)};
static const Parameter discounted_sum_parameters[] = {GAMMA_PARAMETER};

/* The parameter after the value; error if it is out of its range or NULL. */
static double
factor_argument(FunctionCallInfo fcinfo, const Parameter *parameter)
{
	NullableDatum arg = {PG_GETARG_DATUM(2), PG_ARGISNULL(2)};
	ParameterValue value;

	read_parameters_in_order(&arg, parameter, 1, &value);
	return value.number;
}

/* The state is the sum and the weights in it. */
Datum
stepadv_ema_trans(PG_FUNCTION_ARGS)
{
	double		smoothing = factor_argument(fcinfo, ema_parameters);
	Datum		state;
	double	   *sum = state_numbers_to_change(fcinfo, "ema", FLOAT8OID, 2, &state);

	if (!PG_ARGISNULL(1))
	{
		sum[0] = smoothing * sum[0] + PG_GETARG_FLOAT8(1);
		sum[1] = smoothing * sum[1] + 1;
	}
	PG_RETURN_DATUM(state);
}

Datum
stepadv_ema_final(PG_FUNCTION_ARGS)
{
	const double *sum = state_numbers(fcinfo, 0, "ema", FLOAT8OID, 2);

	if (sum[1] == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(sum[0] / sum[1]);
}

Datum
stepadv_discounted_sum_trans(PG_FUNCTION_ARGS)
{
	double		gamma = factor_argument(fcinfo, discounted_sum_parameters);

	require_argument(fcinfo, 0, "the state");
	PG_RETURN_FLOAT8(gamma * PG_GETARG_FLOAT8(0) + (PG_ARGISNULL(1) ? 0 : PG_GETARG_FLOAT8(1)));
}
