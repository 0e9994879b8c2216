/*
 * graph.c
 *		The state graph: its edges, distances to the goal, cycles.
 *
 * All functions take memory linear in the number of steps and do not recurse: a rollout may have a million
 * steps.
 */
#include "postgres.h"

#include "lib/pairingheap.h"
#include "miscadmin.h"

#include "arrays.h"
#include "estimators/graph.h"
#include "estimators/values/components.h"
#include "estimators/values/neighbours.h"
#include "group/facts.h"

/* ----------
 * Distances
 * ----------
 */

static void
refuse_cost(const GroupColumns *group, uint32 rollout, uint32 step)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("cost of rollout " INT64_FORMAT ", step %d is %g, not greater than zero",
					group->rollout_id[rollout], group->step_no[step], group->cost[step]),
			 errhint("Distances need positive costs. A step whose cost is NULL costs 1.")));
}

static void
refuse_distance(const GroupColumns *group, uint32 rollout, uint32 step)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("distance of rollout " INT64_FORMAT ", step %d to the goal is out of range for type double precision",
					group->rollout_id[rollout], group->step_no[step])));
}

/* Check the costs.  True if all are equal; *cost is then the common cost. */
static bool
costs_are_equal(const GroupColumns *group, const StateGraph *graph, double *cost)
{
	bool		equal = true;
	bool		first = true;

	*cost = 1;
	if (group->cost == NULL)
		return true;
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			if (graph->states.of_step[i] == NO_IDENTITY)
				continue;
			if (group->cost[i] <= 0)
				refuse_cost(group, r, i);
			if (first)
				*cost = step_cost(group, i);
			else if (step_cost(group, i) != *cost)
				equal = false;
			first = false;
		}
		CHECK_FOR_INTERRUPTS();
	}
	return equal;
}

/* Breadth-first search: it reaches nodes in the order of their distance. */
static void
measure_equal_costs(const Adjacency *sources, uint32 n_nodes, int32 goal, double cost, double *distance)
{
	int32	   *queue = ALLOCATE_ARRAY(int32, n_nodes);
	uint32		n_reached = 0;

	distance[goal] = 0;
	queue[n_reached++] = goal;
	for (uint32 head = 0; head < n_reached; head++)
	{
		int32		node = queue[head];

		for (uint32 e = sources->first[node]; e < sources->first[node + 1]; e++)
		{
			int32		source = sources->neighbour[e];
			double		found = distance[node] + cost;

			CHECK_ONCE_IN_A_WHILE(e);
			/* check_distances reports sums out of range. */
			if (!isinf(distance[source]) || isinf(found))
				continue;
			distance[source] = found;
			queue[n_reached++] = source;
		}
		if (head % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	pfree(queue);
}

typedef struct HeapNode
{
	pairingheap_node link;
	double		distance;
} HeapNode;

/* PostgreSQL's heap has its largest element on top.  Reverse the order to get the nearest node. */
static int
compare_heap_nodes(const pairingheap_node *a, const pairingheap_node *b, void *arg)
{
	double		x = ((const HeapNode *) a)->distance;
	double		y = ((const HeapNode *) b)->distance;

	/* All neighbors of a node may be compared in one call. */
	CHECK_FOR_INTERRUPTS();
	return x < y ? 1 : x > y ? -1 : 0;
}

/*
 * Dijkstra's algorithm.  A node is in the heap at most once, and is removed and added again if a shorter way
 * to it is found.  A node that has left the heap cannot become nearer, since costs are positive.
 */
static void
measure_unequal_costs(const Adjacency *sources, uint32 n_nodes, int32 goal, double *distance)
{
	HeapNode   *nodes = ALLOCATE_ZEROED_ARRAY(HeapNode, n_nodes);
	pairingheap *heap = pairingheap_allocate(compare_heap_nodes, NULL);

	StaticAssertStmt(offsetof(HeapNode, link) == 0, "a heap node starts with its link");
	distance[goal] = 0;
	pairingheap_add(heap, &nodes[goal].link);
	while (!pairingheap_is_empty(heap))
	{
		int32		node = (int32) ((HeapNode *) pairingheap_remove_first(heap) - nodes);

		/*
		 * The node now on top is most likely the next one.  In a large graph its neighbors are not in any
		 * cache, and fetching them takes as long as all other work for a node.
		 */
		if (!pairingheap_is_empty(heap))
			__builtin_prefetch(&sources->priced[sources->first[(HeapNode *) pairingheap_first(heap) - nodes]]);
		for (uint32 e = sources->first[node]; e < sources->first[node + 1]; e++)
		{
			int32		source = sources->priced[e].node;
			double		found = distance[node] + sources->priced[e].cost;

			if (found >= distance[source])
				continue;
			if (!isinf(distance[source]))
				pairingheap_remove(heap, &nodes[source].link);
			CHECK_ONCE_IN_A_WHILE(e);
			distance[source] = nodes[source].distance = found;
			pairingheap_add(heap, &nodes[source].link);
		}
		CHECK_FOR_INTERRUPTS();
	}
	pairingheap_free(heap);
	pfree(nodes);
}

/*
 * A step leads from a node at infinite distance to one at finite distance only if a sum of finite costs
 * overflowed.
 */
static void
check_distances(const GroupColumns *group, const StateGraph *graph)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			CHECK_ONCE_IN_A_WHILE(i);
			if (graph->next[i] != NO_IDENTITY && !isinf(graph->distance[graph->next[i]]) &&
				isinf(graph->distance[graph->states.of_step[i]]))
				refuse_distance(group, r, i);
		}
}

