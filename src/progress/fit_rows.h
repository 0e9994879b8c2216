/*
 * fit_rows.h
 *		What a linear fit reads: a row per rollout, dense or sparse.
 */
#ifndef STEPADV_FIT_ROWS_H
#define STEPADV_FIT_ROWS_H

#include "progress/rollout_sums.h"

typedef struct FitRow
{
	const double *x;			/* the features summed over the steps */
	const int32 *column;		/* of each; NULL: all columns in order */
	uint32		n;
	double		n_steps;
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

/* Some of the rows, from first to end; not a copy. */
extern FitRows fit_rows_part(const FitRows *rows, uint64 first, uint64 end);

/* Inner product of a row and a weight by column. */
extern double fit_row_dot(const FitRow *row, const double *weight);

/* sum += weight * row */
extern void fit_row_add(const FitRow *row, double weight, double *sum);

#endif							/* STEPADV_FIT_ROWS_H */
