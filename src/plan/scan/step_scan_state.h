/*
 * step_scan_state.h
 *		The state of a StepScan, which its files share.
 */
#ifndef STEPADV_STEP_SCAN_STATE_H
#define STEPADV_STEP_SCAN_STATE_H

#include "executor/execExpr.h"
#include "nodes/execnodes.h"

#include "column_sink.h"

/* A column of the rows that are given, out of a function. */
typedef struct StepColumn
{
	int			function;		/* which function, */
	int			column;			/* which of its columns, */
	int			place;			/* and which of the output's */
	ResultColumn result;
	uint64		n_rows;
} StepColumn;

/* A column that is the outer row's. */
typedef struct OuterColumn
{
	int			from;			/* both from 0 */
	int			place;
} OuterColumn;

typedef struct OuterColumns
{
	int			n;
	OuterColumn *column;
} OuterColumns;

/* A group that comes again, scan after scan: repeated_group.c. */
typedef struct KeptGroup
{
	bool		decides;		/* what the functions give depends on the group alone */
	bool		groups_repeat;	/* one came twice: from now on each is kept */
	uint64		fingerprint;	/* of the group that was evaluated, */
	struct varlena *group;		/* and itself, in memory, or NULL */
	uint64		n_repeated;		/* scans that were spared */
} KeptGroup;

typedef struct StepScanState
{
	CustomScanState css;
	int			n_functions;
	SetExprState **calls;
	bool	   *same_group;		/* by call: its group is that of the call before */
	ColumnSink *results;
	TupleTableSlot *output;		/* the scan's slot, or that of the target list if it is of columns alone: */
	int			n_columns;		/* from functions */
	StepColumn *columns;
	OuterColumns shown;			/* from the outer row */
	OuterColumns scanned;		/* these, where the output is not the scan's slot: what expressions refer to */
	AttrNumber	last_outer;		/* the greatest that is read */
	TupleTableSlot *outer;		/* the outer row; NULL: there is none */
	MemoryContext memory;		/* of one evaluation: arguments and columns */
	bool		finished;		/* there are no further rows than the functions have given */
	KeptGroup	kept;
	uint64		n_rows;
	uint64		row;
} StepScanState;

/* Values of the outer row, as they are, into a slot. */
static inline void
show_outer_columns(const TupleTableSlot *outer, const OuterColumns *columns, TupleTableSlot *slot)
{
	for (int c = 0; c < columns->n; c++)
	{
		slot->tts_values[columns->column[c].place] = outer->tts_values[columns->column[c].from];
		slot->tts_isnull[columns->column[c].place] = outer->tts_isnull[columns->column[c].from];
	}
}

/*
 * groups.c: the columns of the next group of which there are rows; false after the
 * last.  Apart from what runs for every row, which must not save registers for it.
 */
extern bool evaluate_next_group(StepScanState *scan);

/* repeated_group.c */
extern bool depends_on_group_alone(const List *calls);
extern bool group_came_again(StepScanState *scan, ExprContext *econtext);

#endif							/* STEPADV_STEP_SCAN_STATE_H */
