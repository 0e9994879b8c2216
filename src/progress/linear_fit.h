/*
 * linear_fit.h
 *		Linear estimators of progress: what is fitted, and the model that comes of it.
 */
#ifndef STEPADV_LINEAR_FIT_H
#define STEPADV_LINEAR_FIT_H

#include "progress/least_squares.h"
#include "progress/value.h"

/* In the order of the words of LOSS_PARAMETER. */
typedef enum Loss
{
	LOSS_SQUARED,
	LOSS_LOGISTIC
} Loss;

#define LOSS_PARAMETER CHOICE_PARAMETER("loss", "squared", "logistic")

/* Kept in states of aggregates; no padding. */
typedef struct LinearFit
{
	double		lambda;
	int64		loss;			/* Loss */
} LinearFit;

/* A model in native form of at least one row. */
extern ProgressModel *fit_linear(const FitRows *rows, const LinearFit *fit);

#endif							/* STEPADV_LINEAR_FIT_H */
