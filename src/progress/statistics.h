/*
 * statistics.h
 *		Sums over rollouts to sufficient statistics, and these to a model.
 */
#ifndef STEPADV_PROGRESS_STATISTICS_H
#define STEPADV_PROGRESS_STATISTICS_H

#include "progress/rollout_sums.h"
#include "progress/value.h"

/* All values in native form. */

/* Of the judged rollouts; NULL without any. */
extern ProgressValue *statistics_of_sums(RolloutSums *sums);

/* Of n rollouts, at least one. */
extern ProgressValue *statistics_of_rollouts(RolloutSum *const *rollouts, uint64 n, int dimension);

/* Add those of other rollouts with as many features. */
extern void statistics_add(ProgressValue *statistics, const ProgressValue *other);

extern ProgressValue *solve_statistics(const ProgressValue *statistics, double lambda, bool intercept);

#endif							/* STEPADV_PROGRESS_STATISTICS_H */
