/*
 * components.c
 *		Tarjan's algorithm, without recursion: a rollout may have a million steps.  Linear in nodes and edges.
 *
 * The path of the search is stored in arrays: parent[v] is the node before v, at[v] the next edge to follow.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/values/components.h"

#define NO_NODE		(-1)
#define NOT_SEEN	0
#define FINISHED	UINT32_MAX

typedef struct ComponentSearch
{
	uint32		n_nodes;
	const uint32 *first;
	const int32 *target;
	uint32	   *order;			/* when a node was seen, from 1; NOT_SEEN; FINISHED */
	uint32	   *low;			/* lowest order reached from it */
	uint32	   *at;
	int32	   *parent;
	int32	   *open;			/* stack of nodes that are seen and not finished */
	uint32		n_open;
	uint32		n_seen;
	uint32		n_finished;
	Components *found;
} ComponentSearch;

static void
enter_node(ComponentSearch *search, int32 node, int32 parent)
{
	search->order[node] = search->low[node] = ++search->n_seen;
	search->at[node] = search->first[node];
	search->parent[node] = parent;
	search->open[search->n_open++] = node;
}

/* All nodes reached from this one are known: close its component if it is the root. */
static void
leave_node(ComponentSearch *search, int32 node)
{
	int32		member;

	if (search->low[node] != search->order[node])
		return;
	do
	{
		member = search->open[--search->n_open];
		search->order[member] = FINISHED;
		search->found->member[search->n_finished++] = member;
	} while (member != node);
	search->found->first[++search->found->n] = search->n_finished;
}

static void
search_from(ComponentSearch *search, int32 root)
{
	int32		node = root;

	enter_node(search, root, NO_NODE);
	while (node != NO_NODE)
	{
		int32		target;

		CHECK_FOR_INTERRUPTS();
		if (search->at[node] == search->first[node + 1])
		{
			int32		parent = search->parent[node];

			if (parent != NO_NODE)
				search->low[parent] = Min(search->low[parent], search->low[node]);
			leave_node(search, node);
			node = parent;
			continue;
		}
		target = search->target[search->at[node]++];
		if ((uint32) target >= search->n_nodes)
			continue;
		if (search->order[target] == NOT_SEEN)
		{
			enter_node(search, target, node);
			node = target;
		}
		else if (search->order[target] != FINISHED)
			search->low[node] = Min(search->low[node], search->order[target]);
	}
}

void
find_components(uint32 n_nodes, const uint32 *first, const int32 *target, Components *components)
{
	ComponentSearch search = {n_nodes, first, target};

	components->n = 0;
	components->first = ALLOCATE_ARRAY(uint32, (Size) n_nodes + 1);
	components->first[0] = 0;
	components->member = ALLOCATE_ARRAY(int32, n_nodes);
	search.found = components;
	search.order = ALLOCATE_ZEROED_ARRAY(uint32, n_nodes);
	search.low = ALLOCATE_ARRAY(uint32, n_nodes);
	search.at = ALLOCATE_ARRAY(uint32, n_nodes);
	search.parent = ALLOCATE_ARRAY(int32, n_nodes);
	search.open = ALLOCATE_ARRAY(int32, n_nodes);
	for (uint32 v = 0; v < n_nodes; v++)
		if (search.order[v] == NOT_SEEN)
			search_from(&search, (int32) v);
	pfree(search.order);
	pfree(search.low);
	pfree(search.at);
	pfree(search.parent);
	pfree(search.open);
}

void
free_components(Components *components)
{
	pfree(components->first);
	pfree(components->member);
}
