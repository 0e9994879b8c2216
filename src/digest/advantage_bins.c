/*
 * advantage_bins.c
 *		The distribution of advantages in little room: how many steps are in each
 *		bin of 1/2048.
 *
 * The bins of a group are a bytea: for each in ascending order its distance from
 * the one before (from 0, zigzag) and its count, as integers of seven bits a byte,
 * the lowest first, of which all but the last have the eighth.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "aggregate.h"
#include "arrays.h"
#include "compat.h"
#include "digest/advantage_bins.h"

PG_FUNCTION_INFO_V1(stepadv_advantage_bins_trans);
PG_FUNCTION_INFO_V1(stepadv_advantage_bins_final);
PG_FUNCTION_INFO_V1(stepadv_sum_of_bins_trans);
PG_FUNCTION_INFO_V1(stepadv_sum_of_bins_final);

static counts_hash *
bins_argument(FunctionCallInfo fcinfo)
{
	return PG_ARGISNULL(0) ? counts_create(aggregate_context(fcinfo), 256, NULL) : (counts_hash *) PG_GETARG_POINTER(0);
}

/* advantage_bins_trans(internal, advantage float8): NULL is in no bin. */
Datum
stepadv_advantage_bins_trans(PG_FUNCTION_ARGS)
{
	counts_hash *bins;

	if (PG_ARGISNULL(1) && PG_ARGISNULL(0))
		PG_RETURN_NULL();
	bins = bins_argument(fcinfo);
	if (!PG_ARGISNULL(1))
		count_number(bins, bin_of_advantage(PG_GETARG_FLOAT8(1)), 1);
	PG_RETURN_POINTER(bins);
}

static void
append_number(StringInfo bytes, uint64 number)
{
	for (; number >= 0x80; number >>= 7)
		appendStringInfoCharMacro(bytes, (char) (number | 0x80));
	appendStringInfoCharMacro(bytes, (char) number);
}

static uint64
read_number(const uint8 **byte, const uint8 *end)
{
	uint64		number = 0;

	for (int shift = 0; shift < 64; shift += 7)
	{
		if (*byte == end)
			break;
		number |= (uint64) (**byte & 0x7F) << shift;
		if (*(*byte)++ < 0x80)
			return number;
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("the bins of a group end within a number")));
}

bytea *
bins_as_bytes(const Counted *sorted, int64 n)
{
	uint64		before = 0;
	StringInfoData bytes;

	initStringInfo(&bytes);
	appendStringInfoSpaces(&bytes, VARHDRSZ);
	for (int64 i = 0; i < n; i++)
	{
		int64		distance = (int64) ((uint64) sorted[i].number - before);

		append_number(&bytes, (uint64) distance << 1 ^ (uint64) (distance >> 63));
		append_number(&bytes, (uint64) sorted[i].n);
		before = (uint64) sorted[i].number;
	}
	SET_VARSIZE(bytes.data, bytes.len);
	return (bytea *) bytes.data;
}

/* The bins as a bytea. */
Datum
stepadv_advantage_bins_final(PG_FUNCTION_ARGS)
{
	int64		n;
	const Counted *sorted = sorted_counts((counts_hash *) PG_GETARG_POINTER(0), &n);

	PG_RETURN_BYTEA_P(bins_as_bytes(sorted, n));
}

/* sum_of_bins_trans(internal, bins bytea) */
Datum
stepadv_sum_of_bins_trans(PG_FUNCTION_ARGS)
{
	counts_hash *bins = bins_argument(fcinfo);
	bytea	   *group = PG_ARGISNULL(1) ? NULL : PG_GETARG_BYTEA_PP(1);
	const uint8 *byte;
	const uint8 *end;
	uint64		bin = 0;

	CHECK_FOR_INTERRUPTS();
	if (group == NULL)
		PG_RETURN_POINTER(bins);
	byte = (const uint8 *) VARDATA_ANY(group);
	end = byte + VARSIZE_ANY_EXHDR(group);
	while (byte < end)
	{
		uint64		zigzag = read_number(&byte, end);

		bin += zigzag >> 1 ^ -(zigzag & 1);
		count_number(bins, (int64) bin, (int64) read_number(&byte, end));
	}
	PG_RETURN_POINTER(bins);
}

/* A row of the middles of the bins and the counts. */
Datum
stepadv_sum_of_bins_final(PG_FUNCTION_ARGS)
{
	int64		n;
	const Counted *sorted = sorted_counts((counts_hash *) PG_GETARG_POINTER(0), &n);
	Datum	   *middles = ALLOCATE_ARRAY(Datum, n);
	Datum	   *counts = ALLOCATE_ARRAY(Datum, n);
	Datum		values[2];
	bool		nulls[2] = {false, false};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "sum_of_bins_final returns no row");
	for (int64 i = 0; i < n; i++)
	{
		middles[i] = Float8GetDatum((double) sorted[i].number / BINS_OF_ONE + 0.5 / BINS_OF_ONE);
		counts[i] = Int64GetDatum(sorted[i].n);
	}
	values[0] = PointerGetDatum(construct_array(middles, (int) n, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	values[1] = PointerGetDatum(construct_array(counts, (int) n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
