/*
 * mlp_residual.h
 *		A hidden layer on top of a linear fit, where it helps.
 */
#ifndef STEPADV_PROGRESS_MLP_RESIDUAL_H
#define STEPADV_PROGRESS_MLP_RESIDUAL_H

#include "progress/mlp.h"

/* Of the training: width units, the most epochs.  The linear fit alone where no more helps. */
extern ProgressValue *fit_residual(const MlpTraining *training, int dimension, int width, double penalty);

#endif							/* STEPADV_PROGRESS_MLP_RESIDUAL_H */
