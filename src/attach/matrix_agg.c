/*
 * matrix_agg.c
 *		matrix_agg(numbers…): an array with a row per row and a column per argument, in the order of the rows.
 *
 * Returns what array_agg(ARRAY[…]) returns, without an array for each row.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "aggregate.h"
#include "arrays.h"

PG_FUNCTION_INFO_V1(stepadv_matrix_agg_trans);
PG_FUNCTION_INFO_V1(stepadv_matrix_agg_final);

#define FEW_ROWS 64

/* In the layout of SQL arrays: the numbers that are not NULL, and a bit for every place. */
typedef struct Rows
{
	int			width;
	uint64		n_rows;
	uint64		n_numbers;
	uint64		room;			/* in rows, a multiple of 8 */
	double	   *numbers;
	uint8	   *known;
} Rows;

static Rows *
new_rows(FunctionCallInfo fcinfo, MemoryContext context)
{
	Rows	   *rows = MemoryContextAllocZero(context, sizeof(Rows));

	rows->width = PG_NARGS() - 1;
	for (int i = 1; i <= rows->width; i++)
		if (get_fn_expr_argtype(fcinfo->flinfo, i) != FLOAT8OID)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("argument %d of matrix_agg must be double precision", i)));
	rows->room = FEW_ROWS;
	rows->numbers = MemoryContextAlloc(context, sizeof(double) * rows->width * FEW_ROWS);
	rows->known = MemoryContextAllocZero(context, rows->width * FEW_ROWS / 8);
	return rows;
}

static void
make_room(Rows *rows)
{
	Size		n_bytes = rows->width * rows->room / 8;

	rows->room *= 2;
	rows->numbers = repalloc_huge(rows->numbers, array_size(rows->room * rows->width, sizeof(double)));
	rows->known = repalloc_huge(rows->known, 2 * n_bytes);
	memset(rows->known + n_bytes, 0, n_bytes);
}

/* matrix_agg_trans(internal, VARIADIC numbers "any"): each double precision. */
Datum
stepadv_matrix_agg_trans(PG_FUNCTION_ARGS)
{
	Rows	   *rows = PG_ARGISNULL(0) ? new_rows(fcinfo, aggregate_context(fcinfo)) : (Rows *) PG_GETARG_POINTER(0);
	uint64		place = rows->n_rows * rows->width;

	if (rows->n_rows == rows->room)
		make_room(rows);
	for (int i = 1; i <= rows->width; i++, place++)
	{
		if (PG_ARGISNULL(i))
			continue;
		rows->known[place / 8] |= 1 << place % 8;
		rows->numbers[rows->n_numbers++] = PG_GETARG_FLOAT8(i);
	}
	rows->n_rows++;
	PG_RETURN_POINTER(rows);
}

/* NULL over no rows. */
Datum
stepadv_matrix_agg_final(PG_FUNCTION_ARGS)
{
	const Rows *rows = (const Rows *) PG_GETARG_POINTER(0);
	uint64		n = rows->n_rows * rows->width;
	bool		has_nulls = rows->n_numbers < n;
	Size		header = has_nulls ? ARR_OVERHEAD_WITHNULLS(2, n) : ARR_OVERHEAD_NONULLS(2);
	ArrayType  *array;

	(void) aggregate_context(fcinfo);
	if (n > MaxArraySize || rows->n_numbers * sizeof(double) > MaxAllocSize - header)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("array size exceeds the maximum allowed (%d)", (int) MaxArraySize)));
	array = palloc(header + rows->n_numbers * sizeof(double));
	SET_VARSIZE(array, header + rows->n_numbers * sizeof(double));
	array->ndim = 2;
	array->dataoffset = has_nulls ? header : 0;
	array->elemtype = FLOAT8OID;
	ARR_DIMS(array)[0] = rows->n_rows;
	ARR_DIMS(array)[1] = rows->width;
	ARR_LBOUND(array)[0] = ARR_LBOUND(array)[1] = 1;
	if (has_nulls)
		copy_large((char *) array + ARR_OVERHEAD_NONULLS(2), rows->known, (n + 7) / 8);
	copy_large(ARR_DATA_PTR(array), rows->numbers, rows->n_numbers * sizeof(double));
	PG_RETURN_ARRAYTYPE_P(array);
}
