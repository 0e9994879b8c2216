#ifndef STEPADV_SHUFFLE_OUTCOMES_H
#define STEPADV_SHUFFLE_OUTCOMES_H

#include "group/group.h"

/*
 * A copy in which the outcomes (returns and successes) of judged rollouts with steps are shuffled among those of
 * the same policy, in the order of a hash of their ids, the group's steps and returns, the seed and `shuffle`.
 * The whole return becomes the reward of the last step.  With several policies, the mean of a policy's returns is
 * subtracted from each.  Shuffle 0 leaves outcomes and rewards as they are.
 */
extern RolloutGroup *shuffle_outcomes(const RolloutGroup *datum, int32 shuffle, int64 seed);

#endif							/* STEPADV_SHUFFLE_OUTCOMES_H */
