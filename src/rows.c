/*
 * rows.c
 *		Columns to rows, once for all set-returning functions.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "column_sink.h"
#include "compat.h"
#include "declaration.h"
#include "rows.h"

const char	column_sink_name[] = "StepAdvColumnSink";

/*
 * The result goes into a tuplestore described by the descriptor that the
 * executor already holds: a look-up of the function's result type, which
 * InitMaterializedSRF would do, costs more than a small group's estimates.
 */
Tuplestorestate *
begin_rows(FunctionCallInfo fcinfo, int n_columns)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Tuplestorestate *rows;
	MemoryContext old;

	if (result == NULL || !IsA(result, ReturnSetInfo) || (result->allowedModes & SFRM_Materialize) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));
	if (n_columns != ANY_COLUMNS && (result->expectedDesc == NULL || result->expectedDesc->natts != n_columns))
		elog(ERROR, "function returns %d columns, its caller expects %d",
			 n_columns, result->expectedDesc ? result->expectedDesc->natts : 0);

	old = MemoryContextSwitchTo(result->econtext->ecxt_per_query_memory);
	rows = tuplestore_begin_heap((result->allowedModes & SFRM_Materialize_Random) != 0, false, work_mem);
	MemoryContextSwitchTo(old);
	result->returnMode = SFRM_Materialize;
	result->setResult = rows;
	result->setDesc = NULL;
	return rows;
}

/* ----------
 * Forming tuples
 *
 * Most columns are of fixed width. Of those alone rows with the same NULLs have the same
 * layout: heap_form_minimal_tuple lays out the first of them, the values of the
 * others are written over it.  That is several times faster than forming each.
 * ----------
 */

typedef struct Template
{
	uint32		null_mask;		/* bit per column */
	TupleTableSlot *slot;		/* holds the tuple; NULL: not made yet */
	char	   *places[MAX_ROW_COLUMNS];	/* of the values in it */
} Template;

/* Columns that can be NULL come in few combinations: look them up by their bits. */
#define N_TEMPLATES 16

static inline Template *
template_for(Template *templates, uint32 null_mask)
{
	return &templates[(null_mask ^ (null_mask >> 4) ^ (null_mask >> 8)) % N_TEMPLATES];
}

static void
make_template(Template *template, uint32 null_mask, TupleDesc desc, const Datum *values)
{
	bool		nulls[MAX_ROW_COLUMNS];
	MinimalTuple tuple;
	Size		offset = 0;

	for (int c = 0; c < desc->natts; c++)
		nulls[c] = (null_mask & (1U << c)) != 0;
	tuple = form_minimal_tuple(desc, (Datum *) values, nulls);
	for (int c = 0; c < desc->natts; c++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, c);

		if (nulls[c])
			continue;
		Assert(attribute->attlen > 0);
		offset = att_align_nominal(offset, attribute->attalign);
		template->places[c] = (char *) tuple - MINIMAL_TUPLE_OFFSET + tuple->t_hoff + offset;
		offset += attribute->attlen;
	}
	if (template->slot == NULL)
		template->slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	ExecStoreMinimalTuple(tuple, template->slot, true);
	template->null_mask = null_mask;
}

static inline bool
is_null(const ResultColumn *column, uint64 row)
{
	return (column->nulls != NULL && column->nulls[row]) ||
		(column->type == COLUMN_FLOAT8 && isnan(((const double *) column->values)[row]));
}

static inline void
write_value(char *place, const ResultColumn *column, uint64 row)
{
	switch (column->type)
	{
		case COLUMN_INT8:
		case COLUMN_FLOAT8:
			memcpy(place, (const int64 *) column->values + row, sizeof(int64));
			break;
		case COLUMN_INT4:
			memcpy(place, (const int32 *) column->values + row, sizeof(int32));
			break;
		case COLUMN_BOOL:
			memcpy(place, (const bool *) column->values + row, sizeof(bool));
			break;
		default:
			Assert(false);
	}
}

/* The tuple of a row, in a slot that the next row may use again. */
static TupleTableSlot *
form_row(Template *templates, TupleDesc desc, const ResultColumn *columns, uint64 row)
{
	Template   *template;
	uint32		null_mask = 0;

	for (int c = 0; c < desc->natts; c++)
		if (is_null(&columns[c], row))
			null_mask |= 1U << c;
	template = template_for(templates, null_mask);
	if (unlikely(template->slot == NULL || template->null_mask != null_mask))
	{
		Datum		values[MAX_ROW_COLUMNS];
		bool		isnull;

		for (int c = 0; c < desc->natts; c++)
			values[c] = column_datum(&columns[c], row, &isnull);
		make_template(template, null_mask, desc, values);
		return template->slot;
	}
	for (int c = 0; c < desc->natts; c++)
		if ((null_mask & (1U << c)) == 0)
			write_value(template->places[c], &columns[c], row);
	return template->slot;
}

