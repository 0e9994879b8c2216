/*
 * features.h
 *		The feature vector of a step: real[], one dimension, finite; or, where most
 *		of it is zeros, integer[] of the indices of the others, counted from 1, and
 *		real[] of the values.
 */
#ifndef STEPADV_FEATURES_H
#define STEPADV_FEATURES_H

#include "utils/array.h"

/* Places of sparse features count from 1; so many are a table of 128 MB at most. */
#define MOST_PLACES 16777216

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

typedef struct SparseFeatures
{
	const int32 *place;			/* ascending */
	const float *weight;
	int			n;
} SparseFeatures;

/* Read both arrays, likewise; an error where something is wrong. */
extern SparseFeatures sparse_features_open(ArrayType *indices, ArrayType *weights, const int64 *rollout_id);

#endif							/* STEPADV_FEATURES_H */
