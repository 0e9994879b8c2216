/*
 * sum.h
 *		Compensated summation (Neumaier's variant of Kahan's, by Knuth's two-sum).
 *
 * The error of the sum is that of one rounding, however many terms there are
 * and however they cancel.
 */
#ifndef STEPADV_SUM_H
#define STEPADV_SUM_H

#include <math.h>

/* The square of what is less than this is less than a number can be. */
#define LEAST_SQUARED 1e-150

typedef struct Sum
{
	double		high;
	double		low;			/* what rounding took from high */
} Sum;

/* What rounding takes is exactly that (Knuth, volume 2, theorem 4.2.2 B), whichever of the two is larger: no branch to guess. */
static inline void
sum_add(Sum *sum, double x)
{
	double		high = sum->high + x;
	double		added = high - sum->high;

	sum->low += (sum->high - (high - added)) + (x - added);
	sum->high = high;
}

/* After an overflow the compensation is NaN, the infinity shows what happened. */
static inline double
sum_value(const Sum *sum)
{
	return isfinite(sum->high) ? sum->high + sum->low : sum->high;
}

/* Add a sum to a sum. */
static inline void
sum_add_sum(Sum *sum, const Sum *other)
{
	sum_add(sum, other->high);
	if (isfinite(other->high))
		sum_add(sum, other->low);
}

/* A sum by a factor: the product of the high part is exact in two. */
static inline void
sum_scale(Sum *sum, double factor)
{
	double		product = sum->high * factor;

	sum->low = sum->low * factor + fma(sum->high, factor, -product);
	sum->high = product;
}

#endif							/* STEPADV_SUM_H */
