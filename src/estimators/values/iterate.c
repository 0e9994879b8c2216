/*
 * iterate.c
 *		Gauss-Seidel sweeps with corrections.
 *
 * Sweeps converge for all value equations, since each unknown leads to a leak: the sum of absolute residuals never
 * grows.  But they are slow if leaks are rare, since a sweep hardly changes the part of the values that all unknowns
 * have in common.  That part is computed directly: in the sum of all equations the weights cancel (aggregation to a
 * single unknown).  BiCGSTAB (van der Vorst 1992; preconditioned with a sweep) finds what fewer unknowns have in
 * common.  Its corrections are applied as long as they help.
 *
 * A shift at most doubles the residuals.  If the sweeps do not make up for that, their number before the next
 * shift is doubled.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/values/iterate.h"

#define SWEEPS_AT_ONCE		2
#define CORRECTION_STEPS	200
/* Residual of a sufficient correction, relative to the residual before it. */
#define CORRECTION_ENOUGH	1e-12
#define MAX_SWEEPS			1000000

typedef struct Iteration
{
	const ValueEquations *equations;
	double	   *share;			/* 1 / (leak + sum of weights) of each unknown: divisions delay sweeps */
	double	   *value;
	double	   *residual;		/* of each equation */
	double		leaks;			/* sum of all leaks */
} Iteration;

