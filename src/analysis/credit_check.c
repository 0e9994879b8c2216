/*
 * credit_check.c
 *		credit_check(sums): whether candidates predict rollouts, over groups.
 *
 * With sums over all groups, each with one shuffle of its outcomes (x', x and y: see credit_sums.c),
 *
 *	correlation	= sum of x' y / sqrt(sum of x x * sum of y y)
 *
 * The score is the correlation with the actual outcomes minus the mean correlation with shuffled ones.
 * Groups are shuffled independently, so any shuffle of one group can be combined with any of another: N_DRAWS
 * combinations are drawn, the same for all candidates.  With S shuffles the variance of the draws is too small
 * by (S - 1) / S, and their mean has 1 / S of the variance.  The error combines the latter with the larger
 * of two deviations: that of the draws, and that of a sample of G groups, which is the square root of
 * G / (G - 1) times the sum of squares of each group's influence on the correlation (its derivative by the
 * totals times the group's own sums: the limit of the jackknife).  p is the share of draws in which the best
 * candidate, in units of its deviation, is as good by chance (Westfall and Young's single-step maxT).
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "analysis/credit_sums.h"
#include "arrays.h"
#include "hash.h"
#include "rows.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_credit_check);

#define N_DRAWS 999

/* More groups than any data set has: a larger n_groups_needed becomes NULL. */
#define MOST_GROUPS 1e6

/* The array: a row per group and candidate. */
typedef struct Pool
{
	const double *sums;
	uint32		n_groups;
	uint32		n_candidates;
	uint32		n_shuffles;		/* including number 0, the actual outcomes */
	uint32		width;			/* of a row */
} Pool;

typedef struct Totals
{
	double		xy;
	double		xx;
	double		yy;
} Totals;

/* One candidate. */
typedef struct Standing
{
	Totals		totals;
	double		correlation;
	double		chance;			/* mean of the draws */
	double		deviation;		/* of the draws */
	double		jackknife;
	double	   *moved;			/* by group: its influence on the correlation */
	double	   *draws;
} Standing;

static const double *
row_of(const Pool *pool, uint32 group, uint32 candidate)
{
	return pool->sums + ((Size) group * pool->n_candidates + candidate) * pool->width;
}

static const double *
triple_of(const Pool *pool, uint32 group, uint32 candidate, uint32 shuffle)
{
	return row_of(pool, group, candidate) + N_COUNTS + 3 * (Size) shuffle;
}

static Pool
read_pool(ArrayType *array)
{
	int			n_dims = ARR_NDIM(array);
	int			n = ArrayGetNItems(n_dims, ARR_DIMS(array));
	int			width = n_dims > 0 ? ARR_DIMS(array)[n_dims - 1] : 0;
	Pool		pool = {(const double *) ARR_DATA_PTR(array)};

	if (n == 0)
		return pool;
	pool.width = (uint32) width;
	pool.n_groups = n_dims == 1 ? 1 : (uint32) ARR_DIMS(array)[0];
	pool.n_candidates = (uint32) n / pool.width / pool.n_groups;
	pool.n_shuffles = (pool.width - N_COUNTS) / 3;
	if (width < N_COUNTS + 9 || (width - N_COUNTS) % 3 != 0 || ARR_HASNULL(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sums were not made by credit_sums"),
				 errhint("Use array_agg(credit_sums(...)) over groups with equal numbers of candidates and of shuffles (at least 2).")));
	return pool;
}

static void
add_triple(Sum sums[3], const double *triple)
{
	for (int i = 0; i < 3; i++)
		sum_add(&sums[i], triple[i]);
}

static Totals
totals_of(const Sum sums[3])
{
	return (Totals) {sum_value(&sums[0]), sum_value(&sums[1]), sum_value(&sums[2])};
}

static double
correlation_of(Totals totals)
{
	double		scale = sqrt(totals.xx) * sqrt(totals.yy);

	return scale > 0 ? totals.xy / scale : NAN;
}

