/*
 * rollout_sums.h
 *		Sums of feature vectors by rollout, from rows in any order.
 *
 * An estimator of progress needs only the sum of the features of a rollout's steps,
 * their number and the outcome.
 */
#ifndef STEPADV_ROLLOUT_SUMS_H
#define STEPADV_ROLLOUT_SUMS_H

#include "progress/sparse_sums.h"

typedef struct RolloutSum
{
	int64		rollout_id;
	int64		n_steps;
	double		outcome;		/* NaN: not known yet */
	uint32		number;			/* from 0, in the order of arrival */
	char		status;			/* of the hash table's slot */
} RolloutSum;

typedef struct RolloutSums RolloutSums;

extern RolloutSums *rollout_sums_create(MemoryContext context);

/*
 * Add a step of a rollout; outcome: NaN if unknown.  All steps must be dense, or all
 * sparse; error if numbers of dense features differ, or outcomes of a rollout do.
 */
extern void rollout_sums_dense_step(RolloutSums *sums, int64 rollout_id, const Features *features, double outcome);
extern void rollout_sums_sparse_step(RolloutSums *sums, int64 rollout_id, const SparseFeatures *features, double outcome);

/* The number of dense features, or SPARSE_DIMENSION. */
extern int	rollout_sums_dimension(const RolloutSums *sums);

#define SPARSE_DIMENSION (-1)

/* The judged rollouts in the order of their ids, so that results do not depend on the order of rows. */
extern RolloutSum **rollout_sums_judged(RolloutSums *sums, uint64 *n);

/* The summed features of a rollout; indices where all its steps have 0 are left out.  Valid until the next step. */
extern SparseSum rollout_sums_features(const RolloutSums *sums, const RolloutSum *rollout);

#endif							/* STEPADV_ROLLOUT_SUMS_H */
