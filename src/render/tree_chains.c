/*
 * tree_chains.c
 *		Where one rollout goes on alone: chains of edges of a rollout tree.
 *
 * A tree of long rollouts is mostly such chains: all that is to be seen of one is
 * where it leaves the others, and how it ends.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "render/tree_chains.h"

/* The edges of a state. */
typedef struct Passage
{
	uint32		n_in;
	uint32		n_out;
	uint32		visits;			/* of all of them */
	int32		out;			/* the one that leaves it, if there is one */
} Passage;

static Passage *
find_passages(const RolloutTree *tree, const int32 *next_state)
{
	Passage    *passages = ALLOCATE_ZEROED_ARRAY(Passage, tree->table.states.n);

	for (uint32 e = 0; e < tree->edges.n; e++)
	{
		Passage    *from = &passages[edge_state(tree, e)];

		from->n_out++;
		from->visits += tree->visits[e];
		from->out = e;
		if (next_state[e] != NO_IDENTITY)
		{
			passages[next_state[e]].n_in++;
			passages[next_state[e]].visits += tree->visits[e];
		}
		CHECK_ONCE_IN_A_WHILE(e);
	}
	return passages;
}

uint32 *
tree_fold_chains(const RolloutTree *tree, const bool *starts, int32 *next_state)
{
	Passage    *passages = find_passages(tree, next_state);
	uint32	   *n_more = ALLOCATE_ZEROED_ARRAY(uint32, tree->edges.n);
	bool	   *passed = ALLOCATE_ZEROED_ARRAY(bool, tree->table.states.n);

	/* A loop is an edge in and an edge out: such a state has two of one kind. */
	for (uint32 s = 0; s < tree->table.states.n; s++)
		passed[s] = passages[s].n_in == 1 && passages[s].n_out == 1 && passages[s].visits == 2 && !starts[s];
	for (uint32 e = 0; e < tree->edges.n; e++)
	{
		/* Nothing leads into a ring of such states, so that there is none. */
		if (passed[edge_state(tree, e)])
			continue;
		while (next_state[e] != NO_IDENTITY && passed[next_state[e]])
		{
			int32		following = passages[next_state[e]].out;

			n_more[e]++;
			n_more[following] = HIDDEN_EDGE;
			next_state[e] = next_state[following];
		}
		CHECK_ONCE_IN_A_WHILE(e);
	}
	pfree(passages);
	pfree(passed);
	return n_more;
}
