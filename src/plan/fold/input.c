/*
 * input.c
 *		Reads the rows of a GroupFold from the plan below, with as little work as possible.
 *
 * Most are rows of a table as stored, from a scan, or from several scans below an Append.  A scan's filter and
 * projection are applied here if they only skip rows in which a column is NULL, select columns and constants,
 * and convert columns of other types as adapters do (ReadAs).  This avoids executor calls for each row, and
 * deforming columns that are not read.  Columns have the same offsets as in the row before if the same ones are
 * NULL and values without a fixed length have the same lengths, as most ids do.  If the arguments make a plain
 * step, they are read directly into it.
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/tableam.h"
#include "access/tupmacs.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "pgstat.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "compat.h"
#include "long_work.h"
#include "plan/fold/input.h"
#include "plan/fold/stored_rows.h"

/* ----------
 * Column offsets in a stored row
 * ----------
 */

/*
 * The offset of the value that follows an offset, and its length.  A one-byte length header is recorded, so
 * that later rows can be compared.  With other variable lengths, the layout is valid for this row only.
 */
static uint32
place_value(StoredLayout *layout, Form_pg_attribute attribute, const char *data, uint32 offset, uint32 *length)
{
	offset = att_align_pointer(offset, attribute->attalign, attribute->attlen, data + offset);
	*length = att_addlength_pointer(0, attribute->attlen, data + offset);
	if (attribute->attlen > 0)
		return offset;
	if (attribute->attlen == -1 && VARATT_IS_SHORT(data + offset))
		layout->short_values[layout->n_short++] = (ShortValue) {offset, *(const uint8 *) (data + offset)};
	else
		layout->present |= NO_ROW;
	return offset;
}

/* Record the offsets of the arguments as those of a step. */
static void
place_step(const FoldInput *input, const FoldSource *source, const uint32 *offsets, StoredLayout *layout)
{
	const uint32 *of_args = layout->of_args;
	bool		has_more = false;

	for (int arg = 0; arg < input->n_args; arg++)
	{
		int			position = source->columns[input->first_arg + arg].position;
		uint32		offset = position < 0 ? NOWHERE : offsets[position];

		if (arg <= ROW_SUCCESS)
			layout->of_args[arg] = offset;
		else
			has_more |= offset != NOWHERE;
	}
	layout->has_step = (of_args[ROW_STEP_ID] != NOWHERE || input->hashes_steps) && of_args[ROW_ROLLOUT_ID] != NOWHERE &&
		of_args[ROW_STEP_NO] != NOWHERE && !has_more;
	layout->has_reward = of_args[ROW_REWARD] != NOWHERE;
	layout->has_success = input->n_args > ROW_SUCCESS && of_args[ROW_SUCCESS] != NOWHERE;
	layout->nulls = PLAIN_NULLS |
		(of_args[ROW_STATE] == NOWHERE ? NULL_STATE : 0) | (of_args[ROW_ACTION] == NOWHERE ? NULL_ACTION : 0);
}

/* Add the bytes that steps of one rollout share: of shared columns, and length bytes.  Merges adjacent spans. */
static void
place_span(const FoldSource *source, int column, uint32 offset, uint32 length, StoredLayout *layout)
{
	StoredSpan *last = layout->n_spans > 0 ? &layout->spans[layout->n_spans - 1] : NULL;

	if ((source->shared & (UINT64CONST(1) << column)) == 0)
	{
		if (TupleDescAttr(source->slot->tts_tupleDescriptor, column)->attlen > 0)
			return;
		length = 1;
	}
	if (last != NULL && last->offset + last->length == offset)
		last->length += length;
	else
		layout->spans[layout->n_spans++] = (StoredSpan) {offset, length};
}

