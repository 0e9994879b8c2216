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
	const int32 *place;			/* of each column, ascending; NULL: they are dense features */
} FitRows;

/* Of judged rollouts of those sums, at least one, in their order. */
extern FitRows fit_rows_of(RolloutSums *sums, RolloutSum *const *rollouts, uint64 n);

#endif							/* STEPADV_FIT_ROWS_H */
