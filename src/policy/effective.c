/*
 * effective.c
 *		effective_sample_size: the number of equally weighted samples that is
 *		equivalent to a set of importance weights, (sum w)^2 / sum w^2 (Kish;
 *		Kong, Liu and Wong).
 *
 * Ratios of long responses range from 1e-300 to 1e300, and their squares would be
 * out of range.  So the sums are in units of a power of two above the largest
 * weight; changing the unit is exact.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"

#include "checked_arguments.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_effective_sample_size_trans);
PG_FUNCTION_INFO_V1(stepadv_effective_sample_size_combine);
PG_FUNCTION_INFO_V1(stepadv_effective_sample_size_final);

#define N_NUMBERS 6

/* The state, a float8[] of six; all zeros: no weight yet. */
typedef struct Weights
{
	double		n;
	double		exponent;		/* of the unit; infinity after an infinite weight */
	Sum			sum;
	Sum			squares;
} Weights;

static const Weights *
weights_argument(FunctionCallInfo fcinfo, int arg)
{
	return state_numbers(fcinfo, arg, "effective_sample_size", FLOAT8OID, N_NUMBERS);
}

static Weights *
weights_to_change(FunctionCallInfo fcinfo, Datum *state)
{
	return state_numbers_to_change(fcinfo, "effective_sample_size", FLOAT8OID, N_NUMBERS, state);
}

static void
scale(Sum *sum, double exponent)
{
	/* ldexp takes an int; below this, the result is 0 anyway. */
	int			shift = (int) fmax(exponent, -8192);

	sum->high = ldexp(sum->high, shift);
	sum->low = ldexp(sum->low, shift);
}

/* Convert the sums to a larger unit. */
static void
raise_unit(Weights *weights, double exponent)
{
	if (weights->sum.high > 0)
	{
		scale(&weights->sum, weights->exponent - exponent);
		scale(&weights->squares, 2 * (weights->exponent - exponent));
	}
	weights->exponent = exponent;
}

Datum
stepadv_effective_sample_size_trans(PG_FUNCTION_ARGS)
{
	Datum		state;
	Weights    *weights = weights_to_change(fcinfo, &state);
	double		weight = PG_GETARG_FLOAT8(1);
	int			exponent;

	if (!(weight >= 0))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("weight must be 0 or positive, not %g", weight)));
	weights->n++;
	if (isinf(weight))
		weights->exponent = weight;
	else if (weight > 0 && !isinf(weights->exponent))
	{
		frexp(weight, &exponent);
		if (weights->sum.high == 0 || exponent > weights->exponent)
			raise_unit(weights, exponent);
		weight = ldexp(weight, -(int) weights->exponent);
		sum_add(&weights->sum, weight);
		sum_add(&weights->squares, weight * weight);
	}
	PG_RETURN_DATUM(state);
}

Datum
stepadv_effective_sample_size_combine(PG_FUNCTION_ARGS)
{
	Datum		state;
	Weights    *weights = weights_to_change(fcinfo, &state);
	Weights		other = *weights_argument(fcinfo, 1);

	weights->n += other.n;
	if (isinf(weights->exponent) || isinf(other.exponent))
		weights->exponent = INFINITY;
	else if (other.sum.high > 0)
	{
		if (weights->sum.high == 0 || other.exponent > weights->exponent)
			raise_unit(weights, other.exponent);
		else
			raise_unit(&other, weights->exponent);
		sum_add_sum(&weights->sum, &other.sum);
		sum_add_sum(&weights->squares, &other.squares);
	}
	PG_RETURN_DATUM(state);
}

Datum
stepadv_effective_sample_size_final(PG_FUNCTION_ARGS)
{
	const Weights *weights = weights_argument(fcinfo, 0);
	double		sum = sum_value(&weights->sum);

	if (weights->n == 0 || isinf(weights->exponent))
		PG_RETURN_NULL();
	if (sum == 0)
		PG_RETURN_FLOAT8(0);
	PG_RETURN_FLOAT8(sum * sum / sum_value(&weights->squares));
}
