/*
 * input.c
 *		The rows that a GroupFold reads from below, with as little work as they allow.
 *
 * Most are rows of a table as they are stored, out of a scan that neither filters
 * nor computes.  Two things are then spared: the way through the nodes of the
 * executor for each of them, and taking columns apart that nobody reads.  As long as
 * the columns up to the last that is read have fixed lengths, they are in the same
 * place in every row in which the same of them are NULL.  Arguments that are no more than a
 * step has are then not even taken out as arguments.
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "pgstat.h"

#include "long_work.h"
#include "plan/fold/input.h"
#include "plan/fold/stored_rows.h"

/* A column that is NULL is nowhere. */
#define NOWHERE PG_UINT32_MAX

/* Offsets of the columns up to the last that is read, of rows that have these; false where they differ from row to row. */
static bool
find_offsets(TupleDesc desc, AttrNumber last, uint64 present, uint32 *offsets)
{
	uint32		offset = 0;

	for (int a = 0; a < last; a++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, a);

		offsets[a] = NOWHERE;
		if (a < 64 && (present & (UINT64CONST(1) << a)) == 0)
			continue;
		if (attribute->attlen <= 0)
			return false;
		offset = att_align_nominal(offset, attribute->attalign);
		offsets[a] = offset;
		offset += attribute->attlen;
	}
	return true;
}

/* False where offsets differ from row to row. */
static bool
set_layout(FoldInput *input, TupleDesc desc, uint64 present, StoredLayout *layout)
{
	const uint32 *of_args = layout->of_args;

	if (layout->offsets == NULL)
		layout->offsets = MemoryContextAlloc(input->below->state->es_query_cxt, input->last_position * sizeof(uint32));
	layout->present = present;
	if (!find_offsets(desc, input->last_position, present, layout->offsets))
		return false;
	for (int arg = 0; arg <= ROW_SUCCESS; arg++)
		layout->of_args[arg] = arg < input->n_args ? layout->offsets[input->positions[input->first_arg + arg] - 1] : NOWHERE;
	layout->has_step = of_args[ROW_STEP_ID] != NOWHERE && of_args[ROW_ROLLOUT_ID] != NOWHERE && of_args[ROW_STEP_NO] != NOWHERE;
	layout->has_reward = of_args[ROW_REWARD] != NOWHERE;
	layout->has_success = of_args[ROW_SUCCESS] != NOWHERE;
	layout->nulls = PLAIN_NULLS |
		(of_args[ROW_STATE] == NOWHERE ? NULL_STATE : 0) | (of_args[ROW_ACTION] == NOWHERE ? NULL_ACTION : 0);
	return true;
}

static void
place_columns(FoldInput *input, TupleTableSlot *slot, int n)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;

	input->whole.offsets = NULL;
	for (int l = 0; l < 1 << LAYOUT_BITS; l++)
		input->layouts[l].offsets = NULL;
	if (!set_layout(input, desc, PG_UINT64_MAX, &input->whole))
		return;
	/* Arguments that are columns are of the types that rollout_agg is declared with. */
	input->reads_step = input->n_args > ROW_REWARD && input->n_args <= ROW_SUCCESS + 1;
	input->n_words = input->n_others = 0;
	input->words = palloc(n * sizeof(StoredColumn));
	input->others = palloc(n * sizeof(StoredColumn));
	for (int i = 0; i < n; i++)
	{
		int			position = input->positions[i] - 1;
		Form_pg_attribute attribute = TupleDescAttr(desc, position);
		int			arg = i - input->first_arg;
		bool		is_arg = arg >= 0 && arg < input->n_args;
		StoredColumn column = {
			is_arg ? &input->args[arg].value : &slot->tts_values[position],
			is_arg ? &input->args[arg].isnull : &slot->tts_isnull[position],
			input->whole.offsets[position], attribute->attlen, attribute->attbyval, position
		};

		if (is_arg && input->reads_step)
			continue;
		if (attribute->attbyval && attribute->attlen == sizeof(Datum))
			input->words[input->n_words++] = column;
		else
			input->others[input->n_others++] = column;
	}
	input->is_placed = true;
}

