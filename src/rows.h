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
	ColumnType	type;
	const void *values;
	const bool *nulls;			/* by row; NULL: none */
} ResultColumn;

#define MAX_ROW_COLUMNS 16

/*
 * Give the rows (row i takes entry i of every column) to the caller of a
 * RETURNS TABLE function with these columns, and return from it.
 */
extern Datum return_rows(FunctionCallInfo fcinfo, int n_columns,
						 const ResultColumn *columns, uint64 n_rows);

#endif							/* STEPADV_ROWS_H */
