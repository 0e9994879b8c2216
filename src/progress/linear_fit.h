/*
 * linear_fit.h
 *		Linear estimators of progress: what they minimise, and the fit.
 */
#ifndef STEPADV_LINEAR_FIT_H
#define STEPADV_LINEAR_FIT_H

#include "progress/least_squares.h"
#include "progress/linear_model.h"

/* By least_squares.h, one way or the other, as fit_is_exact says. */
extern bool fit_is_exact(const FitRows *rows);
extern void solve_least_squares(const LeastSquares *problem, double *weight);

/* A model in native form of at least one row. */
extern ProgressValue *fit_linear(const FitRows *rows, const LinearFit *fit);

#endif							/* STEPADV_LINEAR_FIT_H */