void
prepare_input(FoldInput *input, PlanState *below, const AttrNumber *positions, int n, int first_arg, int n_args)
{
	bool		of_table = IsA(below, SeqScanState) || IsA(below, IndexScanState) || IsA(below, BitmapHeapScanState);
	/* In the recheck of a row that another session has changed, rows may come in another slot. */
	bool		as_stored = of_table && below->ps_ProjInfo == NULL && below->state->es_epq_active == NULL;
	TupleTableSlot *slot = as_stored ? ((ScanState *) below)->ss_ScanTupleSlot : NULL;

	input->below = below;
	input->positions = positions;
	input->first_arg = first_arg;
	input->n_args = n_args;
	input->last_position = 0;
	for (int i = 0; i < n; i++)
		input->last_position = Max(input->last_position, positions[i]);
	input->slot = slot;
	begin_input(input);
	/* What is instrumented counts its rows. */
	input->plain_scan = IsA(below, SeqScanState) && slot != NULL && below->qual == NULL && below->instrument == NULL;
	input->is_placed = input->reads_step = false;
	input->stored_step = NULL;
	input->layout = &input->whole;
	if (slot != NULL && slot->tts_ops == &TTSOpsBufferHeapTuple)
		place_columns(input, slot, n);
}

/* What a row has of the columns up to the last that is read; NULL where there are too many to tell, or columns came later. */
static const StoredLayout *
layout_of(FoldInput *input, const HeapTupleHeader tuple, TupleDesc desc)
{
	AttrNumber	last = input->last_position;
	uint64		present = 0;
	StoredLayout *layout;

	if (last > 64 || HeapTupleHeaderGetNatts(tuple) < last)
		return NULL;
	for (int byte = 0; byte * 8 < last; byte++)
		present |= (uint64) tuple->t_bits[byte] << (byte * 8);
	if (last < 64)
		present &= (UINT64CONST(1) << last) - 1;
	layout = &input->layouts[(present * UINT64CONST(0x9E3779B97F4A7C15)) >> (64 - LAYOUT_BITS)];
	if (layout->offsets == NULL || layout->present != present)
		(void) set_layout(input, desc, present, layout);
	return layout;
}

static inline void
place_beside_nulls(const StoredColumn *columns, int n, const char *data, const uint32 *offsets)
{
	for (const StoredColumn *column = columns; column < columns + n; column++)
	{
		uint32		offset = offsets[column->position];

		*column->isnull = offset == NOWHERE;
		if (offset != NOWHERE)
			*column->value = fetch_att(data + offset, column->by_value, column->length);
	}
}

/* False: the row is to be taken apart as usual. */
static pg_noinline bool
read_stored_beside_nulls(FoldInput *input, const TupleTableSlot *row)
{
	const HeapTupleHeader tuple = ((const HeapTupleTableSlot *) row)->tuple->t_data;
	const char *data = (const char *) tuple + tuple->t_hoff;

	const StoredLayout *layout = layout_of(input, tuple, row->tts_tupleDescriptor);

	if (layout == NULL)
		return false;
	place_beside_nulls(input->words, input->n_words, data, layout->offsets);
	place_beside_nulls(input->others, input->n_others, data, layout->offsets);
	if (input->reads_step)
	{
		input->stored_step = data;
		input->layout = layout;
	}
	return true;
}

/* False: the row is to be taken apart as usual. */
static inline bool
read_stored(FoldInput *input, const TupleTableSlot *row)
{
	const HeapTupleHeader tuple = ((const HeapTupleTableSlot *) row)->tuple->t_data;
	const char *data = (const char *) tuple + tuple->t_hoff;
	const StoredColumn *end_of_words = input->words + input->n_words;
	const StoredColumn *end_of_others = input->others + input->n_others;

	input->stored_step = NULL;
	if (unlikely(!has_all(tuple, input->last_position)))
		return read_stored_beside_nulls(input, row);
	for (const StoredColumn *column = input->words; column < end_of_words; column++)
	{
		*column->value = *(const Datum *) (data + column->offset);
		*column->isnull = false;
	}
	for (const StoredColumn *column = input->others; column < end_of_others; column++)
	{
		*column->value = fetch_att(data + column->offset, column->by_value, column->length);
		*column->isnull = false;
	}
	if (input->reads_step)
	{
		input->stored_step = data;
		input->layout = &input->whole;
	}
	return true;
}

pg_noinline void
read_arguments(FoldInput *input, TupleTableSlot *row)
{
	const AttrNumber *positions = input->positions + input->first_arg;

	slot_getsomeattrs(row, input->last_position);
	for (int a = 0; a < input->n_args; a++)
	{
		input->args[a].value = row->tts_values[positions[a] - 1];
		input->args[a].isnull = row->tts_isnull[positions[a] - 1];
	}
}

