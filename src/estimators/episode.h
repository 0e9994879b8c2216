#ifndef STEPADV_EPISODE_H
#define STEPADV_EPISODE_H

#include "estimators/normalise.h"
#include "group/facts.h"

/* The second choice of WEIGHTING_PARAMETER. */
#define WEIGHTING_STEP 1

/*
 * The return of each judged rollout, normalized over the group and repeated on its steps.  With by_step, a
 * rollout counts once per step in the statistics. baseline, unless NULL, receives what was subtracted.
 */
extern void episode_advantages(const GroupColumns *group, const RolloutFacts *facts, bool by_step,
							   const NormaliseOptions *options, double *advantage, double *baseline);

#endif							/* STEPADV_EPISODE_H */
