/*
 * advantage_sums.c
 *		What the views over time add up of a method's advantages in a group: all of
 *		it in one aggregate, where eight cost most of the time.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "aggregate.h"
#include "digest/advantage_sums.h"

PG_FUNCTION_INFO_V1(stepadv_sum_advantages_trans);
PG_FUNCTION_INFO_V1(stepadv_sum_advantages_final);

/* sum_advantages(advantage) */
Datum
stepadv_sum_advantages_trans(PG_FUNCTION_ARGS)
{
	AdvantageSums *sums = PG_ARGISNULL(0) ? NULL : (AdvantageSums *) PG_GETARG_POINTER(0);

	if (sums == NULL)
		sums = MemoryContextAllocZero(aggregate_context(fcinfo), sizeof(AdvantageSums));
	if (!PG_ARGISNULL(1))
		add_advantage(sums, PG_GETARG_FLOAT8(1));
	PG_RETURN_POINTER(sums);
}

static Datum
count_datum(int64 n)
{
	if (n > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("integer out of range")));
	return Int32GetDatum((int32) n);
}

Datum
stepadv_sum_advantages_final(PG_FUNCTION_ARGS)
{
	AdvantageSums none = {0};
	const AdvantageSums *sums = PG_ARGISNULL(0) ? &none : (const AdvantageSums *) PG_GETARG_POINTER(0);
	Datum		values[N_SUMS];
	bool		nulls[N_SUMS] = {false};
	TupleDesc	desc;
	HeapTuple	row;

	(void) aggregate_context(fcinfo);
	values[S_N] = count_datum(sums->n);
	values[S_SUM] = Float8GetDatum(sums->sum);
	values[S_ABS_SUM] = Float8GetDatum(sums->abs_sum);
	values[S_SQUARE_SUM] = Float8GetDatum(sums->square_sum);
	values[S_LEAST] = Float8GetDatum(sums->least);
	values[S_GREATEST] = Float8GetDatum(sums->greatest);
	values[S_N_POSITIVE] = count_datum(sums->n_positive);
	values[S_N_NEGATIVE] = count_datum(sums->n_negative);
	for (int i = S_SUM; i <= S_GREATEST; i++)
		nulls[i] = sums->n == 0;
	desc = lookup_rowtype_tupdesc(get_func_rettype(fcinfo->flinfo->fn_oid), -1);
	row = heap_form_tuple(desc, values, nulls);
	ReleaseTupleDesc(desc);
	PG_RETURN_DATUM(HeapTupleGetDatum(row));
}