/* Is it a scan of a heap that looks at a page's rows once, and then gives all that are visible? */
static bool
reads_whole_pages(const TableScanDesc scan)
{
	return scan->rs_rd->rd_tableam == GetHeapamTableAmRoutine() && (scan->rs_flags & SO_ALLOW_PAGEMODE) != 0 && scan->rs_nkeys == 0;
}

/*
 * What table_scan_getnextslot does where the next row is on the page that the scan is at, and nothing else
 * than which row it is differs from the one before.  False: it is not.
 */
static inline bool
next_row_of_page(HeapScanDesc scan, TupleTableSlot *slot)
{
	HeapTuple	tuple = &scan->rs_ctup;
	Page		page;
	ItemId		item;
	OffsetNumber offset;

	if (scan->rs_cindex + 1 >= scan->rs_ntuples)
		return false;
	Assert(((BufferHeapTupleTableSlot *) slot)->buffer == scan->rs_cbuf);
	Assert(((BufferHeapTupleTableSlot *) slot)->base.tuple == tuple);
	offset = scan->rs_vistuples[++scan->rs_cindex];
	page = BufferGetPage(scan->rs_cbuf);
	item = PageGetItemId(page, offset);
	tuple->t_data = (HeapTupleHeader) PageGetItem(page, item);
	tuple->t_len = ItemIdGetLength(item);
	ItemPointerSetOffsetNumber(&tuple->t_self, offset);
	pgstat_count_heap_getnext(scan->rs_base.rs_rd);
	((HeapTupleTableSlot *) slot)->off = 0;
	slot->tts_nvalid = 0;
	slot->tts_tid = tuple->t_self;
	return true;
}

/*
 * Processes that share a scan take so many blocks at a time, and where they change, a group is mostly divided, which
 * then has to be sent and put together: with more blocks there are fewer of these.  Towards the end
 * of the table the scan halves what it takes by itself, if there is so much of it yet.
 */
#define LONGER_CHUNKS	8
#define CHUNKS_AT_LEAST	128

static void
take_longer_chunks(const PlanState *below)
{
	const TableScanDesc scan = IsA(below, SeqScanState) ? ((const ScanState *) below)->ss_currentScanDesc : NULL;
	ParallelBlockTableScanWorkerData *worker;
	uint64		n_blocks;

	if (scan == NULL || scan->rs_parallel == NULL || scan->rs_rd->rd_tableam != GetHeapamTableAmRoutine())
		return;
	worker = ((HeapScanDesc) scan)->rs_parallelworkerdata;
	n_blocks = (uint64) worker->phsw_chunk_size * LONGER_CHUNKS;
	if (n_blocks * CHUNKS_AT_LEAST <= ((HeapScanDesc) scan)->rs_nblocks)
		worker->phsw_chunk_size = n_blocks;
}

/* The first row comes by the executor, which begins the scan. */
static pg_noinline TupleTableSlot *
first_row(FoldInput *input)
{
	TupleTableSlot *row = ExecProcNode(input->below);

	if (TupIsNull(row))
		return NULL;
	take_longer_chunks(input->below);
	if (input->plain_scan)
	{
		input->scan = ((ScanState *) input->below)->ss_currentScanDesc;
		input->pages = input->is_placed && reads_whole_pages(input->scan) ? (HeapScanDesc) input->scan : NULL;
	}
	return row;
}

/* The first row of another page, or of what does not come by pages. */
static pg_noinline TupleTableSlot *
next_row(FoldInput *input)
{
	TupleTableSlot *row;

	/* What is below need not be a scan. */
	if (input->scan == NULL)
		return first_row(input);
	row = ((ScanState *) input->below)->ss_ScanTupleSlot;
	CHECK_FOR_INTERRUPTS();
	return table_scan_getnextslot(input->scan, ForwardScanDirection, row) ? row : NULL;
}

TupleTableSlot *
next_input(FoldInput *input)
{
	TupleTableSlot *row = input->slot;

	if (input->pages == NULL || !next_row_of_page(input->pages, row))
	{
		row = next_row(input);
		if (row == NULL)
			return NULL;
	}
	note_row_read();
	if (!input->is_placed || !read_stored(input, row))
		read_arguments(input, row);
	return row;
}
