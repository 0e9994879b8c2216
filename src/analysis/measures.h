#ifndef STEPADV_MEASURES_H
#define STEPADV_MEASURES_H

#include "group/facts.h"

/* By step, 1 if the rollout did not take this action in this state before; rollouts need not be judged. */
extern uint32 *first_times(const GroupColumns *group, const RolloutFacts *facts);

/* By rollout, the sum of the costs of its steps; a step without a cost costs 1. */
extern double *sum_costs(const GroupColumns *group);

/* By rollout, the distance of its first state from the goal; NaN if not judged, without steps, or in a dead end. */
extern double *start_distances(const GroupColumns *group, RolloutFacts *facts, double success_above);

#endif							/* STEPADV_MEASURES_H */
