/*
 * least_squares.h
 *		Weighted least squares with a ridge penalty: the problem, and two ways to solve it.
 */
#ifndef STEPADV_LEAST_SQUARES_H
#define STEPADV_LEAST_SQUARES_H

#include "progress/fit_rows.h"

/* Rows, each with a weight and a target; the model has an intercept. */
typedef struct LeastSquares
{
	const FitRows *rows;
	const double *weight;		/* NULL: all 1 */
	const double *target;		/* NULL: the outcomes */
	double		lambda;
} LeastSquares;

static inline double
weight_of(const LeastSquares *problem, uint64 i)
{
	return problem->weight == NULL ? 1 : problem->weight[i];
}

static inline double
target_of(const LeastSquares *problem, uint64 i)
{
	return problem->target == NULL ? problem->rows->row[i].outcome : problem->target[i];
}

/* The exact solution by sums of products: a weight per column, and the intercept last. */
extern void solve_exactly(const LeastSquares *problem, double *weight);

/* By conjugate gradients, to a relative residual of 1e-10; lambda must be above 0. */
extern void solve_by_gradients(const LeastSquares *problem, double *weight);

#endif							/* STEPADV_LEAST_SQUARES_H */
