/*
 * graph.h
 *		The state graph of a group, and distances to the goal in it.
 *
 * Its nodes are the states of judged rollouts, including states in which a rollout is known to have ended, and
 * a last node GOAL.  Each step is an edge to the next step's state.  The last step of a successful rollout
 * leads to GOAL, that of any other to its next_state, or, if that is not given, to no node.
 */
#ifndef STEPADV_GRAPH_H
#define STEPADV_GRAPH_H

#include "estimators/identity.h"
#include "estimators/values/neighbours.h"
#include "group/facts.h"

typedef struct StateGraph
{
	Identities	states;			/* nodes 0 to states.n - 1 */
	uint32		n_nodes;		/* including GOAL, the last */
	int32	   *next;			/* by step: the node it leads to, or NO_IDENTITY */
	int32	   *end;			/* by rollout: the node it ended in, or NO_IDENTITY */
	double	   *distance;		/* by node: least cost to GOAL, or INFINITY */
	double		beyond;			/* 1 more than the largest finite distance */
	bool		has_goal;		/* some rollout succeeded */
} StateGraph;

extern void state_graph_build(const GroupColumns *group, const RolloutFacts *facts, double success_above,
							  StateGraph *graph);

/* By node: is it on a cycle? */
extern bool *find_cycles(const GroupColumns *group, const StateGraph *graph);

/* By node: did a successful rollout visit it? */
extern bool *find_successful_nodes(const GroupColumns *group, const StateGraph *graph);

static inline int32
graph_goal(const StateGraph *graph)
{
	return (int32) graph->states.n;
}

/* For display: NaN, which becomes NULL, if GOAL cannot be reached. */
static inline double
known_distance(const StateGraph *graph, int32 node)
{
	return node == NO_IDENTITY || isinf(graph->distance[node]) ? NAN : graph->distance[node];
}

/* For computations: slightly more than any finite distance if GOAL cannot be reached. */
static inline double
bounded_distance(const StateGraph *graph, int32 node)
{
	return node == NO_IDENTITY || isinf(graph->distance[node]) ? graph->beyond : graph->distance[node];
}

#endif							/* STEPADV_GRAPH_H */