static void
measure(const Pool *pool, uint32 candidate, Standing *standing)
{
	Sum			sums[3] = {{0}};
	double		scale;
	Sum			squares = {0};

	for (uint32 g = 0; g < pool->n_groups; g++)
		add_triple(sums, triple_of(pool, g, candidate, 0));
	standing->totals = totals_of(sums);
	standing->correlation = correlation_of(standing->totals);
	standing->moved = ALLOCATE_ARRAY(double, pool->n_groups);
	scale = sqrt(standing->totals.xx) * sqrt(standing->totals.yy);
	for (uint32 g = 0; g < pool->n_groups; g++)
	{
		const double *own = triple_of(pool, g, candidate, 0);

		standing->moved[g] = own[0] / scale -
			standing->correlation * (own[1] / standing->totals.xx + own[2] / standing->totals.yy) / 2;
		sum_add(&squares, standing->moved[g] * standing->moved[g]);
	}
	standing->jackknife = pool->n_groups < 2 ? NAN :
		sqrt(sum_value(&squares) * pool->n_groups / (pool->n_groups - 1.0));
}

/* One shuffle of each group, the same for all candidates. */
static void
draw_shuffles(const Pool *pool, uint32 draw, Standing *standings)
{
	for (uint32 k = 0; k < pool->n_candidates; k++)
	{
		Sum			sums[3] = {{0}};

		for (uint32 g = 0; g < pool->n_groups; g++)
		{
			uint32		z = 1 + (uint64) hash_int64_onto(g, draw) % (pool->n_shuffles - 1);

			add_triple(sums, triple_of(pool, g, k, z));
		}
		standings[k].draws[draw] = correlation_of(totals_of(sums));
	}
}

/* Mean and standard deviation; numbers that are not finite count as 0. */
static void
describe(double *numbers, uint32 n, double *mean, double *deviation)
{
	Sum			sum = {0};
	Sum			squares = {0};

	for (uint32 i = 0; i < n; i++)
	{
		if (!isfinite(numbers[i]))
			numbers[i] = 0;
		sum_add(&sum, numbers[i]);
	}
	*mean = sum_value(&sum) / n;
	for (uint32 i = 0; i < n; i++)
		sum_add(&squares, (numbers[i] - *mean) * (numbers[i] - *mean));
	*deviation = sqrt(sum_value(&squares) / (n - 1));
}

static void
measure_chance(const Pool *pool, Standing *standings)
{
	for (uint32 k = 0; k < pool->n_candidates; k++)
	{
		standings[k].chance = NAN;
		standings[k].deviation = NAN;
		standings[k].draws = ALLOCATE_ARRAY(double, N_DRAWS);
	}
	for (uint32 d = 0; d < N_DRAWS; d++)
	{
		CHECK_FOR_INTERRUPTS();
		draw_shuffles(pool, d, standings);
	}
	for (uint32 k = 0; k < pool->n_candidates; k++)
		describe(standings[k].draws, N_DRAWS, &standings[k].chance, &standings[k].deviation);
}

/* Corrects the deviation of draws from few shuffles to that of all shuffles. */
static double
few_shuffles(const Pool *pool)
{
	return sqrt((pool->n_shuffles - 1.0) / (pool->n_shuffles - 2.0));
}

/* The error of the score: the larger of the deviation by chance and the jackknife's, plus that of the draws' mean. */
static double
error_of(const Pool *pool, double deviation, double jackknife)
{
	double		chance = deviation * few_shuffles(pool);

	return hypot(fmax(chance, jackknife), chance / sqrt(pool->n_shuffles - 1.0));
}

/* The probability that by chance the best candidate of a draw is at least z deviations above its mean. */
static double
find_p(const Pool *pool, const Standing *standings, double z)
{
	uint32		n = 0;

	if (!isfinite(z))
		return NAN;
	for (uint32 d = 0; d < N_DRAWS; d++)
	{
		double		best = -INFINITY;

		for (uint32 k = 0; k < pool->n_candidates; k++)
			if (standings[k].deviation > 0)
				best = Max(best, (standings[k].draws[d] - standings[k].chance) / standings[k].deviation);
		n += best >= z;
	}
	return (n + 1.0) / (N_DRAWS + 1);
}

