#ifndef STEPADV_ELIMINATION_H
#define STEPADV_ELIMINATION_H

#include "estimators/values/growing_lists.h"

#define NOBODY			(-1)

/* What a row leads to, or what leads to it (whose weights stand in its own row). */
typedef struct Entry
{
	double		weight;
	int32		node;
} Entry;

/* Numbers within the component are called nodes. */
typedef struct ComponentSolver
{
	int32	   *node_of;		/* by unknown; NOBODY outside the component */

	/* by node, room for n_room of them */
	uint32		n_room;
	uint32		n;
	GrowingList *row;			/* of Entry: the edges from it */
	GrowingList *column;		/* of int32: whose edges lead to it, and some that are gone */
	double	   *leak;
	double	   *constant;
	double	   *value;
	uint32	   *n_sources;		/* of those, the ones that are not gone */
	bool	   *gone;			/* eliminated */
	int32	   *order;			/* in which they were */
	uint32		n_gone;

	/* Nodes that are not gone by their product of edges, in doubly linked lists */
	uint32		n_buckets;
	int32	   *bucket;			/* first node of each */
	int32	   *next;
	int32	   *previous;
	uint32		lowest;			/* no node is in a lower one */

	uint32	   *place;			/* scratch: where in a row each node is, from 1 */
	ListPool	entries;
	ListPool	sources;
	Size		n_entries;		/* in rows of nodes that are not gone */
	uint64		work;
} ComponentSolver;

#define ROW(solver, node)		((Entry *) (solver)->entries.items + (solver)->row[node].start)
#define COLUMN(solver, node)	((int32 *) (solver)->sources.items + (solver)->column[node].start)

/* Products beyond that are not distinguished. */
static inline uint32
count_buckets(uint32 n)
{
	return n + 64;
}

/* Takes out nodes, those in `order`, until none is left or the rows fill too much. */
extern void eliminate(ComponentSolver *solver, bool sparsely);

#endif							/* STEPADV_ELIMINATION_H */
