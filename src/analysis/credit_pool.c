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
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "aggregate.h"
#include "arrays.h"
#include "compat.h"
#include "analysis/leave_one_out.h"

PG_FUNCTION_INFO_V1(stepadv_credit_pool_trans);
PG_FUNCTION_INFO_V1(stepadv_credit_pool_combine);
PG_FUNCTION_INFO_V1(stepadv_credit_pool_final);

typedef struct GroupSums
{
	double		sum[N_CREDIT_SUMS];
} GroupSums;

typedef struct CreditPool
{
	const GroupSums *groups;
	Size		n;
} CreditPool;

/* The groups in an array of numbers, N_CREDIT_SUMS of each; a user gives those of one. */
static CreditPool
groups_of(ArrayType *array, bool only_one)
{
	int			n = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	if (ARR_NDIM(array) > 1 || n % N_CREDIT_SUMS != 0 || (only_one && n != N_CREDIT_SUMS) || ARR_HASNULL(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("sums must be %d numbers", N_CREDIT_SUMS),
				 errhint("They are what credit_check gives, and the views that attach makes of it.")));
	return (CreditPool) {(const GroupSums *) ARR_DATA_PTR(array), n / N_CREDIT_SUMS};
}

/*
 * The state is the sums of all groups, one after the other, in an array: of a type that
 * whatever combines partial states by type can ship.  It grows as an expanded array.
 */
static ExpandedArrayHeader *
pool_state(FunctionCallInfo fcinfo)
{
	MemoryContext context = aggregate_context(fcinfo);
	MemoryContext old;
	ExpandedArrayHeader *state;

	if (PG_ARGISNULL(0))
		return construct_empty_expanded_array(FLOAT8OID, context, NULL);
	old = MemoryContextSwitchTo(context);
	state = DatumGetExpandedArray(PG_GETARG_DATUM(0));
	MemoryContextSwitchTo(old);
	return state;
}

static void
pool_add(ExpandedArrayHeader *state, const GroupSums *group)
{
	deconstruct_expanded_array(state);
	for (int i = 0; i < N_CREDIT_SUMS; i++)
	{
		int			place = state->nelems + 1;

		(void) array_set_element(EOHPGetRWDatum(&state->hdr), 1, &place, Float8GetDatum(group->sum[i]), false,
								 -1, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
	}
}

Datum
stepadv_credit_pool_trans(PG_FUNCTION_ARGS)
{
	ExpandedArrayHeader *state = pool_state(fcinfo);
	CreditPool	given = {0};

	if (!PG_ARGISNULL(1))
		given = groups_of(PG_GETARG_ARRAYTYPE_P(1), true);
	/* A group of which nothing could be left out is none. */
	if (given.n > 0 && given.groups[0].sum[CREDIT_STEPS] != 0)
		pool_add(state, &given.groups[0]);
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->hdr));
}

Datum
stepadv_credit_pool_combine(PG_FUNCTION_ARGS)
{
	ExpandedArrayHeader *state = pool_state(fcinfo);
	CreditPool	other = {0};

	if (!PG_ARGISNULL(1))
		other = groups_of(PG_GETARG_ARRAYTYPE_P(1), false);
	for (Size g = 0; g < other.n; g++)
		pool_add(state, &other.groups[g]);
	PG_RETURN_DATUM(EOHPGetRWDatum(&state->hdr));
}

static int
compare_groups(const void *a, const void *b)
{
	const GroupSums *one = a;
	const GroupSums *other = b;

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < N_CREDIT_SUMS; i++)
		if (one->sum[i] != other->sum[i])
			return one->sum[i] < other->sum[i] ? -1 : 1;
	return 0;
}

/* In an order that is the groups' own: sums do not depend on who came first, to the last bit. */
static CreditPool
ordered_pool(FunctionCallInfo fcinfo)
{
	CreditPool	pool = {0};
	GroupSums  *groups;

	if (PG_ARGISNULL(0))
		return pool;
	pool = groups_of(PG_GETARG_ARRAYTYPE_P(0), false);
	groups = ALLOCATE_ARRAY(GroupSums, pool.n);
	copy_large(groups, pool.groups, pool.n * sizeof(GroupSums));
	qsort(groups, pool.n, sizeof(GroupSums), compare_groups);
	pool.groups = groups;
	return pool;
}

static double
total(const CreditPool *pool, int which)
{
	Sum			sum = {0};

	for (Size g = 0; g < pool->n; g++)
	{
		CHECK_ONCE_IN_A_WHILE(g);
		sum_add(&sum, pool->groups[g].sum[which]);
	}
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

		CHECK_ONCE_IN_A_WHILE(g);
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

		CHECK_ONCE_IN_A_WHILE(g);
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
	CreditPool	ordered;
	const CreditPool *pool = &ordered;
	Estimate	estimates[N_ESTIMATES];
	Datum		values[N_COLUMNS];
	bool		nulls[N_COLUMNS] = {false};
	TupleDesc	desc;

	(void) aggregate_context(fcinfo);
	ordered = ordered_pool(fcinfo);
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
