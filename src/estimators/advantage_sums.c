/*
 * advantage_sums.c
 *		What the views over time add up of a method's advantages in a group: all of
 *		it in one aggregate, where eight cost most of the time.
 *
 * Each is computed as the server's own aggregate of that name does, so that it is
 * the same to the last bit.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "funcapi.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "aggregate.h"

PG_FUNCTION_INFO_V1(stepadv_sum_advantages_trans);
PG_FUNCTION_INFO_V1(stepadv_sum_advantages_final);

/* Columns of stepadv_internal.advantage_sums. */
enum
{
	S_N,
	S_SUM,
	S_ABS_SUM,
	S_SQUARE_SUM,
	S_LEAST,
	S_GREATEST,
	S_N_POSITIVE,
	S_N_NEGATIVE,
	N_SUMS
};

typedef struct AdvantageSums
{
	int64		n;
	int64		n_positive;
	int64		n_negative;
	float8		sum;
	float8		abs_sum;
	float8		square_sum;
	float8		least;
	float8		greatest;
} AdvantageSums;

/* The square of what is less than this is less than a number can be. */
#define LEAST_SQUARED 1e-150

static void
add_advantage(AdvantageSums *sums, float8 advantage)
{
	float8		size = fabs(advantage);
	float8		square = size <= LEAST_SQUARED ? 0 : float8_mul(advantage, advantage);
	bool		is_first = sums->n++ == 0;

	/* The first as it is: 0 + -0 would be 0. */
	sums->sum = is_first ? advantage : float8_pl(sums->sum, advantage);
	sums->abs_sum = is_first ? size : float8_pl(sums->abs_sum, size);
	sums->square_sum = is_first ? square : float8_pl(sums->square_sum, square);
	if (is_first || !float8_lt(sums->least, advantage))
		sums->least = advantage;
	if (is_first || !float8_gt(sums->greatest, advantage))
		sums->greatest = advantage;
	sums->n_positive += float8_gt(advantage, 0);
	sums->n_negative += float8_lt(advantage, 0);
}

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
