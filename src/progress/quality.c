/*
 * quality.c
 *		How well contributions add up to outcomes: mean squared error, R2, rank
 *		correlation (Spearman), calibration by decile.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"

#include "arrays.h"
#include "progress/quality.h"
#include "sum.h"

#define N_BINS 10

/* A number and the place it came from. */
typedef struct Placed
{
	double		number;
	uint64		place;
} Placed;

/* Equal numbers stay in the order of their places, so results are reproducible. */
static inline int
compare_placed(const Placed *a, const Placed *b)
{
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

#define ST_SORT sort_placed
#define ST_ELEMENT_TYPE Placed
#define ST_COMPARE(a, b) compare_placed(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

static Placed *
sorted(const double *x, uint64 n)
{
	Placed	   *placed = ALLOCATE_ARRAY(Placed, n);

	for (uint64 i = 0; i < n; i++)
		placed[i] = (Placed) {x[i], i};
	sort_placed(placed, n);
	return placed;
}

/* Equal numbers share the mean of their ranks. */
static double *
ranks(const Placed *placed, uint64 n)
{
	double	   *rank = ALLOCATE_ARRAY(double, n);

	for (uint64 first = 0, end; first < n; first = end)
	{
		for (end = first + 1; end < n && placed[end].number == placed[first].number;)
			end++;
		for (uint64 i = first; i < end; i++)
			rank[placed[i].place] = (first + end - 1) / 2.0;
	}
	return rank;
}

static double
mean(const double *x, uint64 n)
{
	Sum			sum = {0};

	for (uint64 i = 0; i < n; i++)
		sum_add(&sum, x[i]);
	return sum_value(&sum) / n;
}

/* NaN where one of the two does not vary. */
static double
correlation(const double *x, const double *y, uint64 n)
{
	double		mean_x = mean(x, n);
	double		mean_y = mean(y, n);
	Sum			xx = {0};
	Sum			yy = {0};
	Sum			xy = {0};

	for (uint64 i = 0; i < n; i++)
	{
		sum_add(&xx, (x[i] - mean_x) * (x[i] - mean_x));
		sum_add(&yy, (y[i] - mean_y) * (y[i] - mean_y));
		sum_add(&xy, (x[i] - mean_x) * (y[i] - mean_y));
	}
	if (sum_value(&xx) == 0 || sum_value(&yy) == 0)
		return NAN;
	return Max(-1, Min(1, sum_value(&xy) / sqrt(sum_value(&xx) * sum_value(&yy))));
}

typedef struct Bin
{
	uint64		n;
	Sum			predicted;
	Sum			outcome;
} Bin;

/* Rollouts in the order of what is predicted, cut into ten as ntile(10) does; fewer rollouts leave the last empty. */
static void
fill_bins(const Placed *by_prediction, const double *outcome, uint64 n, Bin bins[N_BINS])
{
	uint64		next = 0;

	memset(bins, 0, N_BINS * sizeof(Bin));
	for (int b = 0; b < N_BINS; b++)
	{
		bins[b].n = n / N_BINS + (b < n % N_BINS ? 1 : 0);
		for (uint64 i = 0; i < bins[b].n; i++, next++)
		{
			sum_add(&bins[b].predicted, by_prediction[next].number);
			sum_add(&bins[b].outcome, outcome[by_prediction[next].place]);
		}
	}
}

/* How far the mean outcome of a tenth is from the mean prediction, in the mean. */
static double
calibration_error(const Bin bins[N_BINS], uint64 n)
{
	Sum			error = {0};

	for (int b = 0; b < N_BINS; b++)
	{
		Sum			difference = bins[b].predicted;

		sum_add(&difference, -bins[b].outcome.high);
		sum_add(&difference, -bins[b].outcome.low);
		sum_add(&error, fabs(sum_value(&difference)));
	}
	return sum_value(&error) / n;
}

Datum
quality_row(RolloutSum *const *rollouts, uint64 n, TupleDesc desc)
{
	double	   *predicted = ALLOCATE_ARRAY(double, n);
	double	   *outcome = ALLOCATE_ARRAY(double, n);
	Placed	   *by_prediction;
	Bin			bins[N_BINS];
	int64		n_steps = 0;
	double		mean_outcome;
	Sum			error = {0};
	Sum			spread = {0};
	bool		constant = true;
	double		rank_correlation;
	Datum		values[6];
	bool		nulls[6] = {false};

	for (uint64 i = 0; i < n; i++)
	{
		predicted[i] = rollouts[i]->contribution;
		outcome[i] = rollouts[i]->outcome;
	}
	mean_outcome = mean(outcome, n);
	for (uint64 i = 0; i < n; i++)
	{
		n_steps += rollouts[i]->n_steps;
		constant = constant && outcome[i] == outcome[0];
		sum_add(&error, (predicted[i] - outcome[i]) * (predicted[i] - outcome[i]));
		sum_add(&spread, (outcome[i] - mean_outcome) * (outcome[i] - mean_outcome));
	}
	if (!isfinite(sum_value(&error)) || !isfinite(sum_value(&spread)))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a squared error of contributions is out of range for type double precision")));
	by_prediction = sorted(predicted, n);
	rank_correlation = correlation(ranks(by_prediction, n), ranks(sorted(outcome, n), n), n);
	fill_bins(by_prediction, outcome, n, bins);

	values[0] = Int64GetDatum((int64) n);
	values[1] = Int64GetDatum(n_steps);
	values[2] = Float8GetDatum(sum_value(&error) / n);
	nulls[3] = constant;
	values[3] = Float8GetDatum(constant ? 0 : 1 - sum_value(&error) / sum_value(&spread));
	nulls[4] = isnan(rank_correlation);
	values[4] = Float8GetDatum(rank_correlation);
	values[5] = Float8GetDatum(calibration_error(bins, n));
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}
