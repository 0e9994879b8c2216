/*
 * matrix_agg.c
 *		matrix_agg(numbers…): an array with a row per row and a column per argument, in the order of the rows.
 *
 * Returns what array_agg(ARRAY[…]) returns, without an array for each row.  If the rows are those of a StepScan,
 * takes them from its columns, all at once, instead of having the executor pass each of them.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "aggregate.h"
#include "arrays.h"
#include "plan/scan/step_scan_state.h"

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
	StepScanState *scan;		/* or NULL */
	const StepColumn *columns[FUNC_MAX_ARGS];	/* of the scan */
} Rows;

/*
 * The scan that all rows come from, for this aggregate alone, and its columns that are the arguments; NULL if there
 * is none.
 */
static StepScanState *
scan_below(FunctionCallInfo fcinfo, const StepColumn **columns)
{
	const Aggref *call = AggGetAggref(fcinfo);
	const AggState *agg = (const AggState *) fcinfo->context;
	const Agg  *plan;
	StepScanState *scan;
	ListCell   *cell;

	if (call == NULL || call->aggfilter != NULL || call->aggorder != NIL || call->aggdistinct != NIL || list_length(agg->aggs) != 1)
		return NULL;
	plan = castNode(Agg, agg->ss.ps.plan);
	scan = bare_step_scan(outerPlanState(agg));
	if (scan == NULL || plan->aggstrategy != AGG_PLAIN || plan->groupingSets != NIL)
		return NULL;
	foreach(cell, call->args)
	{
		const Var  *column = (const Var *) lfirst_node(TargetEntry, cell)->expr;
		int			i = 0;

		while (i < scan->n_columns && !(IsA(column, Var) && scan->columns[i].place == column->varattno - 1))
			i++;
		if (i == scan->n_columns)
			return NULL;
		*columns++ = &scan->columns[i];
	}
	return scan;
}

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
	rows->scan = scan_below(fcinfo, rows->columns);
	return rows;
}

static void
make_room(Rows *rows)
{
	Size		n_bytes = rows->width * rows->room / 8;

	if (rows->n_rows < rows->room)
		return;
	rows->room *= 2;
	rows->numbers = repalloc_huge(rows->numbers, array_size(rows->room * rows->width, sizeof(double)));
	rows->known = repalloc_huge(rows->known, 2 * n_bytes);
	memset(rows->known + n_bytes, 0, n_bytes);
}

static inline void
add_number(Rows *rows, int column, double number)
{
	uint64		place = rows->n_rows * rows->width + column;

	rows->known[place / 8] |= 1 << place % 8;
	rows->numbers[rows->n_numbers++] = number;
}

/* The current row of the scan and those that follow. */
static void
add_scanned_rows(Rows *rows)
{
	StepScanState *scan = rows->scan;

	for (uint64 row = scan->row - 1; row < scan->n_rows; row++)
	{
		CHECK_ONCE_IN_A_WHILE(row);
		make_room(rows);
		for (int i = 0; i < rows->width; i++)
		{
			const StepColumn *column = rows->columns[i];
			const double *numbers = column->result.values;

			if (row < column->n_rows && !isnan(numbers[row]) && (column->result.nulls == NULL || !column->result.nulls[row]))
				add_number(rows, i, numbers[row]);
		}
		rows->n_rows++;
	}
	scan->row = scan->n_rows;
}

/* matrix_agg_trans(internal, VARIADIC numbers "any"): each double precision. */
Datum
stepadv_matrix_agg_trans(PG_FUNCTION_ARGS)
{
	Rows	   *rows = PG_ARGISNULL(0) ? new_rows(fcinfo, aggregate_context(fcinfo)) : (Rows *) PG_GETARG_POINTER(0);

	if (rows->scan != NULL)
		add_scanned_rows(rows);
	else
	{
		make_room(rows);
		for (int i = 1; i <= rows->width; i++)
			if (!PG_ARGISNULL(i))
				add_number(rows, i - 1, PG_GETARG_FLOAT8(i));
		rows->n_rows++;
	}
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
