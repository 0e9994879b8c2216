/*
 * identity.h
 *		Dense numbers for the states, and for the state-action pairs, of a group.
 *
 * Numbers are given in the order of first appearance, so they are the same
 * on any machine and by any plan.  A NULL state is a state of its own
 * at each step, a NULL action an action of its own.
 */
#ifndef STEPADV_IDENTITY_H
#define STEPADV_IDENTITY_H

#include "group/facts.h"

typedef struct Identities
{
	uint32		n;
	int32	   *of_step;		/* NO_IDENTITY for steps that take no part */
	uint32	   *first_step;		/* by identity */
} Identities;

#define NO_IDENTITY (-1)

/* States of the steps of judged rollouts. */
extern void number_states(const GroupColumns *group, const RolloutFacts *facts, Identities *states);

/*
 * The same at two levels, of a group with coarse_state: every fine state is a state of one coarse state.  A step without
 * a coarse_state has one of its own, one without a state a fine state of its own.
 */
extern void number_levels(const GroupColumns *group, const RolloutFacts *facts, Identities *coarse, Identities *fine);

/*
 * The same, and the states in which the rollouts that are not at_goal ended: a
 * rollout's entry of the result is the one that its last step's next_state
 * names, or NO_IDENTITY.  A state without steps has a first_step
 * that led to it.
 */
extern int32 *number_states_and_ends(const GroupColumns *group, const RolloutFacts *facts, const bool *at_goal,
									 Identities *states);

/*
 * The same of the states in which rollouts were cut off: a judged rollout that is
 * truncated, and of which no row has success, which is to have ended,
 * has as its entry the state that its last step's next_state names, if any judged
 * rollout took a step there; every other has NO_IDENTITY.
 */
extern int32 *number_states_and_cuts(const GroupColumns *group, const RolloutFacts *facts, Identities *states);

/*
 * By step: the state that the rollout's next step is in.  The last step of a
 * rollout leads to the rollout's entry in `end` or, if that is NULL, to none.
 */
extern int32 *find_next_states(const GroupColumns *group, const Identities *states, const int32 *end);

/* Pairs of such a state and the action taken in it. */
extern void number_pairs(const GroupColumns *group, const Identities *states, Identities *pairs);

/*
 * Edges: such a pair and the state that the rollout's next step is in.  The
 * last step of a rollout leads to none: its edges end the tree.
 */
extern void number_edges(const GroupColumns *group, const Identities *states, const Identities *pairs,
						 Identities *edges);

/* The same with the state, or another value, that each step leads to given. */
extern void number_transitions(const GroupColumns *group, const Identities *pairs, const int32 *next,
							   Identities *edges);

/*
 * Prefixes: what a rollout did from its first step to this one, judged rollouts
 * only.
 */
extern void number_prefixes(const GroupColumns *group, const RolloutFacts *facts, Identities *prefixes);

/*
 * Histories one state longer: that of the step before, which `shorter` numbers,
 * and this step's state.  A rollout's first step has none.
 */
extern void number_extensions(const GroupColumns *group, const Identities *shorter, const Identities *states,
							  Identities *longer);

/*
 * Histories: a state and the set of distinct pairs that its rollout went through before the
 * step, in any order.  A pair whose action is NULL enters no set.  Sets are distinguished by
 * the sums of 64-bit hashes of what is in them.
 */
extern void number_histories(const GroupColumns *group, const Identities *states, const Identities *pairs,
							 Identities *histories);

/*
 * Pairs of a fine state, as of a history, and the action, where each fine state is part of one state; in the order of
 * fine states.
 */
extern void number_fine_pairs(const GroupColumns *group, const Identities *fine, const Identities *pairs,
							  Identities *fine_pairs);

/* Actions of all steps, in all states. */
extern void number_actions(const GroupColumns *group, Identities *actions);

/* In the order of VISIT_PARAMETER's choices. */
typedef enum Visit
{
	VISIT_EVERY,
	VISIT_FIRST
} Visit;

/*
 * Which steps count as visits of their identity, 1 or 0: every one, or the
 * first in each rollout.
 */
extern uint32 *find_visits(const GroupColumns *group, const Identities *identities, Visit which);

/* The same by what each counts: the weight of its rollout. */
extern double *weigh_visits(const GroupColumns *group, const RolloutFacts *facts, const Identities *identities,
							Visit which);

/* Visits by identity; visit NULL: every step is one. */
extern uint32 *count_visits(const GroupColumns *group, const Identities *identities, const uint32 *visit);

#endif							/* STEPADV_IDENTITY_H */