/* Compute the layout of rows with values in the columns of present, from one such row. */
static void
set_layout(const FoldInput *input, const FoldSource *source, const HeapTupleHeader tuple, uint64 present,
		   StoredLayout *layout)
{
	TupleDesc	desc = source->slot->tts_tupleDescriptor;
	const char *data = (const char *) tuple + tuple->t_hoff;
	uint32		offsets[64];
	uint32		lengths[64];
	uint32		end = 0;

	layout->present = present;
	layout->n_short = 0;
	layout->n_spans = 0;
	for (int a = 0; a < source->last_position; a++)
	{
		offsets[a] = NOWHERE;
		if ((present & (UINT64CONST(1) << a)) == 0)
			continue;
		offsets[a] = place_value(layout, TupleDescAttr(desc, a), data, end, &lengths[a]);
		end = offsets[a] + lengths[a];
		place_span(source, a, offsets[a], lengths[a], layout);
	}
	for (StoredColumn *column = layout->columns; column < layout->columns + source->n_stored; column++)
	{
		column->offset = offsets[column->position];
		column->length = column->offset == NOWHERE ? 0 : lengths[column->position];
	}
	if (source->reads_step)
		place_step(input, source, offsets, layout);
}

/* Are the arguments columns of a step, and all constants NULL? */
static bool
makes_step(const FoldInput *input, FoldSource *source)
{
	if (input->n_args <= ROW_REWARD)
		return false;
	for (int arg = 0; arg < input->n_args; arg++)
	{
		const InputColumn *column = &source->columns[input->first_arg + arg];

		if (column->position < 0 && !column->constant.isnull)
			return false;
		if (arg <= ROW_SUCCESS)
			source->step_reads[arg] = column->read_as;
	}
	return true;
}

/* Only keys, the filter, and arguments that do not make a step are read one by one. */
static void
place_columns(const FoldInput *input, FoldSource *source)
{
	TupleDesc	desc = source->slot->tts_tupleDescriptor;
	StoredColumn *columns = palloc(input->n_columns * sizeof(StoredColumn));

	source->reads_step = makes_step(input, source);
	for (int i = 0; i < input->n_columns; i++)
	{
		const InputColumn *column = &source->columns[i];
		bool		is_arg = i >= input->first_arg && i < input->first_arg + input->n_args;

		if (column->position >= 0 && (i < input->first_arg || i == input->first_arg + ROW_ROLLOUT_ID))
			source->shared |= UINT64CONST(1) << column->position;
		if (is_arg && source->reads_step)
			continue;
		if (column->position < 0)
			return;
		columns[source->n_stored++] = (StoredColumn) {
			column->value, column->isnull, .by_value = TupleDescAttr(desc, column->position)->attbyval, .read_as = column->read_as,
			.position = column->position
		};
	}
	for (int l = 0; l < N_LAYOUTS; l++)
	{
		source->layouts[l].present = PG_UINT64_MAX;
		source->layouts[l].short_values = palloc(source->last_position * sizeof(ShortValue));
		source->layouts[l].spans = palloc(source->last_position * sizeof(StoredSpan));
		source->layouts[l].columns = palloc(Max(source->n_stored, 1) * sizeof(StoredColumn));
		memcpy(source->layouts[l].columns, columns, source->n_stored * sizeof(StoredColumn));
	}
	source->layout = source->layouts;
	source->is_placed = true;
}

/* ----------
 * Filters and projections of a scan
 * ----------
 */

/* Cache of label hashes. */
#define KNOWN_LABELS 256
static struct
{
	Oid			label;
	int64		hash;
}			known_labels[KNOWN_LABELS];

static int64
hash_of_label(Oid label)
{
	int			place = label % KNOWN_LABELS;
	char	   *text;

	if (known_labels[place].label != label)
	{
		text = DatumGetCString(DirectFunctionCall1(enum_out, ObjectIdGetDatum(label)));
		known_labels[place].hash = hash_of_text(text, strlen(text));
		pfree(text);
		known_labels[place].label = label;
	}
	return known_labels[place].hash;
}

/*
 * The format of a stored numeric, unchanged since 9.1 (numeric.c).  The short form has a header with sign and
 * weight, then base-10,000 digits, without zeros at either end.
 */
#define IS_SHORT_NUMERIC(header)	(((header) & 0xC000) == 0x8000)
#define IS_NEGATIVE(header)			(((header) & 0x2000) != 0)
#define WEIGHT(header)				((int) ((header) & 0x003F) - (int) ((header) & 0x0040))
#define DIGITS_OF_DIGIT				4
#define MAX_WEIGHT					9

