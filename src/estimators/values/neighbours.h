/*
 * neighbours.h
 *		The nodes to which the steps of a group lead, by node.
 */
#ifndef STEPADV_NEIGHBOURS_H
#define STEPADV_NEIGHBOURS_H

#include "group/group.h"

typedef struct PricedNeighbour
{
	double		cost;
	int32		node;
} PricedNeighbour;

/*
 * The neighbors of node v are those at first[v] up to first[v + 1], exclusive, in one of two arrays: with
 * costs next to the nodes, as both are used together, or without costs.
 */
typedef struct Adjacency
{
	uint32	   *first;
	int32	   *neighbour;
	PricedNeighbour *priced;
} Adjacency;

/*
 * Each step with both a from and a to makes to a neighbor of from, by a counting sort on from; with the step's
 * cost unless cost is NULL.
 */
extern void find_neighbours(const GroupColumns *group, uint32 n_nodes, const int32 *from, const int32 *to,
							const double *cost, Adjacency *adjacency);
extern void free_neighbours(Adjacency *adjacency);

/* The cost of a step: 1 if not given. */
static inline double
known_cost(double cost)
{
	return isnan(cost) ? 1 : cost;
}

static inline double
step_cost(const GroupColumns *group, uint32 step)
{
	return group->cost == NULL ? 1 : known_cost(group->cost[step]);
}

#endif							/* STEPADV_NEIGHBOURS_H */
