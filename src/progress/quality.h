/*
 * quality.h
 *		How well contributions add up to outcomes.
 */
#ifndef STEPADV_PROGRESS_QUALITY_H
#define STEPADV_PROGRESS_QUALITY_H

#include "access/tupdesc.h"

#include "progress/rollout_sums.h"

/* Of at least one judged rollout: a row of type progress_score. */
extern Datum quality_row(RolloutSum *const *rollouts, uint64 n, TupleDesc desc);

#endif							/* STEPADV_PROGRESS_QUALITY_H */
