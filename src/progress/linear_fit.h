#ifndef STEPADV_LINEAR_FIT_H
#define STEPADV_LINEAR_FIT_H

#include "progress/least_squares.h"
#include "progress/model.h"

/* In the order of the words of LOSS_PARAMETER. */
typedef enum Loss
{
	LOSS_SQUARED,
	LOSS_LOGISTIC
} Loss;

#define LOSS_PARAMETER CHOICE_PARAMETER("loss", "squared", "logistic")

typedef struct LinearFit
{
	double		lambda;
	Loss		loss;
} LinearFit;

/* A model of at least one row. */
extern ProgressModel fit_linear(const FitRows *rows, const LinearFit *fit);

#endif							/* STEPADV_LINEAR_FIT_H */
