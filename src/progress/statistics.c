/*
 * statistics.c
 *		progress_statistics: all that a linear fit needs to know of its rollouts,
 *		and the aggregate that adds them up.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"

#include "arrays.h"
#include "compat.h"
#include "progress/kernels.h"
#include "progress/statistics.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_progress_statistics_merge);

static void
refuse_overflow(const ProgressValue *statistics)
{
	Size		n = (VARSIZE(statistics) - offsetof(ProgressValue, numbers)) / sizeof(double);

	for (Size i = 0; i < n; i++)
		if (!isfinite(statistics->numbers[i]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("a sum of products of features or outcomes is out of range for type double precision")));
}

/* GRAM_ROWS dense rows at once; y: their targets, n of them. */
static void
add_dense_rows(ProgressValue *statistics, const LeastSquares *problem, uint64 first, int n, double **room)
{
	int			dimension = problem->rows->dimension;
	double	   *sums = statistics->numbers + STATISTICS_SUMS(dimension);
	double		y[GRAM_ROWS] = {0};

	for (int k = 0; k < GRAM_ROWS; k++)
	{
		const FitRow *row = &problem->rows->row[first + k];
		double		root;

		/* A vector of zeros adds nothing. */
		if (k >= n)
		{
			memset(room[k], 0, (dimension + 1) * sizeof(double));
			continue;
		}
		memcpy(room[k], row->x, dimension * sizeof(double));
		room[k][dimension] = row->n_steps;
		y[k] = problem->target == NULL ? row->outcome : problem->target[first + k];
		if (problem->weight != NULL)
		{
			root = sqrt(problem->weight[first + k]);
			for (int i = 0; i <= dimension; i++)
				room[k][i] *= root;
			y[k] *= root;
			numbers_add_scaled(sums, room[k], root, dimension + 1);
		}
		else
			numbers_add_scaled(sums, room[k], 1, dimension + 1);
	}
	gram_add(statistics->numbers + STATISTICS_GRAM(dimension), statistics->numbers + STATISTICS_PRODUCTS,
			 room, y, dimension + 1);
}

static void
add_sparse_row(ProgressValue *statistics, const LeastSquares *problem, uint64 i)
{
	const FitRow *row = &problem->rows->row[i];
	int			dimension = problem->rows->dimension;
	double		weight = problem->weight == NULL ? 1 : problem->weight[i];
	double		y = problem->target == NULL ? row->outcome : problem->target[i];
	double	   *gram = statistics->numbers + STATISTICS_GRAM(dimension);
	double	   *last = gram + PACKED_ROW(dimension);
	double	   *products = statistics->numbers + STATISTICS_PRODUCTS;
	double	   *sums = statistics->numbers + STATISTICS_SUMS(dimension);

	gram_add_at(gram, row->column, row->x, weight, row->n);
	numbers_add_scaled_at(last, row->column, row->x, weight * row->n_steps, row->n);
	last[dimension] += weight * row->n_steps * row->n_steps;
	numbers_add_scaled_at(products, row->column, row->x, weight * y, row->n);
	products[dimension] += weight * y * row->n_steps;
	numbers_add_scaled_at(sums, row->column, row->x, weight, row->n);
	sums[dimension] += weight * row->n_steps;
}

ProgressValue *
statistics_of_rows(const LeastSquares *problem)
{
	const FitRows *rows = problem->rows;
	ProgressValue *statistics = progress_allocate(PROGRESS_STATISTICS, PROGRESS_VERSION_2, rows->dimension);
	double	   *room[GRAM_ROWS];
	Sum			outcome = {0};
	Sum			square = {0};

	for (uint64 i = 0; i < rows->n; i++)
	{
		double		weight = problem->weight == NULL ? 1 : problem->weight[i];
		double		y = problem->target == NULL ? rows->row[i].outcome : problem->target[i];

		sum_add(&outcome, weight * y);
		sum_add(&square, weight * y * y);
	}
	for (int k = 0; k < GRAM_ROWS; k++)
		room[k] = ALLOCATE_ARRAY(double, rows->dimension + 1);
	for (uint64 first = 0; first < rows->n; first += GRAM_ROWS)
	{
		int			n = (int) Min(rows->n - first, GRAM_ROWS);

		if (rows->place == NULL)
			add_dense_rows(statistics, problem, first, n, room);
		else
			for (int k = 0; k < n; k++)
				add_sparse_row(statistics, problem, first + k);
		CHECK_FOR_INTERRUPTS();
	}
	statistics->n_rollouts = (int64) rows->n;
	statistics->n_steps = rows->n_steps;
	statistics->numbers[STATISTICS_OUTCOME] = sum_value(&outcome);
	statistics->numbers[STATISTICS_SQUARE] = sum_value(&square);
	for (int k = 0; k < GRAM_ROWS; k++)
		pfree(room[k]);
	refuse_overflow(statistics);
	return statistics;
}

/*
 * Rollouts come in the order of their ids, so the same rollouts give the same
 * bits whatever the order of rows and the number of workers.
 */
ProgressValue *
statistics_of_sums(RolloutSums *sums)
{
	uint64		n;
	RolloutSum **rollouts = rollout_sums_judged(sums, &n);
	FitRows		rows;

	if (n == 0)
		return NULL;
	rows = fit_rows_of(sums, rollouts, n);
	return statistics_of_rows(&(LeastSquares) {.rows = &rows});
}

void
statistics_add(ProgressValue *statistics, const ProgressValue *other)
{
	Size		n = (VARSIZE(statistics) - offsetof(ProgressValue, numbers)) / sizeof(double);

	Assert(statistics->dimension == other->dimension && statistics->version == other->version);
	for (Size i = 0; i < n; i++)
		statistics->numbers[i] += other->numbers[i];
	statistics->n_rollouts += other->n_rollouts;
	statistics->n_steps += other->n_steps;
	refuse_overflow(statistics);
	CHECK_FOR_INTERRUPTS();
}

/* Without what version 1 did not know, which a sum with such statistics does not know either. */
static ProgressValue *
statistics_of_version_1(const ProgressValue *statistics)
{
	ProgressValue *known = progress_allocate(PROGRESS_STATISTICS, PROGRESS_VERSION_1, statistics->dimension);

	known->n_rollouts = statistics->n_rollouts;
	known->n_steps = statistics->n_steps;
	memcpy(known->numbers, statistics->numbers, STATISTICS_SUMS(statistics->dimension) * sizeof(double));
	return known;
}

/* Transition and combine function of rollup(progress_statistics); strict. */
Datum
stepadv_progress_statistics_merge(PG_FUNCTION_ARGS)
{
	struct varlena *stored = PG_GETARG_VARLENA_P(0);
	ProgressValue *left;
	const ProgressValue *right = progress_open(PG_GETARG_VARLENA_P(1), TYPE_STATISTICS);

	/* The state is ours to change; what was just detoasted is too. */
	if (!AggCheckCallContext(fcinfo, NULL) && (Pointer) stored == PG_GETARG_POINTER(0))
		stored = (struct varlena *) PG_DETOAST_DATUM_COPY(PG_GETARG_DATUM(0));
	left = progress_open(stored, TYPE_STATISTICS);
	if (left->dimension != right->dimension)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("statistics of %u and of %u features cannot be merged", left->dimension, right->dimension)));
	if (left->version != right->version)
	{
		left = statistics_of_version_1(left);
		right = statistics_of_version_1(right);
	}
	statistics_add(left, right);
	PG_RETURN_POINTER(progress_seal(left));
}
