/*
 * readers.c
 *		Readers of a digest: digest_counts (a row), and digest_advantages, digest_histogram, digest_quadrants,
 *		digest_differences, digest_calls, digest_call_advantages, digest_measures and digest_horizons (rows,
 *		or none).
 *
 * Shares and means of nothing are NULL.  Percentiles are those of percentile_cont, for numbers rounded by
 * number_key.  A sum that is out of range causes an error when it is read.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "digest/bytes.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_digest_counts);
PG_FUNCTION_INFO_V1(stepadv_digest_advantages);
PG_FUNCTION_INFO_V1(stepadv_digest_histogram);
PG_FUNCTION_INFO_V1(stepadv_digest_quadrants);
PG_FUNCTION_INFO_V1(stepadv_digest_differences);
PG_FUNCTION_INFO_V1(stepadv_digest_calls);
PG_FUNCTION_INFO_V1(stepadv_digest_call_advantages);
PG_FUNCTION_INFO_V1(stepadv_digest_measures);
PG_FUNCTION_INFO_V1(stepadv_digest_horizons);

/* ----------
 * Rows
 * ----------
 */

#define MOST_COLUMNS 12

typedef struct Row
{
	Tuplestorestate *rows;
	TupleDesc	desc;
	int			n;
	Datum		values[MOST_COLUMNS];
	bool		nulls[MOST_COLUMNS];
} Row;

static Row
begin_row(FunctionCallInfo fcinfo, int n_columns)
{
	Row			row = {.rows = begin_rows(fcinfo, n_columns)};

	row.desc = ((ReturnSetInfo *) fcinfo->resultinfo)->expectedDesc;
	return row;
}

static void
end_row(Row *row)
{
	if (row->n != row->desc->natts)
		elog(ERROR, "a row has %d columns, not %d", row->n, row->desc->natts);
	tuplestore_putvalues(row->rows, row->desc, row->values, row->nulls);
	row->n = 0;
	CHECK_FOR_INTERRUPTS();
}

static void
put(Row *row, Datum value, bool isnull)
{
	row->values[row->n] = value;
	row->nulls[row->n++] = isnull;
}

static void
put_text(Row *row, const Category *text)
{
	put(row, text->bytes == NULL ? (Datum) 0 : PointerGetDatum(cstring_to_text_with_len(text->bytes, (int) text->length)), text->bytes == NULL);
}

static void
put_count(Row *row, int64 count)
{
	put(row, Int64GetDatum(count), false);
}

static double
in_range(double number)
{
	if (isinf(number))
		float_overflow_error();
	return number;
}

/* NaN becomes NULL. */
static void
put_number(Row *row, double number)
{
	put(row, Float8GetDatum(isnan(number) ? 0 : in_range(number)), isnan(number));
}

static double
share(double part, int64 of)
{
	return of > 0 ? part / of : NAN;
}

/* ----------
 * Counts
 * ----------
 */

/* The result's descriptor, looked up once per query. */
static TupleDesc
row_type(FunctionCallInfo fcinfo)
{
	TupleDesc	desc = fcinfo->flinfo->fn_extra;

	if (desc == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);

		if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
			elog(ERROR, "digest_counts returns no row");
		desc = BlessTupleDesc(CreateTupleDescCopy(desc));
		fcinfo->flinfo->fn_extra = desc;
		MemoryContextSwitchTo(old);
	}
	return desc;
}