/* For a numeric that is not in short form, has a fraction, or is too large for an id. */
static pg_noinline int64
hash_of_other_numeric(Datum value)
{
	Numeric		number = DatumGetNumericCopy(value);
	Numeric		trimmed = DatumGetNumeric(DirectFunctionCall1(numeric_trim_scale, NumericGetDatum(number)));
	char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(trimmed)));
	int64		hash = hash_of_text(text, strlen(text));

	pfree(text);
	pfree(trimmed);
	pfree(number);
	return hash;
}

/* Write a base-10,000 digit as four decimal digits: split it into halves, then split both halves at once. */
static inline void
write_digit(char *end, uint32 digit)
{
	uint32		hundreds = digit * 5243 >> 19;	/* / 100 */
	uint32		halves = hundreds | (digit - hundreds * 100) << 16;
	uint32		tens = (halves * 103 >> 10) & 0x000F000F;	/* / 10 */
	uint32		decimal = 0x30303030 + (tens | (halves - tens * 10) << 8);

#ifdef WORDS_BIGENDIAN
	decimal = pg_bswap32(decimal);
#endif
	memcpy(end, &decimal, sizeof(decimal));
}

/* Trailing zeros are not stored. */
static inline int
digit_of_numeric(const char *stored, int n_digits, int d)
{
	int16		digit = 0;

	if (d < n_digits)
		memcpy(&digit, VARDATA_SHORT(stored) + sizeof(uint16) + d * sizeof(digit), sizeof(digit));
	return digit;
}

static int64
hash_of_numeric(Datum value)
{
	const char *stored = DatumGetPointer(value);
	char		first[2 * DIGITS_OF_DIGIT] = {0};
	char		text[1 + (MAX_WEIGHT + 1) * DIGITS_OF_DIGIT];
	char	   *end = text;
	uint16		header = 0;
	int			n_digits = 0;
	int			n_zeros;
	int			digit;

	if (VARATT_IS_SHORT(stored))
	{
		memcpy(&header, VARDATA_SHORT(stored), sizeof(header));
		n_digits = (VARSIZE_SHORT(stored) - VARHDRSZ_SHORT - sizeof(header)) / sizeof(int16);
	}
	if (!IS_SHORT_NUMERIC(header) || n_digits > WEIGHT(header) + 1 || WEIGHT(header) > MAX_WEIGHT)
		return hash_of_other_numeric(value);
	if (IS_NEGATIVE(header))
		*end++ = '-';
	digit = digit_of_numeric(stored, n_digits, 0);
	write_digit(first, digit);
	/* Skip leading zeros; zero itself is one digit. */
	n_zeros = digit >= 1000 ? 0 : digit >= 100 ? 1 : digit >= 10 ? 2 : 3;
	memcpy(end, first + n_zeros, DIGITS_OF_DIGIT);
	end += DIGITS_OF_DIGIT - n_zeros;
	for (int d = 1; d <= WEIGHT(header); d++, end += DIGITS_OF_DIGIT)
		write_digit(end, digit_of_numeric(stored, n_digits, d));
	return hash_bytes_64(text, end - text);
}

