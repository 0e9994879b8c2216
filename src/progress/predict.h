/*
 * predict.h
 *		What a model says a step contributed.
 */
#ifndef STEPADV_PREDICT_H
#define STEPADV_PREDICT_H

#include "utils/array.h"

#include "progress/features.h"
#include "progress/value.h"

/* rollout_id is for the error messages, or NULL where it is not known. */
extern double progress_contribution(const ProgressValue *model, ArrayType *array, const int64 *rollout_id);

/* The same of sparse features. */
extern double progress_sparse_contribution(const ProgressValue *model, const SparseFeatures *features);

/* What the model adds to each step's contribution, and to the sum of a rollout's; one of them is 0. */
extern double progress_step_intercept(const ProgressValue *model);
extern double progress_rollout_intercept(const ProgressValue *model);

/* The outcome that a sum, of the contributions and the rollout's intercept, stands for. */
extern double progress_outcome(double sum, bool logistic);

#endif							/* STEPADV_PREDICT_H */
