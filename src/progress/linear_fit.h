/*
 * linear_fit.h
 *		Linear estimators of progress: what they minimise, and the fit.
 */
#ifndef STEPADV_LINEAR_FIT_H
#define STEPADV_LINEAR_FIT_H

#include "progress/fit_rows.h"
#include "progress/value.h"

/* In the order of the words of INTERCEPT_PARAMETER. */
typedef enum Intercept
{
	INTERCEPT_ROLLOUT,			/* once per rollout, outside of the contributions */
	INTERCEPT_STEP,				/* in each step's contribution */
	INTERCEPT_NONE
} Intercept;

/* In the order of the words of LOSS_PARAMETER. */
typedef enum Loss
{
	LOSS_SQUARED,
	LOSS_BALANCED,				/* squared, both outcomes weighed the same */
	LOSS_LOGISTIC
} Loss;

#define INTERCEPT_PARAMETER CHOICE_PARAMETER("intercept", "rollout", "step", "none")
#define LOSS_PARAMETER CHOICE_PARAMETER("loss", "squared", "balanced", "logistic")

/* Kept in states of aggregates; no padding. */
typedef struct LinearFit
{
	double		lambda;
	int32		intercept;		/* Intercept */
	int32		loss;			/* Loss */
} LinearFit;

/* A least-squares problem of rows: each with a weight and what it should come to. */
typedef struct LeastSquares
{
	const FitRows *rows;
	const double *weight;		/* NULL: all 1 */
	const double *target;		/* NULL: the outcomes */
	double		total;			/* what the sum over rows is divided by */
	double		lambda;
	Intercept	intercept;
} LeastSquares;

/* The exact solution, by the sums of products: dimension weights and the intercept. */
extern void solve_exactly(const LeastSquares *problem, double *weight);

/* To 1e-10 of the residual, by conjugate gradients; the ridge must be above 0. */
extern void solve_by_gradients(const LeastSquares *problem, double *weight);

/* One or the other, as fit_is_exact says. */
extern bool fit_is_exact(const FitRows *rows);
extern void solve_least_squares(const LeastSquares *problem, double *weight);

/* weight: dimension entries and the intercept.  Rows may be NULL: dimension features, dense. */
extern ProgressValue *linear_model(const FitRows *rows, int dimension, const LinearFit *fit, const double *weight);

/* A model in native form of at least one row. */
extern ProgressValue *fit_linear(const FitRows *rows, const LinearFit *fit);

#endif							/* STEPADV_LINEAR_FIT_H */
