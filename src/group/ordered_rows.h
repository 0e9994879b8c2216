/*
 * ordered_rows.h
 *		Collected rows in the order of the value.
 */
#ifndef STEPADV_GROUP_ORDERED_ROWS_H
#define STEPADV_GROUP_ORDERED_ROWS_H

#include "group/collected_rows.h"

typedef const StepRow *RowPointer;

/*
 * The rows in the order of the value: rollouts by id, steps by step_no.  Rows
 * that came so are decoded one by one; others all at once, to be sorted.
 */
typedef struct OrderedRows
{
	RowWalk		walk;
	StepRow		row;			/* where the walk is */
	RowPointer *sorted;			/* NULL: walk */
	uint64		position;
	uint64		n_rows;
} OrderedRows;

extern void begin_ordered_rows(OrderedRows *rows, const GroupBuilder *builder);
extern void end_ordered_rows(OrderedRows *rows);

/* Of how many rollouts the rows are. */
extern uint64 count_rollouts(const GroupBuilder *builder, const OrderedRows *rows);

/* NULL after the last one. */
static inline const StepRow *
next_ordered_row(OrderedRows *rows)
{
	if (rows->sorted == NULL)
		return next_row(&rows->walk, &rows->row) ? &rows->row : NULL;
	return rows->position < rows->n_rows ? rows->sorted[rows->position++] : NULL;
}

#endif							/* STEPADV_GROUP_ORDERED_ROWS_H */
