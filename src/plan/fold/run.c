/*
 * run.c
 *		Reads successive rows of a rollout on one page.
 *
 * The steps of a rollout are mostly stored together.  If a row is on the same page as the row before, has the
 * same keys and is the next step, it is read where it is stored and encoded after its predecessor, without
 * looking up anything.  Keys and rollout are mostly adjacent columns, so one comparison of bytes shows that
 * they are the same.  Other rows take the general path.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "pgstat.h"

#include "group/collected_rows.h"
#include "long_work.h"
#include "plan/fold/current_group.h"
#include "plan/fold/stored_rows.h"

/* How many rows ahead to prefetch: rows are long, and little of each is read. */
#define ROWS_AHEAD 4

/* For a few bytes, faster than a call of memcmp. */
static inline bool
is_same(const char *a, const char *b, uint32 length)
{
	const char *end = a + length;

	for (; a + sizeof(uint64) <= end; a += sizeof(uint64), b += sizeof(uint64))
		if (memcmp(a, b, sizeof(uint64)) != 0)
			return false;
	for (; a < end; a++, b++)
		if (*a != *b)
			return false;
	return true;
}

/* Does a row have the layout, the keys and the rollout of the row before, which has this layout? */
static inline bool
is_of_rollout(const FoldSource *source, const StoredLayout *layout, const HeapTupleHeader tuple, const char *before)
{
	const char *data = (const char *) tuple + tuple->t_hoff;

	if (present_columns(tuple, source->last_position) != layout->present)
		return false;
	for (const StoredSpan *span = layout->spans; span < layout->spans + layout->n_spans; span++)
		if (!is_same(data + span->offset, before + span->offset, span->length))
			return false;
	return true;
}

/*
 * Besides the step, only keys are read of a row.  Are they equal to those of the row before, which may have
 * another layout of the same columns?
 */
static inline bool
has_keys_of(const FoldSource *source, const StoredLayout *layout, const char *data,
			const StoredLayout *layout_before, const char *before)
{
	const StoredColumn *column_before = layout_before->columns;

	for (const StoredColumn *column = layout->columns; column < layout->columns + source->n_stored; column++, column_before++)
	{
		const char *key = data + column->offset;
		const char *key_before = before + column_before->offset;

		if (column->length != column_before->length)
			return false;
		if (column->offset == NOWHERE)
			continue;
		if (column->by_value && column->length == sizeof(Datum) ? *(const Datum *) key != *(const Datum *) key_before :
			memcmp(key, key_before, column->length) != 0)
			return false;
	}
	return true;
}

/* Add rows from the next row of the page on, until one needs the general path. */
static uint32
add_run(GroupFoldState *fold)
{
	FoldInput  *input = &fold->input;
	FoldSource *source = input->source;
	HeapScanDesc scan = source->pages;
	StoredLayout *layout = source->layout;
	Page		page = BufferGetPage(scan->rs_cbuf);
	uint32		first = scan->rs_cindex;
	uint32		row = first;
	StepRow		step;

	while (row + 1 < scan->rs_ntuples)
	{
		const HeapTupleHeader tuple = visible_row(scan, page, row + 1);
		const char *data = (const char *) tuple + tuple->t_hoff;
		bool		same_rollout;

		if (row + ROWS_AHEAD < scan->rs_ntuples)
		{
			const char *ahead = (const char *) visible_row(scan, page, row + ROWS_AHEAD);

			__builtin_prefetch(ahead);
			__builtin_prefetch(ahead + CACHE_LINE);
		}
		/* At the first row, step does not hold the row before yet. */
		same_rollout = row > first && is_of_rollout(source, layout, tuple, input->stored_step);
		if (!same_rollout)
		{
			if (!has_layout(source, layout, tuple))
				layout = find_layout(input, source, tuple);
			/* If other columns are NULL, a required one may be among them. */
			if (layout == NULL || ((layout->present ^ source->layout->present) & ~NO_ROW) != 0 ||
				!has_keys_of(source, layout, data, source->layout, input->stored_step))
				break;
			input->layout = source->layout = layout;
		}
		input->stored_step = data;
		if (!read_next_stored_step(input, same_rollout, &step))
			break;
		if (!likely(add_next_step(fold->builder, &step)))
			group_builder_add(fold->builder, &step);
		pgstat_count_heap_getnext(scan->rs_base.rs_rd);
		row++;
	}
	scan->rs_cindex = row;
	return row - first;
}

uint32
add_following_rows(GroupFoldState *fold)
{
	const FoldInput *input = &fold->input;
	uint32		n;

	if (input->stored_step == NULL || input->source->pages == NULL || fold->has_filter)
		return 0;
	push_group_context(fold);
	n = add_run(fold);
	pop_group_context(fold);
	note_rows_read(n);
	return n;
}
