/*
 * statistics.h
 *		Sums over rollouts to sufficient statistics, and these to a model.
 */
#ifndef STEPADV_PROGRESS_STATISTICS_H
#define STEPADV_PROGRESS_STATISTICS_H

#include "progress/least_squares.h"

/* All values in native form. */

/* Of the judged rollouts; NULL without any. */
extern ProgressValue *statistics_of_sums(RolloutSums *sums);

/* Of the rows of a problem, with its weights and targets; those of all rows are of one version. */
extern ProgressValue *statistics_of_rows(const LeastSquares *problem);

/* Add those of other rollouts with as many features, of the same version. */
extern void statistics_add(ProgressValue *statistics, const ProgressValue *other);

/* The model of a squared loss; rows say what the features' places are, NULL: they are dense. */
extern ProgressValue *solve_statistics(const ProgressValue *statistics, const FitRows *rows, const LinearFit *fit);

#endif							/* STEPADV_PROGRESS_STATISTICS_H */
