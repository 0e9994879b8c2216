/*
 * sum.h
 *		Compensated summation (Neumaier's variant of Kahan's, with Knuth's two-sum).
 *
 * The error of a sum is about one rounding, regardless of the number of terms and of cancellation.
 */
#ifndef STEPADV_SUM_H
#define STEPADV_SUM_H

#include <math.h>

/* Squares of smaller numbers are left out: they are negligible, and float8_mul fails on an underflow. */
#define LEAST_SQUARED 1e-150

typedef struct Sum
{
	double		high;
	double		low;			/* accumulated rounding errors of high */
} Sum;

/* The rounding error is computed exactly (Knuth, volume 2, theorem 4.2.2 B), whichever operand is larger: no branch. */
static inline void
sum_add(Sum *sum, double x)
{
	double		high = sum->high + x;
	double		added = high - sum->high;

	sum->low += (sum->high - (high - added)) + (x - added);
	sum->high = high;
}

/* After an overflow, high is infinite and low is NaN.  Return the infinity. */
static inline double
sum_value(const Sum *sum)
{
	return isfinite(sum->high) ? sum->high + sum->low : sum->high;
}

/* Add a sum to another sum. */
static inline void
sum_add_sum(Sum *sum, const Sum *other)
{
	sum_add(sum, other->high);
	if (isfinite(other->high))
		sum_add(sum, other->low);
}

/* Multiply a sum by a factor.  The product of high is computed exactly, as two numbers. */
static inline void
sum_scale(Sum *sum, double factor)
{
	double		product = sum->high * factor;

	sum->low = sum->low * factor + fma(sum->high, factor, -product);
	sum->high = product;
}

#endif							/* STEPADV_SUM_H */
