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

ProgressValue *
statistics_of_rollouts(RolloutSum *const *rollouts, uint64 n, int dimension)
{
	ProgressValue *statistics = progress_allocate(PROGRESS_STATISTICS, dimension, 0);
	double	   *rows[GRAM_ROWS];
	Sum			outcome = {0};
	Sum			square = {0};

	for (int k = 0; k < GRAM_ROWS; k++)
		rows[k] = ALLOCATE_ARRAY(double, dimension + 1);
	for (uint64 first = 0; first < n; first += GRAM_ROWS)
	{
		double		y[GRAM_ROWS];

		for (int k = 0; k < GRAM_ROWS; k++)
		{
			const RolloutSum *rollout;

			/* A vector of zeros adds nothing. */
			if (first + k >= n)
			{
				memset(rows[k], 0, (dimension + 1) * sizeof(double));
				y[k] = 0;
				continue;
			}
			rollout = rollouts[first + k];
			memcpy(rows[k], rollout->sum, dimension * sizeof(double));
			rows[k][dimension] = (double) rollout->n_steps;
			y[k] = rollout->outcome;
			sum_add(&outcome, y[k]);
			sum_add(&square, y[k] * y[k]);
			statistics->n_steps += rollout->n_steps;
		}
		gram_add(statistics->numbers + STATISTICS_GRAM(dimension), statistics->numbers + STATISTICS_PRODUCTS,
				 rows, y, dimension + 1);
		CHECK_FOR_INTERRUPTS();
	}
	statistics->n_rollouts = (int64) n;
	statistics->numbers[STATISTICS_OUTCOME] = sum_value(&outcome);
	statistics->numbers[STATISTICS_SQUARE] = sum_value(&square);
	for (int k = 0; k < GRAM_ROWS; k++)
		pfree(rows[k]);
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
	ProgressValue *statistics = n == 0 ? NULL : statistics_of_rollouts(rollouts, n, rollout_sums_dimension(sums));

	pfree(rollouts);
	return statistics;
}

void
statistics_add(ProgressValue *statistics, const ProgressValue *other)
{
	Size		n = (VARSIZE(statistics) - offsetof(ProgressValue, numbers)) / sizeof(double);

	Assert(statistics->dimension == other->dimension);
	for (Size i = 0; i < n; i++)
		statistics->numbers[i] += other->numbers[i];
	statistics->n_rollouts += other->n_rollouts;
	statistics->n_steps += other->n_steps;
	refuse_overflow(statistics);
	CHECK_FOR_INTERRUPTS();
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
	statistics_add(left, right);
	PG_RETURN_POINTER(progress_seal(left));
}
