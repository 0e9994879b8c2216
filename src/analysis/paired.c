/*
 * paired.c
 *		Two versions on the same tasks: tests of the differences over all tasks,
 *		and of the rollouts of one task.
 *
 * A task is a cluster: its rollouts are not independent samples of how the versions
 * differ over tasks.  So the standard error is that of the mean of the tasks'
 * differences (Miller 2024), and the interval Student's with one degree of freedom
 * less than tasks.
 *
 * If the versions did not differ, each sign of a task's difference would be equally
 * likely.  The p-value is the share of sign choices whose mean is at least as far from
 * 0: of all choices if few tasks differ, otherwise of a number drawn by hashes of their
 * index, with the observed one counted among them.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "checked_arguments.h"
#include "arrays.h"
#include "hash.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_paired_difference);
PG_FUNCTION_INFO_V1(stepadv_fisher_exact);

#define MOST_SIGNS 20			/* up to so many differences, all sign choices are tried: a million */
#define MOST_ROLLOUTS 100000000
#define SAME_TO 1e-9			/* relative: sums closer than that are equal */

/* How many choices of the signs of d[i] … d[n - 1] bring the sum to at least `bound` from 0. */
static int64
far_signs(const double *d, int n, int i, double sum, double bound)
{
	if (i == n)
		return fabs(sum) >= bound ? 1 : 0;
	if (i == MOST_SIGNS / 2)
		CHECK_FOR_INTERRUPTS();
	return far_signs(d, n, i + 1, sum + d[i], bound) + far_signs(d, n, i + 1, sum - d[i], bound);
}

/* The same for drawn choices of all signs. */
static int64
far_draws(const double *d, int64 n, double bound, int64 permutations, int64 seed)
{
	int64		far = 0;

	for (int64 drawn = 0; drawn < permutations; drawn++)
	{
		int64		of_draw = hash_int64_onto(drawn, seed);
		uint64		signs = 0;
		double		sum = 0;

		CHECK_FOR_INTERRUPTS();
		for (int64 i = 0; i < n; i++, signs >>= 1)
		{
			if (i % 64 == 0)
				signs = (uint64) hash_int64_onto(i / 64, of_draw);
			sum += signs & 1 ? d[i] : -d[i];
		}
		far += fabs(sum) >= bound ? 1 : 0;
	}
	return far;
}

/* d: differences other than 0, since 0 has no sign. */
static double
permutation_p(const double *d, int64 n, int64 permutations, int64 seed, bool *exact)
{
	Sum			sum = {0, 0};
	Sum			size = {0, 0};
	double		bound;

	for (int64 i = 0; i < n; i++)
	{
		sum_add(&sum, d[i]);
		sum_add(&size, fabs(d[i]));
	}
	bound = fabs(sum_value(&sum)) - SAME_TO * sum_value(&size);
	*exact = n <= MOST_SIGNS;
	if (*exact)
		return (double) far_signs(d, (int) n, 0, 0, bound) / (double) (INT64CONST(1) << n);
	return (double) (far_draws(d, n, bound, permutations, seed) + 1) / (double) (permutations + 1);
}

/*
 * The probability between -t and t of Student's distribution with a whole number of degrees of freedom: a
 * finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4).
 */
static double
probability_within(double t, int freedom)
{
	bool		is_odd = freedom % 2 == 1;
	double		square = (double) freedom / (freedom + t * t);	/* of the cosine of the angle */
	double		sine = t / sqrt(freedom + t * t);
	double		term = is_odd ? sqrt(square) : 1;
	double		sum = 0;

	for (int i = is_odd ? 3 : 2; i <= freedom; i += 2)
	{
		CHECK_ONCE_IN_A_WHILE(i / 2);
		sum += term;
		term *= square * (i - 1) / i;
	}
	return is_odd ? (atan2(t, sqrt(freedom)) + sine * sum) / acos(0) : sine * sum;
}

