/*
 * student.c
 *		The bounds of Student's t distribution, to about 1e-12.
 *
 * The probability beyond -t and t is I_x(freedom/2, 1/2), x = freedom/(freedom + t^2), the
 * regularised incomplete beta function, by its continued fraction (Abramowitz and
 * Stegun, 26.5.8) as Lentz evaluates it; its inverse by bisection.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"

#include "analysis/student.h"

#define MOST_TERMS 100000

static inline double
not_zero(double x)
{
	return fabs(x) < DBL_MIN ? DBL_MIN : x;
}

static double
beta_fraction(double x, double a, double b)
{
	double		c = 1;
	double		d = 1 / not_zero(1 - (a + b) * x / (a + 1));
	double		f = d;

	for (int m = 1; m < MOST_TERMS; m++)
	{
		double		even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double		odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double		factor;

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		f *= c * d;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		factor = c * d;
		f *= factor;
		if (fabs(factor - 1) < DBL_EPSILON)
			break;
	}
	return f;
}

/* I_x(a, b); y is 1 - x, which the caller computes more accurately. */
static double
incomplete_beta(double x, double y, double a, double b)
{
	double		front;

	if (x <= 0 || y <= 0)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(y, b, a) / b;
}

static double
beyond(double t, double freedom)
{
	double		square = t * t;

	return incomplete_beta(freedom / (freedom + square), square / (freedom + square), freedom / 2, 0.5);
}

double
student_bound(double confidence, double freedom)
{
	double		low = 0;
	double		high = 1;

	while (beyond(high, freedom) > 1 - confidence && high < 1e150)
	{
		low = high;
		high *= 2;
	}
	for (int i = 0; i < 200 && high - low > high * DBL_EPSILON; i++)
	{
		double		middle = low + (high - low) / 2;

		CHECK_FOR_INTERRUPTS();
		if (beyond(middle, freedom) > 1 - confidence)
			low = middle;
		else
			high = middle;
	}
	return high;
}