static void
measure_distances(const GroupColumns *group, StateGraph *graph)
{
	double		cost;
	bool		equal = costs_are_equal(group, graph, &cost);
	double		farthest = 0;

	graph->distance = ALLOCATE_ARRAY(double, graph->n_nodes);
	for (uint32 v = 0; v < graph->n_nodes; v++)
		graph->distance[v] = INFINITY;
	if (graph->has_goal)
	{
		Adjacency	sources;

		find_neighbours(group, graph->n_nodes, graph->next, graph->states.of_step, equal ? NULL : group->cost, &sources);
		if (equal)
			measure_equal_costs(&sources, graph->n_nodes, graph_goal(graph), cost, graph->distance);
		else
			measure_unequal_costs(&sources, graph->n_nodes, graph_goal(graph), graph->distance);
		free_neighbours(&sources);
		if (group->cost != NULL)
			check_distances(group, graph);
	}
	for (uint32 v = 0; v < graph->n_nodes; v++)
		if (!isinf(graph->distance[v]))
			farthest = Max(farthest, graph->distance[v]);
	graph->beyond = farthest + 1;
}

void
state_graph_build(const GroupColumns *group, const RolloutFacts *facts, double success_above, StateGraph *graph)
{
	bool	   *at_goal = ALLOCATE_ARRAY(bool, group->n_rollouts);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		at_goal[r] = facts->judged[r] && rollout_succeeded(group, facts, r, success_above);
	graph->end = number_states_and_ends(group, facts, at_goal, &graph->states);
	graph->n_nodes = graph->states.n + 1;
	graph->has_goal = false;
	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (at_goal[r] && group->n_rollout_steps[r] > 0)
		{
			graph->end[r] = graph_goal(graph);
			graph->has_goal = true;
		}
	graph->next = find_next_states(group, &graph->states, graph->end);
	pfree(at_goal);
	CHECK_FOR_INTERRUPTS();
	measure_distances(group, graph);
}

bool *
find_successful_nodes(const GroupColumns *group, const StateGraph *graph)
{
	bool	   *successful = ALLOCATE_ZEROED_ARRAY(bool, graph->n_nodes);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (graph->end[r] != graph_goal(graph))
			continue;
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
			successful[graph->states.of_step[i]] = true;
		CHECK_FOR_INTERRUPTS();
	}
	successful[graph_goal(graph)] = graph->has_goal;
	return successful;
}

/* ----------
 * Cycles
 * ----------
 */

/*
 * A node is on a cycle if its strongly connected component has a second node, or if a step leads from it to
 * itself.
 */
bool *
find_cycles(const GroupColumns *group, const StateGraph *graph)
{
	bool	   *on_cycle = ALLOCATE_ZEROED_ARRAY(bool, graph->n_nodes);
	Adjacency	targets;
	Components	components;

	find_neighbours(group, graph->n_nodes, graph->states.of_step, graph->next, NULL, &targets);
	find_components(graph->n_nodes, targets.first, targets.neighbour, &components);
	for (uint32 c = 0; c < components.n; c++)
		if (components.first[c + 1] - components.first[c] > 1)
			for (uint32 m = components.first[c]; m < components.first[c + 1]; m++)
				on_cycle[components.member[m]] = true;
	for (uint32 i = 0; i < group->n_steps; i++)
		if (graph->next[i] != NO_IDENTITY && graph->next[i] == graph->states.of_step[i])
			on_cycle[graph->next[i]] = true;
	free_neighbours(&targets);
	free_components(&components);
	return on_cycle;
}
