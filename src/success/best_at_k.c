/*
 * best_at_k.c
 *		The best score of k rollouts drawn of a task's n without replacement: its
 *		expectation over all subsets, exactly.
 *
 * Of the scores in ascending order x_1 … x_n, x_i is the best of C(i - 1, k - 1) of
 * the C(n, k) subsets (ties: of those with its place).  The weight of x_n is k/n,
 * and that of the one before x_i is that of x_i times (i - k)/(i - 1): factors
 * below 1, no binomial coefficient.  A bootstrap draws with replacement, its best
 * is that of fewer different rollouts, and it says too little.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"

#include "aggregate.h"
#include "arrays.h"
#include "compat.h"
#include "success/k.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_best_at_k_trans);
PG_FUNCTION_INFO_V1(stepadv_best_at_k_combine);
PG_FUNCTION_INFO_V1(stepadv_best_at_k_serialize);
PG_FUNCTION_INFO_V1(stepadv_best_at_k_deserialize);
PG_FUNCTION_INFO_V1(stepadv_best_at_k_final);

typedef struct Scores
{
	int64		n;
	int64		capacity;
	int32		k;				/* 0: no row yet */
	double	   *x;
} Scores;

static Scores *
make_scores(MemoryContext context, int64 capacity)
{
	Scores	   *scores = MemoryContextAllocZero(context, sizeof(Scores));

	scores->capacity = capacity;
	scores->x = MemoryContextAllocHuge(context, capacity * sizeof(double));
	return scores;
}

static void
make_room(Scores *scores, int64 more)
{
	if (scores->n + more <= scores->capacity)
		return;
	scores->capacity = Max(scores->capacity * 2, scores->n + more);
	scores->x = repalloc_huge(scores->x, scores->capacity * sizeof(double));
}

/* best_at_k_trans(internal, score float8, k integer): NULL is not judged. */
Datum
stepadv_best_at_k_trans(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	Scores	   *scores = PG_ARGISNULL(0) ? make_scores(context, 16) : (Scores *) PG_GETARG_POINTER(0);
	int32		k = read_k(&fcinfo->args[2]);
	double		score;

	same_k(scores->k, k);
	scores->k = k;
	if (PG_ARGISNULL(1))
		PG_RETURN_POINTER(scores);
	score = PG_GETARG_FLOAT8(1);
	if (!isfinite(score))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("score must be a finite number, not %g", score),
				 errhint("NULL stands for a rollout that is not judged.")));
	make_room(scores, 1);
	scores->x[scores->n++] = score;
	PG_RETURN_POINTER(scores);
}

Datum
stepadv_best_at_k_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	Scores	   *scores = PG_ARGISNULL(0) ? NULL : (Scores *) PG_GETARG_POINTER(0);
	Scores	   *other = PG_ARGISNULL(1) ? NULL : (Scores *) PG_GETARG_POINTER(1);

	if (other == NULL)
	{
		if (scores == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(scores);
	}
	if (scores == NULL)
		scores = make_scores(context, Max(other->n, 16));
	same_k(scores->k, other->k);
	scores->k = other->k;
	make_room(scores, other->n);
	memcpy(scores->x + scores->n, other->x, other->n * sizeof(double));
	scores->n += other->n;
	PG_RETURN_POINTER(scores);
}

Datum
stepadv_best_at_k_serialize(PG_FUNCTION_ARGS)
{
	Scores	   *scores;
	StringInfoData bytes;

	aggregate_context(fcinfo);
	scores = (Scores *) PG_GETARG_POINTER(0);
	pq_begintypsend(&bytes);
	pq_sendint32(&bytes, scores->k);
	pq_sendint64(&bytes, scores->n);
	for (int64 i = 0; i < scores->n; i++)
		pq_sendfloat8(&bytes, scores->x[i]);
	PG_RETURN_BYTEA_P(pq_endtypsend(&bytes));
}

Datum
stepadv_best_at_k_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *bytes;
	StringInfoData in;
	Scores	   *scores;
	int32		k;
	int64		n;

	aggregate_context(fcinfo);
	bytes = PG_GETARG_BYTEA_PP(0);
	initStringInfo(&in);
	appendBinaryStringInfo(&in, VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes));
	k = (int32) pq_getmsgint(&in, 4);
	n = pq_getmsgint64(&in);
	if (n < 0 || n != (in.len - in.cursor) / (int64) sizeof(double))
		elog(ERROR, "a state of best_at_k has another length than it says");
	scores = make_scores(CurrentMemoryContext, Max(n, 1));
	scores->k = k;
	scores->n = n;
	for (int64 i = 0; i < n; i++)
		scores->x[i] = pq_getmsgfloat8(&in);
	pq_getmsgend(&in);
	PG_RETURN_POINTER(scores);
}

/* The server's sort, which can be cancelled in this form. */
#define ST_SORT sort_descending
#define ST_ELEMENT_TYPE double
#define ST_COMPARE(a, b) (*(a) < *(b) ? 1 : *(a) > *(b) ? -1 : 0)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DECLARE
#define ST_DEFINE
#include "lib/sort_template.h"

Datum
stepadv_best_at_k_final(PG_FUNCTION_ARGS)
{
	Scores	   *scores = PG_ARGISNULL(0) ? NULL : (Scores *) PG_GETARG_POINTER(0);
	double	   *x;
	double		weight;
	Sum			best = {0, 0};

	if (scores == NULL || scores->n < scores->k)
		PG_RETURN_NULL();
	/* The state is left as it is: a window may ask again. */
	x = ALLOCATE_ARRAY(double, scores->n);
	memcpy(x, scores->x, scores->n * sizeof(double));
	sort_descending(x, scores->n);
	weight = (double) scores->k / (double) scores->n;
	for (int64 i = scores->n; i >= scores->k && weight > 0; i--)
	{
		sum_add(&best, weight * x[scores->n - i]);
		if (i > 1)
			weight *= (double) (i - scores->k) / (double) (i - 1);
		if ((i & 0xFFFF) == 0)
			CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_FLOAT8(sum_value(&best));
}
