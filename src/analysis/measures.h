#ifndef STEPADV_MEASURES_H
#define STEPADV_MEASURES_H

#include "group/facts.h"

/* By step, 1 where the rollout did not take this action in this state before; judged or not. */
extern uint32 *first_times(const GroupColumns *group, const RolloutFacts *facts);

/* By rollout the costs of its steps, of which one without a cost costs 1. */
extern double *sum_costs(const GroupColumns *group);

/* By rollout the distance from the goal of the state that it began in: NaN where that is none, or no way leads there. */
extern double *start_distances(const GroupColumns *group, RolloutFacts *facts, double success_above);

#endif							/* STEPADV_MEASURES_H */
