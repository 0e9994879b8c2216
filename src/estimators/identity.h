/*
 * identity.h
 *		Dense numbers for the states, and for the state-action pairs, of a group.
 *
 * Numbers are given in the order of first appearance, so they are the same
 * whatever machine or plan made the group.  A NULL state is a state of its own
 * at each step, a NULL action an action of its own.
 */
#ifndef STEPADV_IDENTITY_H
#define STEPADV_IDENTITY_H

#include "estimator.h"

typedef struct Identities
{
	uint32		n;
	int32	   *of_step;		/* NO_IDENTITY for steps that take no part */
	uint32	   *first_step;		/* by identity */
} Identities;

#define NO_IDENTITY (-1)

/* States of the steps of judged rollouts. */
extern void number_states(const Group *group, const RolloutFacts *facts, Identities *states);

/* Pairs of such a state and the action taken in it. */
extern void number_pairs(const Group *group, const Identities *states, Identities *pairs);

/*
 * Edges: such a pair and the state that the rollout's next step is in.  The
 * last step of a rollout leads to none: its edges end the tree.
 */
extern void number_edges(const Group *group, const Identities *states, const Identities *pairs,
						 Identities *edges);

/* Actions of all steps, whatever the state. */
extern void number_actions(const Group *group, Identities *actions);

#endif							/* STEPADV_IDENTITY_H */
