/*
 * rows.h
 *		Returns columns to the executor as the rows of a set-returning function.
 */
#ifndef STEPADV_ROWS_H
#define STEPADV_ROWS_H

#include <math.h>

#include "fmgr.h"

typedef enum ColumnType
{
	COLUMN_INT8,				/* int64 */
	COLUMN_INT4,				/* int32 */
	COLUMN_FLOAT8,				/* double; NaN means NULL */
	COLUMN_BOOL					/* bool */
} ColumnType;

typedef struct ResultColumn
{
	const char *name;			/* as declared in SQL, in any order */
	ColumnType	type;
	const void *values;
	const bool *nulls;			/* by row; NULL: none */
	Size		row_width;		/* size of the struct with values and nulls as fields, one per row; 0: arrays */
} ResultColumn;

/* A nullable field of a result row. */
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

/* Columns that are fields of an array of structs, with the fields' names. */
#define COLUMN_TYPE_OF(field) \
	_Generic((field), int64: COLUMN_INT8, int32: COLUMN_INT4, uint32: COLUMN_INT4, double: COLUMN_FLOAT8, bool: COLUMN_BOOL)
#define FIELD_COLUMN(rows, field) \
	{#field, COLUMN_TYPE_OF((rows)->field), &(rows)->field, NULL, sizeof(*(rows))}
#define NULLABLE_FIELD_COLUMN(rows, field) \
	{#field, COLUMN_TYPE_OF((rows)->field.value), &(rows)->field.value, &(rows)->field.isnull, sizeof(*(rows))}

#define MAX_ROW_COLUMNS 16

/*
 * Return rows from a RETURNS TABLE function with these columns; row i has entry i of every column.  The
 * columns must be in the current memory context or a longer-lived one: a step scan reads them in place after
 * the function returned.
 */
extern Datum return_rows(FunctionCallInfo fcinfo, int n_columns,
						 const ResultColumn *columns, uint64 n_rows);

/* Match the columns, of which names and types are set, with the SQL declaration, before they are computed. */
extern void match_row_columns(FunctionCallInfo fcinfo, int n_columns, const ResultColumn *columns);

/* Is the column with this index, in the order of return_rows, read?  True until the columns have been matched. */
extern bool column_is_asked(FunctionCallInfo fcinfo, int column);

/*
 * Is no column read?  Then only the number of rows is needed, as for one of several functions in a view if a
 * query reads only columns of others.
 */
extern bool only_counts_rows(FunctionCallInfo fcinfo);
extern Datum return_row_count(FunctionCallInfo fcinfo, uint64 n_rows);

/*
 * For rows that are not columns of numbers: the tuplestore for a function with n_columns result columns,
 * described by expectedDesc of its ReturnSetInfo.
 */
#define ANY_COLUMNS (-1)
extern struct Tuplestorestate *begin_rows(FunctionCallInfo fcinfo, int n_columns);

/* Return no rows, if there is no group. */
extern Datum return_no_rows(FunctionCallInfo fcinfo);

/* Return an array of columns from the function. */
#define RETURN_COLUMNS(columns, n_rows) \
	do { \
		_Static_assert(lengthof(columns) <= MAX_ROW_COLUMNS, "too many result columns"); \
		return return_rows(fcinfo, lengthof(columns), columns, n_rows); \
	} while (0)

/* An entry of a column as a Datum; sets *isnull. */
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
