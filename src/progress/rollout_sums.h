/*
 * rollout_sums.h
 *		Sums of feature vectors by rollout, from rows in any order.
 *
 * What an estimator of progress needs of a rollout is the sum of its steps'
 * features, their number and the outcome: steps add up, in any process.
 */
#ifndef STEPADV_ROLLOUT_SUMS_H
#define STEPADV_ROLLOUT_SUMS_H

#include "progress/sparse_sums.h"

typedef struct RolloutSum
{
	int64		rollout_id;
	int64		n_steps;
	double		outcome;		/* NaN: not known yet */
	uint32		number;			/* from 0 on, in the order in which rollouts came */
	char		status;			/* of the hash table's slot */
} RolloutSum;

typedef struct RolloutSums RolloutSums;

extern RolloutSums *rollout_sums_create(MemoryContext context);

/*
 * A step of a rollout; the outcome is NaN where it is not known.  All steps are of
 * one kind; error if dense features of another have another number of elements, or
 * the rollout has another outcome already.
 */
extern void rollout_sums_dense_step(RolloutSums *sums, int64 rollout_id, const Features *features, double outcome);
extern void rollout_sums_sparse_step(RolloutSums *sums, int64 rollout_id, const SparseFeatures *features, double outcome);

/* That of dense features, or this. */
extern int	rollout_sums_dimension(const RolloutSums *sums);

#define SPARSE_DIMENSION (-1)

/* The judged rollouts in the order of their ids, so that nothing depends on that of the rows. */
extern RolloutSum **rollout_sums_judged(RolloutSums *sums, uint64 *n);

/* The summed features of one of them, without zeros of each step; valid until the next step. */
extern SparseSum rollout_sums_features(const RolloutSums *sums, const RolloutSum *rollout);

#endif							/* STEPADV_ROLLOUT_SUMS_H */
