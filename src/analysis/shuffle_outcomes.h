#ifndef STEPADV_SHUFFLE_OUTCOMES_H
#define STEPADV_SHUFFLE_OUTCOMES_H

#include "group/group.h"

/*
 * A copy in which the judged rollouts that have steps got each other's outcomes (their returns and
 * successes): those of one policy each other's, in an order that is a hash of their ids, the group's steps and returns, the
 * seed and `shuffle`.  The whole return comes with the last step.  Of several policies each return is
 * less the mean of its policy's.  Shuffle 0 leaves every rollout its own, and its steps their rewards.
 */
extern RolloutGroup *shuffle_outcomes(const RolloutGroup *datum, int32 shuffle, int64 seed);

#endif							/* STEPADV_SHUFFLE_OUTCOMES_H */
