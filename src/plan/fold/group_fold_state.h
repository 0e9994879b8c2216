/*
 * group_fold_state.h
 *		The executor state of a GroupFold, shared by its files.
 */
#ifndef STEPADV_GROUP_FOLD_STATE_H
#define STEPADV_GROUP_FOLD_STATE_H

#include "nodes/execnodes.h"

#include "group/builder.h"
#include "plan/fold/exchange.h"
#include "plan/fold/input.h"
#include "plan/fold/parts.h"
#include "plan/fold/spill.h"

typedef enum Phase
{
	BEFORE_ROWS,
	FROM_TABLE,					/* returning the groups of the table, */
	FROM_SORTED,				/* folding sorted input, */
	FROM_SPILL,					/* returning spilled groups that were not seen again, */
	FROM_PARTS,					/* or merging parts and returning their groups, own or sent by processes */
	FINISHED
} Phase;

typedef struct GroupFoldState
{
	CustomScanState css;

	/* inputs of a row: keys, arguments, the filter */
	int			n_keys;
	int			n_args;
	bool		has_filter;
	bool		lenient;		/* the aggregate is the lenient one */
	AttrNumber *positions;		/* of the inputs, in a row from below */
	FoldInput	input;
	AttrNumber *key_positions;	/* in a slot of keys: 1, 2, … */

	/* comparison of keys */
	Oid		   *equal;
	Oid		   *less;
	Oid		   *collations;
	bool	   *nulls_first;
	ExprState  *same_group;		/* are keys and group_keys equal? */
	ExprContext *comparing;

	bool		sorted_below;
	int			expected_groups;
	Phase		phase;
	TupleTableSlot *keys;		/* of the current row */
	TupleTableSlot *group_keys; /* of the current group */
	GroupBuilder *builder;		/* of the current group, or NULL */
	ErrorContextCallback group_context; /* names the group that is too large */
	TupleTableSlot *context_slot;		/* the slot with its keys, */
	MinimalTuple context_keys;	/* to which these are to be copied first, unless NULL */
	MemoryContext group_memory; /* of a group that is not in the table */
	bool		pending;		/* the current row is the first of the next one */

	/* hashing */
	MemoryContext table_memory; /* of the hash table and builders */
	RowMemory	table_rows;		/* rows of builders, in table_memory */
	Size		limit;			/* of table_memory */
	TupleHashTable table;
	TupleHashIterator iterator; /* over groups, one ahead */
	TupleHashEntry ahead;		/* the next group; NULL: none */
	struct TableGroup **images; /* cache of groups by the image of their keys, a power of 2 */
	int			image_bits;
	char	   *image;			/* of the current row */
	Size		image_room;
	uint64		n_rows;			/* so far */
	uint64		n_turns;		/* how often the group changed from row to row */
	uint64		rows_before;	/* n_rows when that was last checked */

	/* groups spilled for lack of memory */
	MemoryContext spill_memory;
	GroupSpill *spill;			/* NULL: none */
	GroupMarks *marks;			/* groups met in several tables; NULL: there was one table */

	/* groups in parts */
	MemoryContext parts_memory;
	RecordParts *parts;			/* NULL: none */
	bool		scattered;		/* every row is written to its part directly */
	Size		image_size;		/* of keys that all have a fixed length, or 0 */
	bool		keys_are_images;	/* keys are passed by value, and equal only if their images are */
	RecordPart	part;			/* the part that is folded */
	bool		divides;		/* some groups of it find no room */
	bool		receives;		/* it has more records in the exchange */

	/* exchange with other processes; NULL: there are none */
	ExchangeAccess *exchange;

	FoldUsage	usage;			/* for EXPLAIN ANALYZE */
	FoldUsage	usage_before;	/* at the start of this scan */
	FoldUsage  *usage_of_all;	/* by process; NULL: there are no others */
	int			n_processes;
} GroupFoldState;

#endif							/* STEPADV_GROUP_FOLD_STATE_H */
