/*
 * neighbours.h
 *		Where the steps of a group lead, gathered by node.
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
 * The neighbours of node v are those at first[v] up to first[v + 1], in one of
 * two arrays: with the cost beside the node, as both are wanted together, or
 * without.
 */
typedef struct Adjacency
{
	uint32	   *first;
	int32	   *neighbour;
	PricedNeighbour *priced;
} Adjacency;

/*
 * Every step with both a `from` and a `to` makes its `to` a neighbour of its
 * `from`, by a counting sort on `from`; with the step's cost, if `cost` is not NULL.
 */
extern void find_neighbours(const GroupColumns *group, uint32 n_nodes, const int32 *from, const int32 *to,
							const double *cost, Adjacency *adjacency);
extern void free_neighbours(Adjacency *adjacency);

/* What a step cost: 1 unless given. */
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
