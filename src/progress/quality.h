/*
 * quality.h
 *		How well contributions add up to outcomes.
 */
#ifndef STEPADV_PROGRESS_QUALITY_H
#define STEPADV_PROGRESS_QUALITY_H

#include "access/tupdesc.h"
#include "fmgr.h"

#include "progress/rollout_sums.h"

/* Judged rollouts with the sums of their contributions. */
typedef struct Predictions
{
	uint64		n;
	RolloutSum *const *rollouts;
	const double *predicted;
} Predictions;

/* Of at least one rollout: a row of type progress_score. */
extern Datum quality_row(const Predictions *predictions, TupleDesc desc);

/* The same: an array of rows of type progress_bin. */
extern Datum calibration_rows(const Predictions *predictions, TupleDesc desc);

#endif							/* STEPADV_PROGRESS_QUALITY_H */