/* The error of the difference of two candidates' scores. */
static double
paired_error(const Pool *pool, const Standing *one, const Standing *other)
{
	double	   *differences = ALLOCATE_ARRAY(double, N_DRAWS);
	Sum			squares = {0};
	double		mean;
	double		deviation;
	double		jackknife;

	for (uint32 g = 0; g < pool->n_groups; g++)
		sum_add(&squares, (one->moved[g] - other->moved[g]) * (one->moved[g] - other->moved[g]));
	jackknife = pool->n_groups < 2 ? NAN : sqrt(sum_value(&squares) * pool->n_groups / (pool->n_groups - 1.0));
	for (uint32 d = 0; d < N_DRAWS; d++)
		differences[d] = one->draws[d] - other->draws[d];
	describe(differences, N_DRAWS, &mean, &deviation);
	pfree(differences);
	return error_of(pool, deviation, jackknife);
}

/* A candidate's row of the result; is_best is set last. */
typedef struct StandingRow
{
	int64		candidate;
	int64		n_groups;
	int64		n_steps;
	double		coverage;
	double		score;
	double		error;
	double		by_chance;
	double		p_value;
	NullableInt8 n_groups_needed;
	bool		is_best;
} StandingRow;

static StandingRow
describe_standing(const Pool *pool, const Standing *standings, uint32 k)
{
	const Standing *standing = &standings[k];
	StandingRow row = {k + 1, pool->n_groups};
	Sum			n_steps = {0};
	Sum			covered = {0};
	double		needed;

	for (uint32 g = 0; g < pool->n_groups; g++)
	{
		sum_add(&n_steps, row_of(pool, g, k)[COUNT_STEPS]);
		sum_add(&covered, row_of(pool, g, k)[COUNT_COVERED]);
	}
	row.n_steps = (int64) sum_value(&n_steps);
	row.coverage = row.n_steps > 0 ? sum_value(&covered) / sum_value(&n_steps) : NAN;
	row.by_chance = standing->chance;
	row.score = standing->correlation - standing->chance;
	row.error = error_of(pool, standing->deviation, standing->jackknife);
	row.p_value = find_p(pool, standings, row.score / error_of(pool, standing->deviation, 0));
	needed = ceil(pool->n_groups * pow(2 * row.error / row.score, 2));
	row.n_groups_needed.isnull = !(row.score > 0 && needed <= MOST_GROUPS);
	row.n_groups_needed.value = row.n_groups_needed.isnull ? 0 : (int64) needed;
	return row;
}

Datum
stepadv_credit_check(PG_FUNCTION_ARGS)
{
	Pool		pool = read_pool(PG_GETARG_ARRAYTYPE_P(0));
	Standing   *standings = ALLOCATE_ZEROED_ARRAY(Standing, pool.n_candidates);
	StandingRow *rows = ALLOCATE_ARRAY(StandingRow, pool.n_candidates);
	uint32		best = 0;

	for (uint32 k = 0; k < pool.n_candidates; k++)
		measure(&pool, k, &standings[k]);
	measure_chance(&pool, standings);
	for (uint32 k = 0; k < pool.n_candidates; k++)
	{
		rows[k] = describe_standing(&pool, standings, k);
		if (rows[k].score > rows[best].score || isnan(rows[best].score))
			best = k;
	}
	for (uint32 k = 0; k < pool.n_candidates; k++)
		rows[k].is_best = k == best ? !isnan(rows[k].score) :
			rows[k].score >= rows[best].score - paired_error(&pool, &standings[k], &standings[best]);

	{
		ResultColumn columns[] = {
			FIELD_COLUMN(rows, candidate),
			FIELD_COLUMN(rows, n_groups),
			FIELD_COLUMN(rows, n_steps),
			FIELD_COLUMN(rows, coverage),
			FIELD_COLUMN(rows, score),
			FIELD_COLUMN(rows, error),
			FIELD_COLUMN(rows, by_chance),
			FIELD_COLUMN(rows, p_value),
			NULLABLE_FIELD_COLUMN(rows, n_groups_needed),
			FIELD_COLUMN(rows, is_best),
		};

		RETURN_COLUMNS(columns, pool.n_candidates);
	}
}
