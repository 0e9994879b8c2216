/*
 * run.c
 *		Rows of a table that go on where the row before was.
 *
 * The steps of a rollout are mostly stored together.  Of a row that is on the same page as the one
 * before, has the same keys and is the next step, there is nothing to find out: it is read where
 * it is stored, and written behind its predecessor.  Other rows take the general path.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "pgstat.h"

#include "group/collected_rows.h"
#include "long_work.h"
#include "plan/fold/current_group.h"
#include "plan/fold/stored_rows.h"

/* What is read of a row besides its step are its keys. */
static inline bool
has_keys_of(const FoldSource *source, const StoredLayout *layout, const char *data, const char *before)
{
	for (const StoredColumn *column = layout->columns; column < layout->columns + source->n_stored; column++)
	{
		const char *key = data + column->offset;
		const char *key_before = before + column->offset;

		if (column->offset == NOWHERE)
			continue;
		if (column->by_value && column->length == sizeof(Datum) ? *(const Datum *) key != *(const Datum *) key_before :
			memcmp(key, key_before, column->length) != 0)
			return false;
	}
	return true;
}

/* From the next row of the page on, as long as all is as usual. */
static uint32
add_run(GroupFoldState *fold)
{
	FoldInput  *input = &fold->input;
	const FoldSource *source = input->source;
	HeapScanDesc scan = source->pages;
	Page		page = BufferGetPage(scan->rs_cbuf);
	uint32		first = scan->rs_cindex;
	uint32		row = first;

	while (row + 1 < scan->rs_ntuples)
	{
		const HeapTupleHeader tuple = visible_row(scan, page, row + 1);
		const char *data = (const char *) tuple + tuple->t_hoff;
		StepRow		step;

		if (!has_layout(source, input->layout, tuple) || !has_keys_of(source, input->layout, data, input->stored_step))
			break;
		input->stored_step = data;
		if (!read_stored_step(input, &step) || !add_next_step(fold->builder, &step))
			break;
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
	begin_blame(fold);
	n = add_run(fold);
	end_blame(fold);
	note_rows_read(n);
	return n;
}
