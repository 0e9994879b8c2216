/*
 * rows.c
 *		Columns to rows, once for all set-returning functions.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "rows.h"

/*
 * The result goes into a tuplestore described by the descriptor that the
 * executor already holds: a look-up of the function's result type, which
 * InitMaterializedSRF would do, costs more than a small group's estimates.
 */
static Tuplestorestate *
begin_rows(FunctionCallInfo fcinfo, int n_columns)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Tuplestorestate *rows;
	MemoryContext old;

	if (result == NULL || !IsA(result, ReturnSetInfo) || (result->allowedModes & SFRM_Materialize) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));
	if (result->expectedDesc == NULL || result->expectedDesc->natts != n_columns)
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

Datum
return_rows(FunctionCallInfo fcinfo, int n_columns, const ResultColumn *columns, uint64 n_rows)
{
	Tuplestorestate *rows = begin_rows(fcinfo, n_columns);
	TupleDesc	desc = ((ReturnSetInfo *) fcinfo->resultinfo)->expectedDesc;
	Datum	   *values = palloc(n_columns * sizeof(Datum));
	bool	   *nulls = palloc0(n_columns * sizeof(bool));

	for (uint64 i = 0; i < n_rows; i++)
	{
		for (int c = 0; c < n_columns; c++)
		{
			const ResultColumn *column = &columns[c];

			nulls[c] = column->nulls != NULL && column->nulls[i];
			switch (column->type)
			{
				case COLUMN_INT8:
					values[c] = Int64GetDatum(((const int64 *) column->values)[i]);
					break;
				case COLUMN_INT4:
					values[c] = Int32GetDatum(((const int32 *) column->values)[i]);
					break;
				case COLUMN_BOOL:
					values[c] = BoolGetDatum(((const bool *) column->values)[i]);
					break;
				case COLUMN_FLOAT8:
					{
						double		number = ((const double *) column->values)[i];

						values[c] = Float8GetDatum(number);
						if (isnan(number))
							nulls[c] = true;
						break;
					}
			}
		}
		tuplestore_putvalues(rows, desc, values, nulls);
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return (Datum) 0;
}
