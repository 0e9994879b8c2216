/*
 * graph_table.h
 *		What is told about the nodes of a state graph.
 */
#ifndef STEPADV_GRAPH_TABLE_H
#define STEPADV_GRAPH_TABLE_H

#include "estimators/graph.h"
#include "group/facts.h"

/* By node. */
typedef struct GraphNodes
{
	uint32	   *visits;			/* times a rollout was in it */
	uint32	   *rollouts;		/* rollouts that were */
	bool	   *is_start;		/* some rollout began in it */
} GraphNodes;

extern void graph_nodes_find(const GroupColumns *group, const RolloutFacts *facts, const StateGraph *graph,
							 GraphNodes *nodes);

#endif							/* STEPADV_GRAPH_TABLE_H */
