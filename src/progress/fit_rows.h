#ifndef STEPADV_FIT_ROWS_H
#define STEPADV_FIT_ROWS_H

#include "progress/rollout_sums.h"

typedef struct FitRow
{
	const double *x;			/* the features summed over the steps, without zeros */
	const int32 *column;		/* of each, ascending */
	uint32		n;
	double		outcome;
	int64		rollout_id;
} FitRow;

typedef struct FitRows
{
	FitRow	   *row;
	uint64		n;
	int64		n_steps;
	int			dimension;		/* columns */
	const int32 *place;			/* of each column, ascending; NULL: dense features */
} FitRows;

/* rollouts: judged ones of sums, at least one; rows have the same order. */
extern FitRows fit_rows_of(RolloutSums *sums, RolloutSum *const *rollouts, uint64 n);

#endif							/* STEPADV_FIT_ROWS_H */
