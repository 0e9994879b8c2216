#ifndef STEPADV_ELIMINATION_H
#define STEPADV_ELIMINATION_H

#include "estimators/values/growing_lists.h"

#define NO_NODE			(-1)

/* An edge, stored in the row of the node that it leads from.  Columns list only the nodes that edges come from. */
typedef struct Entry
{
	double		weight;
	int32		node;
} Entry;

/* The unknowns of a component, numbered within it, are called nodes. */
typedef struct ComponentSolver
{
	int32	   *node_of;		/* by unknown; NO_NODE: not in the component */

	/* by node, with room for n_room of them */
	uint32		n_room;
	uint32		n;
	GrowingList *row;			/* of Entry: its edges */
	GrowingList *column;		/* of int32: sources of edges to it, including some eliminated ones */
	double	   *leak;
	double	   *constant;
	double	   *value;
	uint32	   *n_sources;		/* number of sources that are not eliminated */
	bool	   *gone;			/* is it eliminated? */
	int32	   *order;			/* in the order of elimination */
	uint32		n_gone;

	/* nodes that are not eliminated, in doubly linked lists by the product of their numbers of edges */
	uint32		n_buckets;
	int32	   *bucket;			/* the first node of each */
	int32	   *next;
	int32	   *previous;
	uint32		lowest;			/* all lower ones are empty */

	uint32	   *place;			/* scratch: the place of each node in a row, from 1 */
	ListPool	entries;
	ListPool	sources;
	Size		n_entries;		/* in rows of nodes that are not eliminated */
	uint64		work;
} ComponentSolver;

#define ROW(solver, node)		((Entry *) (solver)->entries.items + (solver)->row[node].start)
#define COLUMN(solver, node)	((int32 *) (solver)->sources.items + (solver)->column[node].start)

/* Larger products share the last bucket. */
static inline uint32
count_buckets(uint32 n)
{
	return n + 64;
}

/* Are the remaining nodes few, with edges between many of them? */
extern bool rest_is_dense(const ComponentSolver *solver);

/* Eliminate nodes, recording them in order, until none is left, the rest is dense or the rows fill too much. */
extern void eliminate(ComponentSolver *solver, bool sparsely);

#endif							/* STEPADV_ELIMINATION_H */
