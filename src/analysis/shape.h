/*
 * shape.h
 *		What rollouts do again.
 */
#ifndef STEPADV_SHAPE_H
#define STEPADV_SHAPE_H

#include "group/facts.h"

/* By step, 1 where the rollout did not take this action in this state before; judged or not. */
extern uint32 *first_times(const GroupColumns *group, const RolloutFacts *facts);

#endif							/* STEPADV_SHAPE_H */