Datum
read_value(Datum value, ReadAs read_as)
{
	struct varlena *bytes;
	int64		hash;

	switch (read_as)
	{
		case READ_INTEGER:
			return Int64GetDatum(DatumGetInt32(value));
		case READ_SMALLINT:
			return Int64GetDatum(DatumGetInt16(value));
		case READ_UUID_HASH:
			return Int64GetDatum(hash_bytes_64(DatumGetUUIDP(value)->data, UUID_LEN));
		case READ_BYTES_HASH:
			bytes = PG_DETOAST_DATUM_PACKED(value);
			hash = hash_bytes_64(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
			if ((Pointer) bytes != DatumGetPointer(value))
				pfree(bytes);
			return Int64GetDatum(hash);
		case READ_ENUM_HASH:
			return Int64GetDatum(hash_of_label(DatumGetObjectId(value)));
		case READ_NUMERIC_HASH:
			return Int64GetDatum(hash_of_numeric(value));
		default:
			return value;
	}
}

/* Map an input to the column or constant that a scan's target list has for it.  False: it is an expression. */
static bool
find_column(const Plan *plan, InputColumn *column)
{
	const Expr *expr = list_nth_node(TargetEntry, plan->targetlist, column->position)->expr;

	if (IsA(expr, Var) && ((const Var *) expr)->varattno > 0)
	{
		column->position = ((const Var *) expr)->varattno - 1;
		return true;
	}
	if (!IsA(expr, Const))
		return false;
	column->constant.isnull = ((const Const *) expr)->constisnull;
	if (!column->constant.isnull)
		column->constant.value = read_value(((const Const *) expr)->constvalue, column->read_as);
	column->position = -1;
	return true;
}

/* Does a filter only test columns for IS NOT NULL?  Records those columns, except ones declared NOT NULL. */
static bool
only_requires(FoldSource *source, TupleDesc table, const List *conditions)
{
	ListCell   *lc;

	source->n_required = 0;
	source->required = palloc(list_length(conditions) * sizeof(AttrNumber));
	foreach(lc, conditions)
	{
		const NullTest *test = lfirst(lc);
		const Var  *var;

		if (!IsA(test, NullTest) || test->nulltesttype != IS_NOT_NULL || test->argisrow || !IsA(test->arg, Var))
			return false;
		var = (const Var *) test->arg;
		if (var->varattno <= 0)
			return false;
		if (!is_never_null(table, var->varattno))
			source->required[source->n_required++] = var->varattno;
	}
	return true;
}

/* Map the inputs through the projection of a scan.  False if it has expressions. */
static bool
reads_projection(const FoldInput *input, const FoldSource *source)
{
	for (int i = 0; i < input->n_columns && source->state->ps_ProjInfo != NULL; i++)
		if (source->columns[i].position >= 0 && !find_column(source->state->plan, &source->columns[i]))
			return false;
	return true;
}

/* Can the rows of this scan be read without its executor node?  An instrumented node must count its rows. */
static bool
reads_scan(const FoldInput *input, FoldSource *source, const ScanState *state)
{
	return IsA(state, SeqScanState) && state->ps.instrument == NULL &&
		only_requires(source, RelationGetDescr(state->ss_currentRelation), state->ps.plan->qual) &&
		reads_projection(input, source);
}

static void
prepare_source(FoldInput *input, FoldSource *source, PlanState *state, const InputColumn *columns)
{
	bool		by_index = IsA(state, IndexScanState) || IsA(state, BitmapHeapScanState);

	source->state = state;
	source->columns = palloc(input->n_columns * sizeof(InputColumn));
	memcpy(source->columns, columns, input->n_columns * sizeof(InputColumn));
	/* During EvalPlanQual rechecks, rows may come in another slot. */
	if (state->state->es_epq_active == NULL)
	{
		source->plain_scan = reads_scan(input, source, (ScanState *) state);
		if (source->plain_scan || (by_index && reads_projection(input, source)) ||
			(IsA(state, SeqScanState) && state->ps_ProjInfo == NULL))
			source->slot = ((ScanState *) state)->ss_ScanTupleSlot;
		/* Rows are read as they are stored, so these nodes need not project them. */
		if (by_index && source->slot != NULL)
			state->ps_ProjInfo = NULL;
		else if (source->slot == NULL)
			memcpy(source->columns, columns, input->n_columns * sizeof(InputColumn));
	}
	if (!source->plain_scan)
		source->n_required = 0;
	for (int i = 0; i < input->n_columns; i++)
		source->last_position = Max(source->last_position, source->columns[i].position + 1);
	for (int r = 0; r < source->n_required; r++)
		source->last_position = Max(source->last_position, source->required[r]);
	if (source->slot != NULL && source->slot->tts_ops == &TTSOpsBufferHeapTuple &&
		source->last_position > 0 && source->last_position < 64)
		place_columns(input, source);
}

void
prepare_input(FoldInput *input, PlanState *below, const AttrNumber *columns, const AttrNumber *reads, int n, int n_args,
			  TupleTableSlot *keys)
{
	InputColumn *asked = palloc0(n * sizeof(InputColumn));
	bool		of_several = IsA(below, AppendState) && ((AppendState *) below)->as_nasyncplans == 0 &&
		below->instrument == NULL && below->state->es_epq_active == NULL;

	/* Enum labels may have been renamed. */
	memset(known_labels, 0, sizeof(known_labels));
	input->below = below;
	input->append = of_several ? (AppendState *) below : NULL;
	input->n_columns = n;
	input->first_arg = keys->tts_tupleDescriptor->natts;
	input->n_args = n_args;
	input->hashes_steps = false;
	input->keys = keys;
	for (int i = 0; i < n; i++)
	{
		int			arg = i - input->first_arg;

		asked[i] = (InputColumn) {
			arg >= 0 ? &input->args[arg].value : &keys->tts_values[i],
			arg >= 0 ? &input->args[arg].isnull : &keys->tts_isnull[i],
			reads[i], reads[i] >= READ_STEP_HASH ? -1 : columns[i] - 1, {.isnull = true}
		};
		input->hashes_steps |= reads[i] == READ_STEP_HASH;
	}
	input->sources = palloc0((of_several ? Max(input->append->as_nplans, 1) : 1) * sizeof(FoldSource));
	if (!of_several)
		prepare_source(input, &input->sources[0], below, asked);
	else
		for (int s = 0; s < input->append->as_nplans; s++)
			prepare_source(input, &input->sources[s], input->append->appendplans[s], asked);
	begin_input(input);
}

/* ----------
 * Reading columns
 * ----------
 */

/* Does not replace the layout of the row before, with which the caller compares. */
pg_noinline StoredLayout *
find_layout(const FoldInput *input, FoldSource *source, const HeapTupleHeader tuple)
{
	uint64		present = present_columns(tuple, source->last_position);
	StoredLayout *layout;

	if (present == NO_ROW)
		return NULL;
	for (layout = source->layouts; layout < source->layouts + N_LAYOUTS; layout++)
		if (has_layout(source, layout, tuple))
			return layout;
	do
	{
		layout = &source->layouts[source->next_layout];
		source->next_layout = (source->next_layout + 1) % N_LAYOUTS;
	} while (layout == source->layout);
	set_layout(input, source, tuple, present, layout);
	return layout;
}

static inline Datum
stored_value(const StoredColumn *column, const char *stored)
{
	Datum		value = column->by_value ? fetch_att(stored, true, column->length) : PointerGetDatum(stored);

	return likely(column->read_as <= READ_SMALLINT) ? value : read_value(value, column->read_as);
}

/* False: the row must be deformed as usual. */
static inline bool
read_stored(FoldInput *input, const TupleTableSlot *row)
{
	FoldSource *source = input->source;
	const HeapTupleHeader tuple = ((const HeapTupleTableSlot *) row)->tuple->t_data;
	const char *data = (const char *) tuple + tuple->t_hoff;
	StoredLayout *layout = source->layout;

	if (!has_layout(source, layout, tuple))
	{
		layout = find_layout(input, source, tuple);
		if (layout == NULL)
			return false;
		source->layout = layout;
	}
	for (const StoredColumn *column = layout->columns; column < layout->columns + source->n_stored; column++)
	{
		*column->isnull = column->offset == NOWHERE;
		if (column->offset != NOWHERE)
			*column->value = stored_value(column, data + column->offset);
	}
	if (source->reads_step)
	{
		input->stored_step = data;
		input->layout = layout;
	}
	return true;
}

static inline void
read_columns(const InputColumn *columns, int n, TupleTableSlot *row)
{
	for (const InputColumn *column = columns; column < columns + n; column++)
	{
		int			position = column->position;

		if (position < 0)
		{
			*column->value = column->constant.value;
			*column->isnull = column->constant.isnull;
			continue;
		}
		*column->isnull = row->tts_isnull[position];
		if (!*column->isnull)
			*column->value = column->read_as == READ_COLUMN ? row->tts_values[position] :
				read_value(row->tts_values[position], column->read_as);
	}
}

static void
hash_step(NullableDatum *args)
{
	args[ROW_STEP_ID].isnull = args[ROW_ROLLOUT_ID].isnull || args[ROW_STEP_NO].isnull;
	if (!args[ROW_STEP_ID].isnull)
		args[ROW_STEP_ID].value = Int64GetDatum(hash_of_pair(DatumGetInt64(args[ROW_ROLLOUT_ID].value),
															 DatumGetInt32(args[ROW_STEP_NO].value)));
}

pg_noinline void
read_arguments(FoldInput *input)
{
	const FoldSource *source = input->source;

	slot_getsomeattrs(source->slot, source->last_position);
	read_columns(source->columns + input->first_arg, input->n_args, source->slot);
	if (input->hashes_steps)
		hash_step(input->args);
}

/* Does a row have a value in all required columns? */
static pg_noinline bool
has_required(const FoldSource *source, TupleTableSlot *row)
{
	const HeapTupleHeader tuple = row->tts_ops == &TTSOpsBufferHeapTuple ? ((HeapTupleTableSlot *) row)->tuple->t_data : NULL;
	bool		has_bits = tuple != NULL && HeapTupleHeaderGetNatts(tuple) >= source->last_position;

	if (has_bits && (tuple->t_infomask & HEAP_HASNULL) == 0)
		return true;
	for (int r = 0; r < source->n_required; r++)
		if (has_bits ? att_isnull(source->required[r] - 1, tuple->t_bits) : slot_attisnull(row, source->required[r]))
			return false;
	return true;
}

/* ----------
 * Iterating over rows
 * ----------
 */

/* Is it a heap scan in page-at-a-time mode, which returns all visible rows of a page? */
static bool
reads_whole_pages(const TableScanDesc scan)
{
	return scan->rs_rd->rd_tableam == GetHeapamTableAmRoutine() && (scan->rs_flags & SO_ALLOW_PAGEMODE) != 0 && scan->rs_nkeys == 0;
}

/*
 * Like table_scan_getnextslot if the next row is on the same page; only what differs from the row before is
 * set.  False if it is not.
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
 * Processes that share a scan take chunks of blocks.  A group that spans two chunks is mostly divided between
 * processes and must be exchanged, so take larger chunks.  Near the end of the table the scan itself shrinks
 * the chunks.  Small tables keep theirs.
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

/* The executor returns the first row of a source, and thereby begins the scan. */
static void
begin_source(FoldSource *source)
{
	source->scan = NULL;
	source->pages = NULL;
	take_longer_chunks(source->state);
	if (source->plain_scan)
	{
		source->scan = ((ScanState *) source->state)->ss_currentScanDesc;
		source->pages = reads_whole_pages(source->scan) ? (HeapScanDesc) source->scan : NULL;
	}
}

/* The next row from the executor, from any source. */
static TupleTableSlot *
given_row(FoldInput *input)
{
	TupleTableSlot *row = ExecProcNode(input->below);
	FoldSource *source = input->sources + (input->append ? input->append->as_whichplan : 0);

	if (TupIsNull(row))
		return NULL;
	if (source != input->source)
		begin_source(source);
	input->source = source;
	return source->slot ? source->slot : row;
}

/* The first row of another page, or the next row of a source that is not read by pages. */
static pg_noinline TupleTableSlot *
next_row(FoldInput *input)
{
	FoldSource *source = input->source;

	if (source == NULL || source->scan == NULL)
		return given_row(input);
	CHECK_FOR_INTERRUPTS();
	if (table_scan_getnextslot(source->scan, ForwardScanDirection, source->slot))
		return source->slot;
	/* A scan that has ended must not be called again: advance the Append instead. */
	if (input->append == NULL || !input->append->choose_next_subplan(input->append))
		return NULL;
	return given_row(input);
}

bool
next_input(FoldInput *input)
{
	for (;;)
	{
		FoldSource *source = input->source;
		TupleTableSlot *row;

		if (source != NULL && source->pages != NULL && next_row_of_page(source->pages, source->slot))
			row = source->slot;
		else
		{
			row = next_row(input);
			if (row == NULL)
				return false;
			source = input->source;
		}
		note_rows_read(1);
		if (source->n_required > 0 && !has_required(source, row))
			continue;
		input->stored_step = NULL;
		if (source->is_placed && read_stored(input, row))
			return true;
		slot_getsomeattrs(row, source->last_position);
		read_columns(source->columns, input->n_columns, row);
		if (input->hashes_steps)
			hash_step(input->args);
		return true;
	}
}
