/*
 * credit_pool.c
 *		credit_pool(sums): what rollouts left out say of a method, over groups.
 *
 * The sums of groups (leave_one_out.h) add up; what is made of the totals is, of sums A, B
 * and C,
 *
 *	share			A / B					coverage, slope; sign agreement is (1 + A/B) / 2
 *	correlation		A / sqrt(B C)
 *
 * Steps of a group are anything but independent, so errors are those of a sample of
 * groups: the square root of G/(G-1) times the sum of the squares of how much each group moves the
 * estimate (its derivative by the totals times the group's own sums): cluster-robust
 * by linearisation, the limit of the jackknife.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "aggregate.h"
#include "arrays.h"
#include "compat.h"
#include "estimators/leave_one_out.h"

PG_FUNCTION_INFO_V1(stepadv_credit_pool_trans);
PG_FUNCTION_INFO_V1(stepadv_credit_pool_final);

typedef struct GroupSums
{
	double		sum[N_CREDIT_SUMS];
} GroupSums;

typedef struct CreditPool
{
	GroupSums  *groups;
	Size		n;
	Size		allocated;
} CreditPool;

static const GroupSums *
sums_argument(FunctionCallInfo fcinfo, int arg)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(arg);

	if (ARR_NDIM(array) != 1 || ARR_DIMS(array)[0] != N_CREDIT_SUMS || ARR_HASNULL(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sums must be %d numbers", N_CREDIT_SUMS),
				 errhint("They are what credit_check gives, and the views that attach makes of it.")));
	return (const GroupSums *) ARR_DATA_PTR(array);
}

Datum
stepadv_credit_pool_trans(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	CreditPool *pool = PG_ARGISNULL(0) ? NULL : (CreditPool *) PG_GETARG_POINTER(0);
	const GroupSums *sums;

	if (pool == NULL)
	{
		pool = MemoryContextAllocZero(context, sizeof(CreditPool));
		pool->allocated = 64;
		pool->groups = MemoryContextAllocHuge(context, pool->allocated * sizeof(GroupSums));
	}
	if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(pool);
	sums = sums_argument(fcinfo, 1);
	/* A group of which nothing could be left out is none. */
	if (sums->sum[CREDIT_STEPS] == 0)
		PG_RETURN_POINTER(pool);
	if (pool->n == pool->allocated)
	{
		pool->allocated *= 2;
		pool->groups = repalloc_huge(pool->groups, pool->allocated * sizeof(GroupSums));
	}
	pool->groups[pool->n++] = *sums;
	PG_RETURN_POINTER(pool);
}

static double
total(const CreditPool *pool, int which)
{
	Sum			sum = {0};

	for (Size g = 0; g < pool->n; g++)
		sum_add(&sum, pool->groups[g].sum[which]);
	return sum_value(&sum);
}

typedef struct Estimate
{
	double		value;			/* NaN: there is none */
	double		error;
} Estimate;

static double
error_of(const CreditPool *pool, const Sum *squares)
{
	return pool->n < 2 ? NAN : sqrt(sum_value(squares) * pool->n / (pool->n - 1.0));
}

/* A / B */
static Estimate
pooled_ratio(const CreditPool *pool, int above, int below)
{
	double		b = total(pool, below);
	double		ratio = b > 0 ? total(pool, above) / b : NAN;
	Sum			squares = {0};

	for (Size g = 0; g < pool->n; g++)
	{
		const double *sum = pool->groups[g].sum;
		double		moved = (sum[above] - ratio * sum[below]) / b;

		sum_add(&squares, moved * moved);
	}
	return (Estimate) {ratio, error_of(pool, &squares)};
}

/* A / sqrt(B C) */
static Estimate
pooled_correlation(const CreditPool *pool, int product, int one, int other)
{
	double		b = total(pool, one);
	double		c = total(pool, other);
	double		scale = sqrt(b) * sqrt(c);
	double		correlation = scale > 0 ? total(pool, product) / scale : NAN;
	Sum			squares = {0};

	for (Size g = 0; g < pool->n; g++)
	{
		const double *sum = pool->groups[g].sum;
		double		moved = sum[product] / scale - correlation * (sum[one] / b + sum[other] / c) / 2;

		sum_add(&squares, moved * moved);
	}
	return (Estimate) {correlation, error_of(pool, &squares)};
}

static void
set_number(double number, Datum *value, bool *isnull)
{
	*isnull = !isfinite(number);
	*value = Float8GetDatum(number);
}

/* The columns of type stepadv.credit. */
enum
{
	GROUPS, ROLLOUTS, STEPS, COVERED, FIRST_ESTIMATE, N_ESTIMATES = 5, N_COLUMNS = FIRST_ESTIMATE + 2 * N_ESTIMATES
};

Datum
stepadv_credit_pool_final(PG_FUNCTION_ARGS)
{
	static const CreditPool none = {0};
	const CreditPool *pool;
	Estimate	estimates[N_ESTIMATES];
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};
	TupleDesc	desc;

	(void) aggregate_context(fcinfo);
	pool = PG_ARGISNULL(0) ? &none : (const CreditPool *) PG_GETARG_POINTER(0);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE || desc->natts != N_COLUMNS)
		elog(ERROR, "credit_pool returns %d columns", N_COLUMNS);

	estimates[0] = pooled_ratio(pool, CREDIT_COVERED, CREDIT_STEPS);
	estimates[1] = pooled_correlation(pool, CREDIT_SAID_HAPPENED, CREDIT_SAID_SQUARE, CREDIT_HAPPENED_SQUARE);
	estimates[2] = pooled_correlation(pool, CREDIT_RANK_HAPPENED, CREDIT_RANK_SQUARE, CREDIT_HAPPENED_SQUARE);
	estimates[3] = pooled_ratio(pool, CREDIT_SIGN_HAPPENED, CREDIT_HAPPENED_SIZE);
	estimates[3] = (Estimate) {(1 + estimates[3].value) / 2, estimates[3].error / 2};
	estimates[4] = pooled_ratio(pool, CREDIT_SAID_HAPPENED, CREDIT_SAID_SQUARE);

	values[GROUPS] = Int64GetDatum((int64) pool->n);
	values[ROLLOUTS] = Int64GetDatum((int64) total(pool, CREDIT_ROLLOUTS));
	values[STEPS] = Int64GetDatum((int64) total(pool, CREDIT_STEPS));
	values[COVERED] = Int64GetDatum((int64) total(pool, CREDIT_COVERED));
	for (int e = 0; e < N_ESTIMATES; e++)
	{
		int			column = FIRST_ESTIMATE + 2 * e;

		set_number(estimates[e].value, &values[column], &nulls[column]);
		set_number(estimates[e].error, &values[column + 1], &nulls[column + 1]);
	}
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