/* The rewards received, by component; NULL for a component without any; 0 if there are no components. */
static Datum
reward_sums(const Digest *digest)
{
	int			n = digest->n_rewards;
	Datum	   *sums = palloc(sizeof(Datum) * Max(n, 1));
	bool	   *nulls = palloc(Max(n, 1));
	int			lower = 1;

	if (n == 0)
		return (Datum) 0;
	for (int i = 0; i < n; i++)
	{
		nulls[i] = digest->rewards[i].n == 0;
		sums[i] = Float8GetDatum(in_range(sum_value(&digest->rewards[i].sum)));
	}
	return PointerGetDatum(construct_md_array(sums, nulls, 1, &n, &lower, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

Datum
stepadv_digest_counts(PG_FUNCTION_ARGS)
{
	const Digest *digest = digest_argument(fcinfo, PARTS_ALWAYS);
	TupleDesc	desc = row_type(fcinfo);
	Datum		values[N_DIGEST_COUNTS + 2];
	bool		nulls[N_DIGEST_COUNTS + 2] = {false};

	if (desc->natts != N_DIGEST_COUNTS + 2)
		elog(ERROR, "digest_counts is not declared as its C code expects");
	for (int i = 0; i < N_DIGEST_COUNTS; i++)
		values[i] = Int64GetDatum(digest->counts[i]);
	nulls[N_DIGEST_COUNTS] = digest->counts[COUNT_JUDGED] == 0;
	values[N_DIGEST_COUNTS] = Float8GetDatum(in_range(sum_value(&digest->returns)));
	nulls[N_DIGEST_COUNTS + 1] = digest->n_rewards == 0;
	values[N_DIGEST_COUNTS + 1] = reward_sums(digest);
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/* ----------
 * Advantages
 * ----------
 */

/* The sample standard deviation (ddof 1). */
static double
standard_deviation(const AdvantageTotals *totals)
{
	double		sum = sum_value(&totals->sum);
	double		squares = in_range(sum_value(&totals->square_sum));

	if (totals->n < 2)
		return NAN;
	if (fabs(sum) > 1e-150)
		squares -= sum * sum / totals->n;
	return sqrt(Max(squares, 0) / (totals->n - 1));
}

/* method, n_steps, mean_abs_advantage, mean_advantage, sd_advantage, min_advantage, max_advantage, n_positive, n_negative */
Datum
stepadv_digest_advantages(PG_FUNCTION_ARGS)
{
	const Digest *digest = digest_argument(fcinfo, 1 << PART_ADVANTAGES);
	Row			row = begin_row(fcinfo, 9);

	for (int i = 0; i < digest->n_methods; i++)
	{
		const AdvantageTotals *totals = &digest->advantages[i];

		if (totals->n == 0)
			continue;
		put_text(&row, &digest->methods[i]);
		put_count(&row, totals->n);
		put_number(&row, share(sum_value(&totals->abs_sum), totals->n));
		put_number(&row, share(sum_value(&totals->sum), totals->n));
		put_number(&row, standard_deviation(totals));
		put_number(&row, totals->least);
		put_number(&row, totals->greatest);
		put_count(&row, totals->n_positive);
		put_count(&row, totals->n_negative);
		end_row(&row);
	}
	return (Datum) 0;
}

/* method, bin (its middle), n_steps */
Datum
stepadv_digest_histogram(PG_FUNCTION_ARGS)
{
	const Digest *digest = digest_argument(fcinfo, 1 << PART_HISTOGRAM);
	Row			row = begin_row(fcinfo, 3);

	for (int i = 0; i < digest->n_methods; i++)
	{
		counts_hash *bins = digest->advantages[i].bins;
		int64		n = 0;
		const Counted *sorted = bins == NULL ? NULL : sorted_counts(bins, &n);

		for (int64 b = 0; b < n; b++)
		{
			put_text(&row, &digest->methods[i]);
			put_number(&row, ((double) sorted[b].number + 0.5) / BINS_OF_ONE);
			put_count(&row, sorted[b].n);
			end_row(&row);
		}
	}
	return (Datum) 0;
}

/* ----------
 * Signs
 * ----------
 */

#define N_DIGITS 4

static int
digit_of(int64 pattern, int place)
{
	return pattern >> 2 * (place + 1) & 3;
}

/* Count steps by outcome and the digits of two methods. */
static void
count_quadrants(const Counted *patterns, int64 n, int a, int b, int64 counts[N_OUTCOMES][N_DIGITS][N_DIGITS])
{
	memset(counts, 0, sizeof(int64) * N_OUTCOMES * N_DIGITS * N_DIGITS);
	for (int64 i = 0; i < n; i++)
	{
		int			outcome = patterns[i].number & 3;

		if (outcome < N_OUTCOMES)
			counts[outcome][digit_of(patterns[i].number, a)][digit_of(patterns[i].number, b)] += patterns[i].n;
	}
}

static void
put_quadrants(Row *row, const Category *a, const Category *b, int outcome, int64 counts[N_DIGITS][N_DIGITS])
{
	static const char signs[] = "-0+";
	int64		all = 0;
	int64		unknown = 0;

	for (int i = 0; i < N_DIGITS; i++)
		for (int j = 0; j < N_DIGITS; j++)
			*(i < 3 && j < 3 ? &all : &unknown) += counts[i][j];
	for (int i = 0; i < 10; i++)
	{
		int64		n = i < 9 ? counts[i / 3][i % 3] : unknown;
		char		quadrant[2] = {signs[i / 3 % 3], signs[i % 3]};

		if (n == 0)
			continue;
		put_text(row, a);
		put_text(row, b);
		put(row, BoolGetDatum(outcome == OUTCOME_SUCCESS), outcome == OUTCOME_UNKNOWN);
		put_text(row, &(Category) {i < 9 ? quadrant : NULL, 2});
		put_count(row, n);
		put_number(row, i < 9 ? share(n, all) : NAN);
		end_row(row);
	}
}

/* method_a, method_b (in either order), success, quadrant (NULL: one of them has no advantage), n_steps, share */
Datum
stepadv_digest_quadrants(PG_FUNCTION_ARGS)
{
	const Digest *digest = digest_argument(fcinfo, 1 << PART_SIGNS);
	Row			row = begin_row(fcinfo, 6);
	int64		n = 0;
	const Counted *patterns = digest->signs == NULL ? NULL : sorted_counts(digest->signs, &n);
	int64		counts[N_OUTCOMES][N_DIGITS][N_DIGITS];

	for (int a = 0; n > 0 && a < digest->n_methods; a++)
	{
		for (int b = 0; b < digest->n_methods; b++)
		{
			if (a == b)
				continue;
			count_quadrants(patterns, n, a, b, counts);
			for (int outcome = 0; outcome < N_OUTCOMES; outcome++)
				put_quadrants(&row, &digest->methods[a], &digest->methods[b], outcome, counts[outcome]);
		}
	}
	return (Datum) 0;
}

/* method_a, method_b, max_difference */
Datum
stepadv_digest_differences(PG_FUNCTION_ARGS)
{
	const Digest *digest = digest_argument(fcinfo, 1 << PART_SIGNS);
	Row			row = begin_row(fcinfo, 3);
	int			n_pairs = digest_n_pairs(digest);
	int			pair = 0;

	for (int a = 0; pair < n_pairs; a++)
	{
		for (int b = a + 1; b < digest->n_methods; b++, pair++)
		{
			if (digest->apart[pair] <= 0)
				continue;
			put_text(&row, &digest->methods[a]);
			put_text(&row, &digest->methods[b]);
			put_number(&row, digest->apart[pair]);
			end_row(&row);
		}
	}
	return (Datum) 0;
}

/* ----------
 * Calls
 * ----------
 */

/* category, n_calls, n_errors, error_share, grounded_share, n_repeats, repeat_share */
Datum
stepadv_digest_calls(PG_FUNCTION_ARGS)
{
	const Digest *digest = digest_argument(fcinfo, 1 << PART_CALLS);
	Row			row = begin_row(fcinfo, 7);

	for (int i = 0; i < digest->n_calls; i++)
	{
		const int64 *counts = digest->calls[i].counts;

		if (counts[CALLS] == 0)
			continue;
		put_text(&row, &digest->calls[i].category);
		put_count(&row, counts[CALLS]);
		put_count(&row, counts[CALLS_FAILED]);
		put_number(&row, share(counts[CALLS_FAILED], counts[CALLS_JUDGED]));
		put_number(&row, share(counts[CALLS_GROUNDED], counts[CALLS_LOOKED_AT]));
		put_count(&row, counts[CALLS_REPEATED]);
		put_number(&row, share(counts[CALLS_REPEATED], counts[CALLS]));
		end_row(&row);
	}
	return (Datum) 0;
}

/* category, method, n_steps, mean_advantage, mean_abs_advantage, n_positive, n_negative */
Datum
stepadv_digest_call_advantages(PG_FUNCTION_ARGS)
{
	const Digest *digest = digest_argument(fcinfo, 1 << PART_CALLS);
	Row			row = begin_row(fcinfo, 7);

	for (int i = 0; i < digest->n_calls; i++)
	{
		for (int m = 0; m < digest->n_methods; m++)
		{
			const AdvantageTotals *totals = &digest->calls[i].methods[m];

			if (totals->n == 0)
				continue;
			put_text(&row, &digest->calls[i].category);
			put_text(&row, &digest->methods[m]);
			put_count(&row, totals->n);
			put_number(&row, share(sum_value(&totals->sum), totals->n));
			put_number(&row, share(sum_value(&totals->abs_sum), totals->n));
			put_count(&row, totals->n_positive);
			put_count(&row, totals->n_negative);
			end_row(&row);
		}
	}
	return (Datum) 0;
}

/* ----------
 * Rollouts
 * ----------
 */

/* The number at a place, from 0, of all numbers in order. */
static double
number_at(const Counted *sorted, int64 n, int64 place)
{
	for (int64 i = 0; i < n; i++)
	{
		if (place < sorted[i].n)
			return number_of_key(sorted[i].number);
		place -= sorted[i].n;
	}
	return NAN;
}

static double
percentile(const Counted *sorted, int64 n, double fraction)
{
	int64		all = 0;
	double		place;
	double		low;
	double		high;

	for (int64 i = 0; i < n; i++)
		all += sorted[i].n;
	if (all == 0)
		return NAN;
	place = fraction * (all - 1);
	low = number_at(sorted, n, (int64) floor(place));
	high = number_at(sorted, n, (int64) ceil(place));
	return low + (place - floor(place)) * (high - low);
}

/* measure, n_rollouts, mean, p50, p95, per_success */
Datum
stepadv_digest_measures(PG_FUNCTION_ARGS)
{
	const Digest *digest = digest_argument(fcinfo, 1 << PART_MEASURES);
	Row			row = begin_row(fcinfo, 6);

	for (int i = 0; i < digest->n_measures; i++)
	{
		const MeasureTotals *totals = &digest->measured[i];
		int64		n = 0;
		const Counted *sorted = totals->numbers == NULL ? NULL : sorted_counts(totals->numbers, &n);

		put_text(&row, &digest->measures[i]);
		put_count(&row, totals->n);
		put_number(&row, share(sum_value(&totals->sum), totals->n));
		put_number(&row, percentile(sorted, n, 0.5));
		put_number(&row, percentile(sorted, n, 0.95));
		put_number(&row, share(sum_value(&totals->judged_sum), totals->n_successes));
		end_row(&row);
	}
	return (Datum) 0;
}

/* horizon, n_rollouts, n_successes, success_rate, mean_steps, mean_excess, p50_excess */
Datum
stepadv_digest_horizons(PG_FUNCTION_ARGS)
{
	const Digest *digest = digest_argument(fcinfo, 1 << PART_HORIZONS);
	Row			row = begin_row(fcinfo, 7);
	horizon_iterator scan;
	const Horizon *horizon;

	if (digest->horizons == NULL)
		return (Datum) 0;
	horizon_start_iterate(digest->horizons, &scan);
	while ((horizon = horizon_iterate(digest->horizons, &scan)) != NULL)
	{
		int64		n = 0;
		const Counted *sorted = horizon->excesses == NULL ? NULL : sorted_counts(horizon->excesses, &n);

		put_number(&row, horizon->key == NO_HORIZON ? NAN : number_of_exact_key(horizon->key));
		put_count(&row, horizon->n);
		put_count(&row, horizon->n_successes);
		put_number(&row, share(horizon->n_successes, horizon->n));
		put_number(&row, share(horizon->n_steps, horizon->n));
		put_number(&row, horizon->key == NO_HORIZON ? NAN : share(sum_value(&horizon->excess), horizon->n_successes));
		put_number(&row, percentile(sorted, n, 0.5));
		end_row(&row);
	}
	return (Datum) 0;
}
