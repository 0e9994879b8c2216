/*
 * rows.h
 *		Handing columns to the executor as rows of a set-returning function.
 */
#ifndef STEPADV_ROWS_H
#define STEPADV_ROWS_H

#include <math.h>

#include "fmgr.h"

typedef enum ColumnType
{
	COLUMN_INT8,				/* int64 */
	COLUMN_INT4,				/* int32 */
	COLUMN_FLOAT8,				/* double; NaN is NULL */
	COLUMN_BOOL					/* bool */
} ColumnType;

typedef struct ResultColumn
{
	const char *name;			/* as SQL declares it, in any order */
	ColumnType	type;
	const void *values;
	const bool *nulls;			/* by row; NULL: none */
	Size		row_width;		/* values and nulls are fields of structs of so many bytes, one per row; 0: they are arrays */
} ResultColumn;

/* A field of a result row that can be NULL. */
typedef struct NullableInt8
{
	int64		value;
	bool		isnull;
} NullableInt8;

typedef struct NullableInt4
{
	int32		value;
	bool		isnull;
} NullableInt4;

/* Columns that are fields of an array of structs, and are called as these are. */
#define COLUMN_TYPE_OF(field) \
	_Generic((field), int64: COLUMN_INT8, int32: COLUMN_INT4, uint32: COLUMN_INT4, double: COLUMN_FLOAT8, bool: COLUMN_BOOL)
#define FIELD_COLUMN(rows, field) \
	{#field, COLUMN_TYPE_OF((rows)->field), &(rows)->field, NULL, sizeof(*(rows))}
#define NULLABLE_FIELD_COLUMN(rows, field) \
	{#field, COLUMN_TYPE_OF((rows)->field.value), &(rows)->field.value, &(rows)->field.isnull, sizeof(*(rows))}

#define MAX_ROW_COLUMNS 16

/*
 * Give the rows (row i takes entry i of every column) to the caller of a
 * RETURNS TABLE function with these columns, and return from it.  The columns
 * must be in the current memory context, or live longer: a step_scan reads them
 * where they are after the function has returned.
 */
extern Datum return_rows(FunctionCallInfo fcinfo, int n_columns,
						 const ResultColumn *columns, uint64 n_rows);

/* Of a function that is going to return these, of which names and types are known: where SQL declares them. */
extern void match_row_columns(FunctionCallInfo fcinfo, int n_columns, const ResultColumn *columns);

/*
 * Is the column with this number read, of those that return_rows gets?
 * As long as they are not matched, and it has given no rows, yes.
 */
extern bool column_is_asked(FunctionCallInfo fcinfo, int column);

/*
 * Is no column read?  Then the number of rows is all that is needed: for one
 * function among several in a view, say, of which a query names others.
 */
extern bool only_counts_rows(FunctionCallInfo fcinfo);
extern Datum return_row_count(FunctionCallInfo fcinfo, uint64 n_rows);

/*
 * For rows that are not columns of numbers: where a function with so many result
 * columns puts them, described by its ReturnSetInfo's expectedDesc.
 */
#define ANY_COLUMNS (-1)
extern struct Tuplestorestate *begin_rows(FunctionCallInfo fcinfo, int n_columns);

/* Likewise of no group: there are no columns either. */
extern Datum return_no_rows(FunctionCallInfo fcinfo);

/* Return from the function with an array of columns. */
#define RETURN_COLUMNS(columns, n_rows) \
	do { \
		_Static_assert(lengthof(columns) <= MAX_ROW_COLUMNS, "too many result columns"); \
		return return_rows(fcinfo, lengthof(columns), columns, n_rows); \
	} while (0)

/* Entry `row` of a column as a Datum; `isnull` if it has none. */
static inline Datum
column_datum(const ResultColumn *column, uint64 row, bool *isnull)
{
	*isnull = column->nulls != NULL && column->nulls[row];
	switch (column->type)
	{
		case COLUMN_INT8:
			return Int64GetDatum(((const int64 *) column->values)[row]);
		case COLUMN_INT4:
			return Int32GetDatum(((const int32 *) column->values)[row]);
		case COLUMN_BOOL:
			return BoolGetDatum(((const bool *) column->values)[row]);
		case COLUMN_FLOAT8:
			if (isnan(((const double *) column->values)[row]))
				*isnull = true;
			return Float8GetDatum(((const double *) column->values)[row]);
	}
	return (Datum) 0;			/* keep compiler quiet */
}

#endif							/* STEPADV_ROWS_H */