/* The t such that a value is between -t and t with probability confidence (between 0 and 1); freedom at least 1. */
static double
student_bound(double confidence, int freedom)
{
	double		low = 0;
	double		high = 1;

	while (probability_within(high, freedom) < confidence && high < 1e150)
	{
		low = high;
		high *= 2;
	}
	for (int i = 0; i < 200 && high - low > high * DBL_EPSILON; i++)
	{
		double		middle = low + (high - low) / 2;

		if (probability_within(middle, freedom) < confidence)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* paired_difference(differences float8[], confidence float8, permutations integer, seed integer) */
Datum
stepadv_paired_difference(PG_FUNCTION_ARGS)
{
	int			n;
	const double *d = list_argument(fcinfo, 0, "differences", FLOAT8OID, &n);
	double	   *other_than_0 = ALLOCATE_ARRAY(double, n);
	int64		n_other = 0;
	Sum			sum = {0, 0};
	Sum			squares = {0, 0};
	double		mean;
	bool		exact;
	Datum		values[6];
	bool		nulls[6] = {false};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "paired_difference returns no row");
	if (PG_GETARG_INT32(2) < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("permutations must be at least 0, not %d", PG_GETARG_INT32(2))));
	if (n == 0)
		PG_RETURN_NULL();
	for (int64 i = 0; i < n; i++)
	{
		sum_add(&sum, d[i]);
		if (d[i] != 0)
			other_than_0[n_other++] = d[i];
	}
	mean = sum_value(&sum) / (double) n;
	for (int64 i = 0; i < n; i++)
		sum_add(&squares, (d[i] - mean) * (d[i] - mean));
	values[0] = Float8GetDatum(mean);
	nulls[1] = nulls[2] = nulls[3] = n < 2;
	if (n >= 2)
	{
		double		error = sqrt(sum_value(&squares) / (double) (n - 1) / (double) n);
		double		bound = error * student_bound(PG_GETARG_FLOAT8(1), n - 1);

		values[1] = Float8GetDatum(error);
		values[2] = Float8GetDatum(mean - bound);
		values[3] = Float8GetDatum(mean + bound);
	}
	values[4] = Float8GetDatum(permutation_p(other_than_0, n_other, PG_GETARG_INT32(2), PG_GETARG_INT32(3), &exact));
	values[5] = BoolGetDatum(exact);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/*
 * fisher_exact(c_a, n_a, c_b, n_b bigint): two-sided, the probability of all tables with these margins that are not
 * more probable than this one.  Weights are computed from the mode outwards, so that none overflows.
 */
Datum
stepadv_fisher_exact(PG_FUNCTION_ARGS)
{
	int64		c = PG_GETARG_INT64(0);
	int64		n_a = PG_GETARG_INT64(1);
	int64		n_b = PG_GETARG_INT64(3);
	int64		both = c + PG_GETARG_INT64(2);
	int64		least = Max(both - n_b, 0);
	int64		most = Min(both, n_a);
	int64		mode = (int64) floor(((double) both + 1) * ((double) n_a + 1) / ((double) n_a + (double) n_b + 2));
	double	   *weight;
	double		total = 0;
	double		as_far = 0;

	if (c < least || c > most || n_a < 0 || n_b < 0 || n_a > MOST_ROLLOUTS || n_b > MOST_ROLLOUTS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot have " INT64_FORMAT " successes of " INT64_FORMAT " rollouts and " INT64_FORMAT " of " INT64_FORMAT,
						c, n_a, PG_GETARG_INT64(2), n_b)));
	mode = Min(Max(mode, least), most);
	weight = ALLOCATE_ARRAY(double, most - least + 1) - least;
	weight[mode] = 1;
	for (int64 x = mode; x < most; x++)
		weight[x + 1] = weight[x] * ((double) (n_a - x) * (double) (both - x)) / ((double) (x + 1) * (double) (n_b - both + x + 1));
	for (int64 x = mode; x > least; x--)
		weight[x - 1] = weight[x] * ((double) x * (double) (n_b - both + x)) / ((double) (n_a - x + 1) * (double) (both - x + 1));
	for (int64 x = least; x <= most; x++)
	{
		total += weight[x];
		if ((x & 0xFFFF) == 0)
			CHECK_FOR_INTERRUPTS();
		/* Allow for rounding of equal weights. */
		if (weight[x] <= weight[c] * (1 + 1e-7))
			as_far += weight[x];
	}
	PG_RETURN_FLOAT8(as_far / total);
}
