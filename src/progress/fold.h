/*
 * fold.h
 *		Splitting rollouts by their group.
 */
#ifndef STEPADV_PROGRESS_FOLD_H
#define STEPADV_PROGRESS_FOLD_H

#include "hash.h"

/* The fold, 0 to folds - 1, that a group falls into. */
static inline int
fold_of_group(int64 group_id, int folds, int64 seed)
{
	uint64		bits = (uint64) hash_int64_onto(group_id, seed);

	return (int) (((bits >> 32) * (uint64) folds) >> 32);
}

#endif							/* STEPADV_PROGRESS_FOLD_H */
