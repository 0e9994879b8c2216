/*
 * step_scan_state.h
 *		The executor state of a StepScan, shared by its files.
 */
#ifndef STEPADV_STEP_SCAN_STATE_H
#define STEPADV_STEP_SCAN_STATE_H

#include "executor/execExpr.h"
#include "nodes/execnodes.h"

#include "column_sink.h"

/* An output column that comes from a function. */
typedef struct StepColumn
{
	int			function;		/* index of the function */
	int			column;			/* index among the function's columns */
	int			place;			/* index among the output columns */
	ResultColumn result;
	uint64		n_rows;
} StepColumn;

/* An output column that comes from the outer row. */
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

/* A group that is passed again, scan after scan: repeated_group.c. */
typedef struct KeptGroup
{
	bool		decides;		/* the functions' results depend on the group alone */
	bool		groups_repeat;	/* a group was seen twice: from now on each one is kept */
	uint64		fingerprint;	/* of the group that was evaluated last */
	struct varlena *group;		/* a copy of that group, or NULL */
	uint64		n_repeated;		/* evaluations that were saved */
} KeptGroup;

typedef struct StepScanState
{
	CustomScanState css;
	int			n_functions;
	SetExprState **calls;
	bool	   *same_group;		/* by call: it has the same group as the call before */
	ColumnSink *results;
	TupleTableSlot *output;		/* the scan's slot, or the result slot if the target list has only columns */
	int			n_columns;		/* columns from functions */
	StepColumn *columns;
	OuterColumns shown;			/* columns from the outer row */
	OuterColumns scanned;		/* these, in the scan's slot if that is not the output: used by expressions */
	AttrNumber	last_outer;		/* the last column of the outer row that is read */
	TupleTableSlot *outer;		/* NULL: no outer plan */
	MemoryContext memory;		/* arguments and columns of one evaluation */
	bool		finished;		/* no rows follow those of the current evaluation */
	KeptGroup	kept;
	uint64		n_rows;
	uint64		row;
} StepScanState;

/* Copy values of the outer row to a slot. */
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
 * groups.c: evaluate the next group that has rows; false after the last.  In a file of its own so that the
 * compiler saves no registers for it in the code that runs for every row.
 */
extern bool evaluate_next_group(StepScanState *scan);

/* repeated_group.c */
extern bool depends_on_group_alone(const List *calls);
extern bool group_came_again(StepScanState *scan, ExprContext *econtext);

#endif							/* STEPADV_STEP_SCAN_STATE_H */