static void
store_fixed_rows(Tuplestorestate *rows, TupleDesc desc, const ResultColumn *columns, uint64 n_rows)
{
	Template	templates[N_TEMPLATES] = {{0}};

	for (uint64 i = 0; i < n_rows; i++)
	{
		tuplestore_puttupleslot(rows, form_row(templates, desc, columns, i));
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	for (int t = 0; t < N_TEMPLATES; t++)
		if (templates[t].slot != NULL)
			ExecDropSingleTupleTableSlot(templates[t].slot);
}

/* There are few rows of arrays. */
static void
store_rows_of_arrays(Tuplestorestate *rows, TupleDesc desc, const ResultColumn *columns, uint64 n_rows)
{
	for (uint64 i = 0; i < n_rows; i++)
	{
		Datum		values[MAX_ROW_COLUMNS];
		bool		nulls[MAX_ROW_COLUMNS];

		for (int c = 0; c < desc->natts; c++)
			values[c] = column_datum(&columns[c], i, &nulls[c]);
		tuplestore_putvalues(rows, desc, values, nulls);
		CHECK_FOR_INTERRUPTS();
	}
}

static void
store_rows(FunctionCallInfo fcinfo, int n_columns, const ResultColumn *columns, uint64 n_rows)
{
	Tuplestorestate *rows = begin_rows(fcinfo, n_columns);
	TupleDesc	desc = ((ReturnSetInfo *) fcinfo->resultinfo)->expectedDesc;
	bool		fixed = true;

	for (int c = 0; c < n_columns; c++)
		fixed &= columns[c].type < COLUMN_INT4_ARRAY;
	if (fixed)
		store_fixed_rows(rows, desc, columns, n_rows);
	else
		store_rows_of_arrays(rows, desc, columns, n_rows);
}

/* ----------
 * To whoever asks
 * ----------
 */

static Oid
type_of_column(ColumnType type)
{
	switch (type)
	{
		case COLUMN_INT8:
			return INT8OID;
		case COLUMN_INT4:
			return INT4OID;
		case COLUMN_FLOAT8:
			return FLOAT8OID;
		case COLUMN_BOOL:
			return BOOLOID;
		case COLUMN_INT4_ARRAY:
			return INT4ARRAYOID;
		case COLUMN_FLOAT8_ARRAY:
			return FLOAT8ARRAYOID;
	}
	return InvalidOid;			/* keep compiler quiet */
}

void
match_row_columns(FunctionCallInfo fcinfo, int n_columns, const ResultColumn *columns)
{
	Expected	expected[MAX_ROW_COLUMNS];

	if (declaration_of(fcinfo->flinfo)->columns != NULL)
		return;
	for (int c = 0; c < n_columns; c++)
		expected[c] = (Expected) {columns[c].name, type_of_column(columns[c].type)};
	match_columns(fcinfo->flinfo, expected, n_columns);
}

/* The columns in the order in which SQL declares them. */
static void
order_columns(FunctionCallInfo fcinfo, int n_columns, const ResultColumn *columns, ResultColumn *ordered)
{
	match_row_columns(fcinfo, n_columns, columns);
	for (int c = 0; c < n_columns; c++)
		ordered[declaration_of(fcinfo->flinfo)->columns[c]] = columns[c];
}

Datum
return_rows(FunctionCallInfo fcinfo, int n_columns, const ResultColumn *columns, uint64 n_rows)
{
	ColumnSink *sink = column_sink_of(fcinfo);
	ResultColumn ordered[MAX_ROW_COLUMNS];

	Assert(n_columns <= MAX_ROW_COLUMNS);
	order_columns(fcinfo, n_columns, columns, sink ? sink->columns : ordered);
	if (sink == NULL)
		store_rows(fcinfo, n_columns, ordered, n_rows);
	else if (sink->n_columns != n_columns)
		elog(ERROR, "function returns %d columns, its caller expects %d", n_columns, sink->n_columns);
	else
		sink->n_rows = n_rows;
	return (Datum) 0;
}

bool
only_counts_rows(FunctionCallInfo fcinfo)
{
	const ColumnSink *sink = column_sink_of(fcinfo);

	for (int c = 0; sink != NULL && c < sink->n_columns; c++)
		if (sink->asked[c])
			return false;
	return sink != NULL;
}

Datum
return_row_count(FunctionCallInfo fcinfo, uint64 n_rows)
{
	column_sink_of(fcinfo)->n_rows = n_rows;
	return (Datum) 0;
}

bool
column_is_asked(FunctionCallInfo fcinfo, int column)
{
	const ColumnSink *sink = column_sink_of(fcinfo);
	const int16 *places = declaration_of(fcinfo->flinfo)->columns;

	if (places == NULL)
		return true;
	return sink == NULL || sink->asked[places[column]];
}

Datum
return_no_rows(FunctionCallInfo fcinfo)
{
	ColumnSink *sink = column_sink_of(fcinfo);

	if (sink != NULL)
		sink->n_rows = 0;
	else
		(void) begin_rows(fcinfo, ANY_COLUMNS);
	return (Datum) 0;
}
