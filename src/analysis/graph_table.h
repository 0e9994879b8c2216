/*
 * graph_table.h
 *		What is told about the nodes and the edges of a state graph.
 */
#ifndef STEPADV_GRAPH_TABLE_H
#define STEPADV_GRAPH_TABLE_H

#include "estimators/graphgpo.h"
#include "group/facts.h"
#include "parameters.h"

/* Of graph_edges, in this order. */
#define GRAPH_PARAMETERS \
	DISCOUNT_PARAMETER, SUCCESS_REWARD_PARAMETER, EPSILON_PARAMETER, CONVENTION_PARAMETER, \
	SUCCESS_ABOVE_PARAMETER, NORMALISE_PARAMETER, EPSILON_OF_PARAMETER

enum
{
	GRAPH_DISCOUNT, GRAPH_SUCCESS_REWARD, GRAPH_EPSILON, GRAPH_CONVENTION, GRAPH_SUCCESS_ABOVE,
	GRAPH_NORMALISE, GRAPH_EPSILON_OF,
	N_GRAPH_PARAMETERS
};

/* By node. */
typedef struct GraphNodes
{
	uint32	   *visits;			/* times a rollout was in it */
	uint32	   *rollouts;		/* rollouts that were */
	bool	   *is_start;		/* some rollout began in it */
} GraphNodes;

/* Steps with the same state, action and node they led to are one edge. */
typedef struct GraphEdges
{
	Identities	edges;
	uint32	   *visits;			/* steps on it */
	uint32	   *rollouts;
	double	   *cost;			/* least of its steps */
	double	   *step_reward;	/* of graphgpo, mean over the steps */
	double	   *advantage;		/* graph advantage, likewise */
} GraphEdges;

extern void graph_nodes_find(const GroupColumns *group, const RolloutFacts *facts, const StateGraph *graph,
							 GraphNodes *nodes);
extern void graph_edges_find(const GroupColumns *group, const RolloutFacts *facts, const StateGraph *graph,
							 const ParameterValue *parameters, GraphEdges *edges);

/* Whether a step was taken in this node: its states.first_step is then one. */
extern bool node_has_step(const StateGraph *graph, int32 node);

#endif							/* STEPADV_GRAPH_TABLE_H */
