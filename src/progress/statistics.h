/*
 * statistics.h
 *		Sums over rollouts to sufficient statistics, and these to a model.
 */
#ifndef STEPADV_PROGRESS_STATISTICS_H
#define STEPADV_PROGRESS_STATISTICS_H

#include "progress/rollout_sums.h"
#include "progress/value.h"

/* Of the judged rollouts; NULL without any.  Both values in native form. */
extern ProgressValue *statistics_of_sums(RolloutSums *sums);

extern ProgressValue *solve_statistics(const ProgressValue *statistics, double lambda, bool intercept);

#endif							/* STEPADV_PROGRESS_STATISTICS_H */
