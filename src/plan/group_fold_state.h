/*
 * group_fold_state.h
 *		The state of a GroupFold, which its files share.
 */
#ifndef STEPADV_GROUP_FOLD_STATE_H
#define STEPADV_GROUP_FOLD_STATE_H

#include "nodes/execnodes.h"
#include "utils/tuplesort.h"

#include "group/builder.h"
#include "plan/fold_input.h"
#include "plan/group_fold_exchange.h"

typedef enum Phase
{
	BEFORE_ROWS,
	FROM_TABLE,					/* giving out what was hashed, */
	FROM_SPILLED,				/* what was spilled, */
	FROM_SORTED,				/* or what comes sorted from below; */
	FROM_PARTS,					/* merging what processes sent each other */
	FINISHED
} Phase;

typedef struct GroupFoldState
{
	CustomScanState css;

	/* what is read of a row: keys, arguments, the filter */
	int			n_keys;
	int			n_args;
	bool		has_filter;
	bool		forgiving;		/* the aggregate is */
	AttrNumber *positions;		/* where */
	FoldInput	input;
	AttrNumber *key_positions;	/* in rows with the keys first: 1, 2, … */

	/* how keys compare */
	Oid		   *equal;
	Oid		   *less;
	Oid		   *collations;
	bool	   *nulls_first;
	ExprState  *same_group;		/* are keys and group_keys equal? */
	ExprContext *comparing;

	bool		sorted_below;
	int			expected_groups;
	Phase		phase;
	TupleTableSlot *keys;		/* of the row at hand */
	TupleTableSlot *group_keys; /* of the current group: */
	GroupBuilder *builder;		/* NULL: there is none */
	ErrorContextCallback blame; /* says which group, where it is too large */
	MemoryContext group_memory; /* of a group that is not in the table */
	TupleTableSlot *pending;	/* first row of the next one; NULL: to be read */

	/* hashing */
	MemoryContext table_memory; /* hash table and builders */
	Size		limit;			/* of it */
	TupleHashTable table;
	TupleHashIterator iterator;
	Tuplesortstate *spilled;	/* rows as we give them; NULL: none */
	TupleTableSlot *spilled_rows[2];
	int			turn;			/* which of them takes the next row */

	/* with others, at other rows; NULL: alone */
	ExchangeAccess *exchange;
	bool		sends;			/* what finds no room goes to the exchange */

	FoldUsage	usage;			/* for EXPLAIN ANALYZE */
	FoldUsage  *usage_of_all;	/* by process; NULL: there are no others */
	int			n_processes;
} GroupFoldState;

#endif							/* STEPADV_GROUP_FOLD_STATE_H */
