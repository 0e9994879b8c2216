/*
 * ordered_rows.c
 *		Collected rows in the order of the value.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "compat.h"
#include "group/ordered_rows.h"

#define ST_SORT sort_rows
#define ST_ELEMENT_TYPE RowPointer
#define ST_COMPARE(a, b) compare_rows(*(a), *(b))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* What no row has is cut off from each. */
static RowPointer *
decode_and_sort(const GroupBuilder *builder)
{
	Size		stride = (builder->parts & PART_EXTRA) ? sizeof(StepRow) :
		(builder->parts & PART_WIDE) ? offsetof(StepRow, turn) : offsetof(StepRow, next_state);
	RowPointer *pointers = MemoryContextAllocHuge(CurrentMemoryContext,
												  builder->n_rows * (sizeof(RowPointer) + stride));
	char	   *rows = (char *) (pointers + builder->n_rows);
	RowWalk		walk = begin_walk(builder);
	StepRow		row = row_before_first;

	for (uint64 n = 0; next_row(&walk, &row); n++)
	{
		pointers[n] = (RowPointer) (rows + n * stride);
		memcpy(rows + n * stride, &row, stride);
	}
	sort_rows(pointers, builder->n_rows);
	return pointers;
}

void
begin_ordered_rows(OrderedRows *rows, const GroupBuilder *builder)
{
	rows->walk = begin_walk(builder);
	rows->row = row_before_first;
	rows->sorted = builder->sorted ? NULL : decode_and_sort(builder);
	rows->position = 0;
	rows->n_rows = builder->n_rows;
}

void
end_ordered_rows(OrderedRows *rows)
{
	if (rows->sorted)
		pfree(rows->sorted);
}

uint64
count_rollouts(const GroupBuilder *builder, const OrderedRows *rows)
{
	uint64		n = 1;

	if (rows->sorted == NULL)
		return builder->n_rollouts;
	for (uint64 i = 1; i < rows->n_rows; i++)
		n += rows->sorted[i]->rollout_id != rows->sorted[i - 1]->rollout_id;
	return n;
}
