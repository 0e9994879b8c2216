#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "arrays.h"
#include "column_sink.h"
#include "declaration.h"
#include "rows.h"

const char	column_sink_name[] = "StepAdvColumnSink";

/*
 * Create the result as a tuplestore, using the descriptor that the executor already has: looking up the
 * function's result type, as InitMaterializedSRF does, takes longer than the estimates of a small group.
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

static void
store_rows(FunctionCallInfo fcinfo, int n_columns, const ResultColumn *columns, uint64 n_rows)
{
	Tuplestorestate *rows = begin_rows(fcinfo, n_columns);
	TupleDesc	desc = ((ReturnSetInfo *) fcinfo->resultinfo)->expectedDesc;

	for (uint64 i = 0; i < n_rows; i++)
	{
		Datum		values[MAX_ROW_COLUMNS];
		bool		nulls[MAX_ROW_COLUMNS];

		for (int c = 0; c < n_columns; c++)
			values[c] = column_datum(&columns[c], i, &nulls[c]);
		tuplestore_putvalues(rows, desc, values, nulls);
		CHECK_ONCE_IN_A_WHILE(i);
	}
}

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

/* Put the columns in the order in which SQL declares them. */
static void
order_columns(FunctionCallInfo fcinfo, int n_columns, const ResultColumn *columns, ResultColumn *ordered)
{
	match_row_columns(fcinfo, n_columns, columns);
	for (int c = 0; c < n_columns; c++)
		ordered[declaration_of(fcinfo->flinfo)->columns[c]] = columns[c];
}

static Size
width_of_type(ColumnType type)
{
	return type == COLUMN_BOOL ? sizeof(bool) : type == COLUMN_INT4 ? sizeof(int32) : sizeof(int64);
}

static void *
gather_fields(const void *field, Size row_width, Size width, uint64 n_rows)
{
	char	   *gathered = ALLOCATE_ARRAY(char, n_rows * width);

	for (uint64 i = 0; i < n_rows; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		memcpy(gathered + i * width, (const char *) field + i * row_width, width);
	}
	return gathered;
}

/* Copy a column of struct fields to arrays. */
static void
gather_column(ResultColumn *column, uint64 n_rows)
{
	if (column->row_width == 0)
		return;
	column->values = gather_fields(column->values, column->row_width, width_of_type(column->type), n_rows);
	if (column->nulls != NULL)
		column->nulls = gather_fields(column->nulls, column->row_width, sizeof(bool), n_rows);
	column->row_width = 0;
}

Datum
return_rows(FunctionCallInfo fcinfo, int n_columns, const ResultColumn *columns, uint64 n_rows)
{
	ColumnSink *sink = column_sink_of(fcinfo);
	ResultColumn ordered[MAX_ROW_COLUMNS];
	ResultColumn *result = sink ? sink->columns : ordered;

	Assert(n_columns <= MAX_ROW_COLUMNS);
	order_columns(fcinfo, n_columns, columns, result);
	for (int c = 0; c < n_columns; c++)
		if (sink == NULL || c >= sink->n_columns || sink->asked[c])
			gather_column(&result[c], n_rows);
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