/* Set each unknown in turn to the value that its equation gives, with its constant multiplied by constants. */
static void
sweep(const Iteration *iteration, double constants, double *value)
{
	const ValueEquations *equations = iteration->equations;

	for (uint32 i = 0; i < equations->n; i++)
	{
		double		sum = constants * equations->constant[i];

		for (uint32 e = equations->first[i]; e < equations->first[i + 1]; e++)
			sum += equations->weight[e] * value[equations->target[e]];
		value[i] = sum * iteration->share[i];
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

/* Compute the residuals, and return the sum of their absolute values; *noise is the part due to rounding errors. */
static double
measure_residuals(const Iteration *iteration, double *noise)
{
	const ValueEquations *equations = iteration->equations;
	const double *value = iteration->value;
	double		open = 0;
	double		size = 0;

	for (uint32 i = 0; i < equations->n; i++)
	{
		double		sum = equations->constant[i] - equations->leak[i] * value[i];

		/* By differences, which are small if values have much in common. */
		for (uint32 e = equations->first[i]; e < equations->first[i + 1]; e++)
			sum += equations->weight[e] * (value[equations->target[e]] - value[i]);
		iteration->residual[i] = sum;
		open += fabs(sum);
		/* Rounding errors of so many terms, and of a sum of 16 (any small number) in addition. */
		size += (equations->first[i + 1] - equations->first[i] + 16.0) *
			(fabs(equations->constant[i]) + fabs(value[i]) / iteration->share[i]);
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	*noise = DBL_EPSILON * size;
	return open;
}

/* Shift all values so that the sum of the equations holds. */
static void
shift_all(const Iteration *iteration)
{
	double		sum = 0;

	CHECK_FOR_INTERRUPTS();
	for (uint32 i = 0; i < iteration->equations->n; i++)
		sum += iteration->residual[i];
	for (uint32 i = 0; i < iteration->equations->n; i++)
		iteration->value[i] += sum / iteration->leaks;
}

/* ----------
 * Corrections
 * ----------
 */

/* Apply the preconditioned matrix to x: x minus its sweep without constants. */
static void
apply(const Iteration *iteration, const double *x, double *result)
{
	uint32		n = iteration->equations->n;

	copy_large(result, x, n * sizeof(double));
	sweep(iteration, 0, result);
	for (uint32 i = 0; i < n; i++)
		result[i] = x[i] - result[i];
}

/* Also checks for interrupts, since a call separates any two other loops over all unknowns. */
static double
dot(uint32 n, const double *x, const double *y)
{
	double		sum = 0;

	CHECK_FOR_INTERRUPTS();
	for (uint32 i = 0; i < n; i++)
		sum += x[i] * y[i];
	return sum;
}

/* Find a correction of the values by BiCGSTAB, with at most CORRECTION_STEPS steps. */
static void
find_correction(const Iteration *iteration, double *correction)
{
	uint32		n = iteration->equations->n;
	double	   *r = ALLOCATE_ARRAY(double, n);
	double	   *shadow = ALLOCATE_ARRAY(double, n);
	double	   *p = ALLOCATE_ZEROED_ARRAY(double, n);
	double	   *v = ALLOCATE_ZEROED_ARRAY(double, n);
	double	   *t = ALLOCATE_ARRAY(double, n);
	double		rho = 1;
	double		alpha = 1;
	double		omega = 1;
	double		enough;

	copy_large(r, iteration->value, n * sizeof(double));
	sweep(iteration, 1, r);
	for (uint32 i = 0; i < n; i++)
	{
		shadow[i] = r[i] -= iteration->value[i];
		correction[i] = 0;
	}
	enough = dot(n, r, r) * CORRECTION_ENOUGH * CORRECTION_ENOUGH;
	for (int step = 0; step < CORRECTION_STEPS; step++)
	{
		double		rho_before = rho;
		double		tt;

		rho = dot(n, shadow, r);
		for (uint32 i = 0; i < n; i++)
			p[i] = r[i] + rho / rho_before * (alpha / omega) * (p[i] - omega * v[i]);
		apply(iteration, p, v);
		alpha = rho / dot(n, shadow, v);
		for (uint32 i = 0; i < n; i++)
			r[i] -= alpha * v[i];
		apply(iteration, r, t);
		tt = dot(n, t, t);
		omega = tt > 0 ? dot(n, t, r) / tt : 0;
		/* BiCGSTAB breaks down if one of the divisors is 0. */
		if (!isfinite(alpha) || !isfinite(omega))
			break;
		for (uint32 i = 0; i < n; i++)
		{
			correction[i] += alpha * p[i] + omega * r[i];
			r[i] -= omega * t[i];
		}
		if (omega == 0 || dot(n, r, r) <= enough)
			break;
	}
	pfree(r);
	pfree(shadow);
	pfree(p);
	pfree(v);
	pfree(t);
}

/* Apply a correction if it halves the residuals; *open is their sum before and after. */
static bool
correct(const Iteration *iteration, double *open)
{
	uint32		n = iteration->equations->n;
	double	   *correction = ALLOCATE_ARRAY(double, n);
	double	   *before = ALLOCATE_ARRAY(double, n);
	double		noise;
	double		open_after;
	bool		better;

	copy_large(before, iteration->value, n * sizeof(double));
	find_correction(iteration, correction);
	for (uint32 i = 0; i < n; i++)
		iteration->value[i] += correction[i];
	open_after = measure_residuals(iteration, &noise);
	better = open_after < *open / 2;
	if (better)
		*open = open_after;
	else
	{
		copy_large(iteration->value, before, n * sizeof(double));
		measure_residuals(iteration, &noise);
	}
	pfree(correction);
	pfree(before);
	return better;
}

/* ----------
 * The iteration
 * ----------
 */

void
iterate_value_equations(const ValueEquations *equations, double *value)
{
	Iteration	iteration = {equations, ALLOCATE_ARRAY(double, equations->n), value, ALLOCATE_ARRAY(double, equations->n)};
	double		open_before = INFINITY;
	uint32		block = SWEEPS_AT_ONCE;
	bool		correcting = true;

	for (uint32 i = 0; i < equations->n; i++)
	{
		double		diagonal = equations->leak[i];

		for (uint32 e = equations->first[i]; e < equations->first[i + 1]; e++)
			diagonal += equations->weight[e];
		iteration.share[i] = 1 / diagonal;
		iteration.leaks += equations->leak[i];
	}
	for (uint32 n = 0; n < MAX_SWEEPS; n += block)
	{
		double		noise;
		double		open;

		for (uint32 s = 0; s < block; s++)
			sweep(&iteration, 1, value);
		open = measure_residuals(&iteration, &noise);
		/* Rounding errors prevent further progress, or there was an overflow. */
		if ((open <= noise && open > open_before / 2) || open == 0 || !isfinite(open))
		{
			pfree(iteration.share);
			pfree(iteration.residual);
			return;
		}
		if (correcting && open > noise)
			correcting = correct(&iteration, &open);
		else if (open > open_before / 2)
			block *= 2;
		shift_all(&iteration);
		open_before = open;
	}
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("values of %u states on cycles did not converge", equations->n),
			 errhint("A gamma below 1, or a prior, makes them converge sooner.")));
}
