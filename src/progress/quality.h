/*
 * quality.h
 *		How well contributions add up to outcomes.
 */
#ifndef STEPADV_PROGRESS_QUALITY_H
#define STEPADV_PROGRESS_QUALITY_H

#include "fmgr.h"

#include "progress/rollout_sums.h"

/* A row of type progress_score for a function that returns one; NULL without judged rollouts. */
extern Datum quality_of_sums(FunctionCallInfo fcinfo, RolloutSums *sums);

#endif							/* STEPADV_PROGRESS_QUALITY_H */
