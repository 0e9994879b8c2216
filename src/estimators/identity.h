/*
 * identity.h
 *		Dense numbers for the states and the state-action pairs of a group.
 *
 * Numbers are assigned in order of first appearance, so they do not depend on the machine or the plan.  A NULL
 * state is a different state at each step, a NULL action a different action.
 */
#ifndef STEPADV_IDENTITY_H
#define STEPADV_IDENTITY_H

#include "group/facts.h"

typedef struct Identities
{
	uint32		n;
	int32	   *of_step;		/* NO_IDENTITY for steps that are left out */
	uint32	   *first_step;		/* by identity */
} Identities;

#define NO_IDENTITY (-1)

/* The states of the steps of judged rollouts. */
extern void number_states(const GroupColumns *group, const RolloutFacts *facts, Identities *states);

/*
 * The same at two levels, for a group with coarse_state: each fine state belongs to one coarse state.  A step
 * without coarse_state has a coarse state of its own, one without state a fine state of its own.
 */
extern void number_levels(const GroupColumns *group, const RolloutFacts *facts, Identities *coarse, Identities *fine);

/*
 * The same, with the states in which rollouts that are not at_goal ended.  By rollout, the result is the state
 * given as next_state of its last step, or NO_IDENTITY.  For a state without steps, first_step is a step that
 * led to it.
 */
extern int32 *number_states_and_ends(const GroupColumns *group, const RolloutFacts *facts, const bool *at_goal,
									 Identities *states);

/*
 * The same, with the states in which rollouts were truncated.  By rollout, the result is the state given as
 * next_state of its last step, if the rollout is judged, truncated and not a success, and a judged rollout
 * took a step in that state; otherwise NO_IDENTITY.
 */
extern int32 *number_states_and_cuts(const GroupColumns *group, const RolloutFacts *facts, Identities *states);

/*
 * By step: the state of the rollout's next step.  The last step leads to the rollout's entry in end, or to
 * none if end is NULL.
 */
extern int32 *find_next_states(const GroupColumns *group, const Identities *states, const int32 *end);

/* Pairs of such a state and the action taken in it. */
extern void number_pairs(const GroupColumns *group, const Identities *states, Identities *pairs);

/*
 * Edges: such a pair, and the state of the rollout's next step.  The last step of a rollout leads to none;
 * these edges are leaves of the tree.
 */
extern void number_edges(const GroupColumns *group, const Identities *states, const Identities *pairs,
						 Identities *edges);

/* The same, given the state, or another value, that each step leads to. */
extern void number_transitions(const GroupColumns *group, const Identities *pairs, const int32 *next,
							   Identities *edges);

/* Prefixes: the actions of a rollout from its first step to this one; judged rollouts only. */
extern void number_prefixes(const GroupColumns *group, const RolloutFacts *facts, Identities *prefixes);

/*
 * Histories longer by one state: that of the step before, numbered by shorter, and this step's state.  The
 * first step of a rollout has none.
 */
extern void number_extensions(const GroupColumns *group, const Identities *shorter, const Identities *states,
							  Identities *longer);

/*
 * Histories: a state, and the set of distinct pairs of its rollout before this step, in any order.  Pairs with
 * a NULL action are not in the set.  Sets are compared by sums of 64-bit hashes of their members.
 */
extern void number_histories(const GroupColumns *group, const Identities *states, const Identities *pairs,
							 Identities *histories);

/* The actions of all steps, regardless of state. */
extern void number_actions(const GroupColumns *group, Identities *actions);

/* In the order of VISIT_PARAMETER's choices. */
typedef enum Visit
{
	VISIT_EVERY,
	VISIT_FIRST
} Visit;

/* Which steps count as visits of their identity, 1 or 0: all, or the first one in each rollout. */
extern uint32 *find_visits(const GroupColumns *group, const Identities *identities, Visit which);

/* The same with the weight of the rollout instead of 1. */
extern double *weigh_visits(const GroupColumns *group, const RolloutFacts *facts, const Identities *identities,
							Visit which);

/* Number of visits by identity. visit NULL: all steps. */
extern uint32 *count_visits(const GroupColumns *group, const Identities *identities, const uint32 *visit);

#endif							/* STEPADV_IDENTITY_H */
