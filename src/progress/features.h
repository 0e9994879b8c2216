/*
 * features.h
 *		The feature vector of a step: real[], one dimension, finite; or, if most
 *		elements are 0, integer[] of the indices of the others, counted from 1, and
 *		real[] of the values.
 */
#ifndef STEPADV_FEATURES_H
#define STEPADV_FEATURES_H

#include "utils/array.h"

/* The largest index of sparse features: a table by index then has at most 128 MB. */
#define MOST_PLACES 16777216

typedef struct Features
{
	const float *x;
	int			n;
} Features;

/*
 * Read an array.  rollout_id is for error messages, NULL if unknown.  The loop that
 * reads the numbers must check that they are finite, and call features_refuse if not.
 */
extern Features features_open(ArrayType *array, const int64 *rollout_id);
extern _Noreturn void features_refuse(const Features *features, const int64 *rollout_id);

typedef struct SparseFeatures
{
	const int32 *place;			/* ascending */
	const float *weight;
	int			n;
} SparseFeatures;

/* Read and check both arrays, including that the numbers are finite. */
extern SparseFeatures sparse_features_open(ArrayType *indices, ArrayType *weights, const int64 *rollout_id);

#endif							/* STEPADV_FEATURES_H */
