/*
 * tree.h
 *		The rollout tree: rtmc's table with the edges between its states.
 */
#ifndef STEPADV_TREE_H
#define STEPADV_TREE_H

#include "estimators/rtmc.h"
#include "group/facts.h"
#include "parameters.h"

typedef struct RolloutTree
{
	RtmcTable	table;
	Identities	edges;			/* (state, action, next state) */
	uint32	   *visits;			/* rollouts that took the edge */
	uint32	   *successes;		/* of these, how many succeeded */
	uint32	   *cut_off;		/* of the others, how many were cut off */
} RolloutTree;

/* cut_off: by rollout, or NULL. */
extern void rollout_tree_build(const GroupColumns *group, const RolloutFacts *facts,
							   const ParameterValue *parameters, const bool *cut_off,
							   RolloutTree *tree);

/* The state an edge leaves, the pair it belongs to. */
static inline int32
edge_state(const RolloutTree *tree, uint32 edge)
{
	return tree->table.states.of_step[tree->edges.first_step[edge]];
}

static inline int32
edge_pair(const RolloutTree *tree, uint32 edge)
{
	return tree->table.pairs.of_step[tree->edges.first_step[edge]];
}

/* The state an edge leads to, or NO_IDENTITY where rollouts end. */
extern int32 *edge_next_states(const GroupColumns *group, const RolloutTree *tree);

#endif							/* STEPADV_TREE_H */
