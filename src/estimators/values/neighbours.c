/*
 * neighbours.c
 *		The adjacency lists of a group's graph, by a counting sort of its steps.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/identity.h"
#include "estimators/values/neighbours.h"

void
find_neighbours(const GroupColumns *group, uint32 n_nodes, const int32 *from, const int32 *to,
				const double *cost, Adjacency *adjacency)
{
	uint32	   *first = ALLOCATE_ZEROED_ARRAY(uint32, (Size) n_nodes + 2);
	uint32	   *fill = first + 1;

	/*
	 * Counts are stored two entries later, so their running sum is one entry late.  It is in place once
	 * filling has moved each entry to the end of its node's neighbors.
	 */
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (from[i] != NO_IDENTITY && to[i] != NO_IDENTITY)
			first[from[i] + 2]++;
	}
	for (uint32 v = 2; v < n_nodes + 2; v++)
		first[v] += first[v - 1];
	CHECK_FOR_INTERRUPTS();

	adjacency->first = first;
	adjacency->neighbour = cost ? NULL : ALLOCATE_ARRAY(int32, first[n_nodes + 1]);
	adjacency->priced = cost ? ALLOCATE_ARRAY(PricedNeighbour, first[n_nodes + 1]) : NULL;
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (from[i] != NO_IDENTITY && to[i] != NO_IDENTITY)
		{
			uint32		place = fill[from[i]]++;

			if (cost)
				adjacency->priced[place] = (PricedNeighbour) {known_cost(cost[i]), to[i]};
			else
				adjacency->neighbour[place] = to[i];
		}
	}
	CHECK_FOR_INTERRUPTS();
}

void
free_neighbours(Adjacency *adjacency)
{
	pfree(adjacency->first);
	if (adjacency->neighbour)
		pfree(adjacency->neighbour);
	if (adjacency->priced)
		pfree(adjacency->priced);
}
