/*
 * linear_model.h
 *		Linear estimators of progress: what is fitted, and the model that comes of it.
 */
#ifndef STEPADV_LINEAR_MODEL_H
#define STEPADV_LINEAR_MODEL_H

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
	LOSS_LOGISTIC
} Loss;

#define INTERCEPT_PARAMETER CHOICE_PARAMETER("intercept", "rollout", "step", "none")
#define LOSS_PARAMETER CHOICE_PARAMETER("loss", "squared", "logistic")

/* Kept in states of aggregates; no padding. */
typedef struct LinearFit
{
	double		lambda;
	int32		intercept;		/* Intercept */
	int32		loss;			/* Loss */
} LinearFit;

/* weight: dimension entries and the intercept.  Rows may be NULL: dimension features, dense. */
extern ProgressValue *linear_model(const FitRows *rows, int dimension, const LinearFit *fit, const double *weight);

#endif							/* STEPADV_LINEAR_MODEL_H */
