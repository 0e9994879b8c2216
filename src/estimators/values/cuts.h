/*
 * cuts.h
 *		Rollouts that were cut off, and the states that they were cut off in.
 */
#ifndef STEPADV_CUTS_H
#define STEPADV_CUTS_H

#include "estimators/identity.h"

/*
 * Of cuts, as number_states_and_cuts finds them, those that lead to states from
 * which no end is reached, along any rollout,
 * become ends: undiscounted, such states would have any value.  by_return: a step is followed to
 * where its rollout was cut off, else to the state of the next step.
 */
extern void drop_endless_cuts(const GroupColumns *group, const Identities *states, bool by_return, int32 *cut);

#endif							/* STEPADV_CUTS_H */
