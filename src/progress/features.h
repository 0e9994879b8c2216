/*
 * features.h
 *		The feature vector of a step: real[], one dimension, finite.
 */
#ifndef STEPADV_FEATURES_H
#define STEPADV_FEATURES_H

#include "utils/array.h"

typedef struct Features
{
	const float *x;
	int			n;
} Features;

/*
 * Read an array.  rollout_id is for the error messages, or NULL where it is not
 * known.  Whether the numbers are finite is left to the loop that reads them:
 * it calls features_refuse where they are not.
 */
extern Features features_open(ArrayType *array, const int64 *rollout_id);
extern _Noreturn void features_refuse(const Features *features, const int64 *rollout_id);

#endif							/* STEPADV_FEATURES_H */
