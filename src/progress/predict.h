/*
 * predict.h
 *		What a model says a step contributed.
 */
#ifndef STEPADV_PREDICT_H
#define STEPADV_PREDICT_H

#include "utils/array.h"

#include "progress/value.h"

/* rollout_id is for the error messages, or NULL where it is not known. */
extern double progress_contribution(const ProgressValue *model, ArrayType *array, const int64 *rollout_id);

#endif							/* STEPADV_PREDICT_H */
