/*
 * rollout_sums.c
 *		Sums of feature vectors by rollout, from rows in any order.
 *
 * The sums are plain doubles of singles: below a few hundred million times the
 * smallest feature nothing is rounded at all, so it does not matter either in
 * which order, and by how many workers, they were added.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "arrays.h"
#include "progress/kernels.h"
#include "progress/rollout_sums.h"
#include "progress/value.h"

#define SH_PREFIX rollout_sum
#define SH_ELEMENT_TYPE RolloutSum
#define SH_KEY_TYPE int64
#define SH_KEY rollout_id
#define HASH_ROLLOUT(key) hash_bytes((const unsigned char *) &(key), sizeof(int64))
#define SH_HASH_KEY(table, key) look_on_the_way(HASH_ROLLOUT(key))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DEFINE
#define SH_DECLARE
#include "hash_table.h"

typedef RolloutSum *RolloutSumPointer;

#define ST_SORT sort_rollout_sums
#define ST_ELEMENT_TYPE RolloutSumPointer
#define ST_COMPARE(a, b) ((*(a))->rollout_id < (*(b))->rollout_id ? -1 : (*(a))->rollout_id > (*(b))->rollout_id)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

#define FIRST_TABLE_SIZE 16

#define MOST_WAITING 32

/* A step whose rollout is looked up together with others': its slot has been asked for meanwhile. */
typedef struct WaitingStep
{
	int64		rollout_id;
	double		outcome;
} WaitingStep;

struct RolloutSums
{
	MemoryContext context;
	rollout_sum_hash *table;
	int			dimension;		/* of dense features, SPARSE_DIMENSION or NO_FEATURES; 0: no step yet */
	int64		first_rollout;	/* that set it */

	/* Features, of which the last n_waiting do not know their rollout yet. */
	SparseSums	features;
	int			n_waiting;
	WaitingStep waiting[MOST_WAITING];
};

RolloutSums *
rollout_sums_create(MemoryContext context)
{
	RolloutSums *sums = MemoryContextAllocZero(context, sizeof(RolloutSums));

	sums->context = context;
	sparse_sums_init(&sums->features, context);
	sums->table = rollout_sum_create(context, FIRST_TABLE_SIZE, NULL);
	return sums;
}

int
rollout_sums_dimension(const RolloutSums *sums)
{
	return sums->dimension;
}

static inline void
require_dimension(RolloutSums *sums, int64 rollout_id, int dimension)
{
	if (likely(sums->dimension == dimension))
		return;
	if (sums->dimension != 0)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("features of rollout " INT64_FORMAT " have %d elements, those of rollout " INT64_FORMAT " have %d",
						rollout_id, dimension, sums->first_rollout, sums->dimension)));
	sums->dimension = dimension;
	sums->first_rollout = rollout_id;
}

static RolloutSum *
find_rollout(RolloutSums *sums, int64 rollout_id)
{
	bool		found;
	RolloutSum *rollout = rollout_sum_insert(sums->table, rollout_id, &found);

	if (!found)
	{
		rollout->n_steps = 0;
		rollout->outcome = NAN;
		rollout->contribution = 0;
		rollout->number = sums->table->members - 1;
	}
	return rollout;
}

/* The rollout's outcome, if it is not NaN; error if it has another already. */
static void
rollout_sum_judge(RolloutSum *rollout, double outcome)
{
	if (isnan(outcome))
		return;
	if (!isnan(rollout->outcome) && rollout->outcome != outcome)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("rollout " INT64_FORMAT " has two outcomes, %g and %g",
						rollout->rollout_id, Min(rollout->outcome, outcome), Max(rollout->outcome, outcome)),
				 errhint("Give the outcome of the whole rollout on each of its rows, or on one and NULL on the others; of rewards by step that is their sum over the rollout.")));
	rollout->outcome = outcome;
}

void
rollout_sums_contribution(RolloutSums *sums, int64 rollout_id, double contribution, double outcome)
{
	RolloutSum *rollout;

	require_dimension(sums, rollout_id, NO_FEATURES);
	rollout = find_rollout(sums, rollout_id);
	rollout->n_steps++;
	rollout->contribution += contribution;
	rollout_sum_judge(rollout, outcome);
}

/* ----------
 * Features
 * ----------
 */

/* Steps that wait find their rollouts. */
static void
settle(RolloutSums *sums)
{
	SparseAddend *addend;

	if (sums->n_waiting == 0)
		return;
	addend = sums->features.addend + sums->features.n_addends - sums->n_waiting;
	for (int i = 0; i < sums->n_waiting; i++)
	{
		const WaitingStep *step = &sums->waiting[i];
		RolloutSum *rollout = find_rollout(sums, step->rollout_id);

		rollout->n_steps++;
		addend[i].owner = rollout->number;
		rollout_sum_judge(rollout, step->outcome);
	}
	sums->n_waiting = 0;
}

static void
compact(RolloutSums *sums)
{
	settle(sums);
	if (sums->dimension != NO_FEATURES)
		sparse_sums_compact(&sums->features, sums->table->members);
}

/* Features were added that are of this rollout. */
static void
wait_for_rollout(RolloutSums *sums, int64 rollout_id, double outcome)
{
	__builtin_prefetch(&sums->table->data[HASH_ROLLOUT(rollout_id) & sums->table->sizemask]);
	sums->waiting[sums->n_waiting++] = (WaitingStep) {rollout_id, outcome};
	if (sums->n_waiting < MOST_WAITING)
		return;
	settle(sums);
	if (sparse_sums_are_due(&sums->features))
		compact(sums);
}

void
rollout_sums_sparse_step(RolloutSums *sums, int64 rollout_id, const SparseFeatures *features, double outcome)
{
	require_dimension(sums, rollout_id, SPARSE_DIMENSION);
	sparse_sums_add(&sums->features, features);
	wait_for_rollout(sums, rollout_id, outcome);
}

void
rollout_sums_dense_step(RolloutSums *sums, int64 rollout_id, const Features *features, double outcome)
{
	uint32		n = 0;
	int32	   *place;
	double	   *weight;

	require_dimension(sums, rollout_id, features->n);
	if (unlikely(!features_finite(features->x, features->n)))
		features_refuse(features, &rollout_id);
	sparse_sums_make_room(&sums->features, features->n, &place, &weight);
	for (int i = 0; i < features->n; i++)
	{
		place[n] = i + 1;
		weight[n] = features->x[i];
		n += features->x[i] != 0;
	}
	sparse_sums_added(&sums->features, 0, n);
	wait_for_rollout(sums, rollout_id, outcome);
}

SparseSum
rollout_sums_features(const RolloutSums *sums, const RolloutSum *rollout)
{
	return sparse_sums_of(&sums->features, rollout->number);
}

static void
add_sum(RolloutSums *sums, const RolloutSums *others, const RolloutSum *other)
{
	RolloutSum *rollout = find_rollout(sums, other->rollout_id);
	SparseSum	sum = rollout_sums_features(others, other);

	require_dimension(sums, other->rollout_id, others->dimension);
	rollout->n_steps += other->n_steps;
	rollout->contribution += other->contribution;
	if (sum.n > 0)
	{
		int32	   *place;
		double	   *weight;

		sparse_sums_make_room(&sums->features, sum.n, &place, &weight);
		memcpy(place, sum.place, sum.n * sizeof(int32));
		memcpy(weight, sum.weight, sum.n * sizeof(double));
		sparse_sums_added(&sums->features, rollout->number, sum.n);
	}
	rollout_sum_judge(rollout, other->outcome);
}

void
rollout_sums_merge(RolloutSums *sums, RolloutSums *other)
{
	rollout_sum_iterator i;
	RolloutSum *rollout;

	settle(sums);
	compact(other);
	/* Known to be needed: growing step by step would visit all again and again. */
	if (sums->table->members == 0 && other->table->size > sums->table->size)
		rollout_sum_grow(sums->table, other->table->size);
	rollout_sum_start_iterate(other->table, &i);
	while ((rollout = rollout_sum_iterate(other->table, &i)) != NULL)
	{
		add_sum(sums, other, rollout);
		if (sparse_sums_are_due(&sums->features))
			compact(sums);
		CHECK_FOR_INTERRUPTS();
	}
}

RolloutSum **
rollout_sums_judged(RolloutSums *sums, uint64 *n)
{
	RolloutSum **judged;
	rollout_sum_iterator i;
	RolloutSum *rollout;

	compact(sums);
	judged = ALLOCATE_ARRAY(RolloutSumPointer, sums->table->members);
	*n = 0;
	rollout_sum_start_iterate(sums->table, &i);
	while ((rollout = rollout_sum_iterate(sums->table, &i)) != NULL)
		if (!isnan(rollout->outcome))
		{
			judged[(*n)++] = rollout;
			CHECK_FOR_INTERRUPTS();
		}
	sort_rollout_sums(judged, *n);
	return judged;
}

/* ----------
 * Between processes, of servers alike: numbers as they are
 * ----------
 */

void
rollout_sums_write(RolloutSums *sums, StringInfo bytes)
{
	Size		size;
	rollout_sum_iterator i;
	RolloutSum *rollout;

	compact(sums);
	size = (Size) sums->table->members * 6 * sizeof(int64) + sums->features.sums.n * (sizeof(int32) + sizeof(double));
	if (size > MaxAllocSize - 1024)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("sums of features of " INT64_FORMAT " rollouts are too large to pass to another process",
						(int64) sums->table->members),
				 errhint("Set max_parallel_workers_per_gather to 0.")));
	pq_sendint32(bytes, sums->dimension);
	pq_sendint64(bytes, sums->first_rollout);
	pq_sendint64(bytes, sums->table->members);
	enlargeStringInfo(bytes, (int) size);
	rollout_sum_start_iterate(sums->table, &i);
	while ((rollout = rollout_sum_iterate(sums->table, &i)) != NULL)
	{
		SparseSum	sum = rollout_sums_features(sums, rollout);

		appendBinaryStringInfo(bytes, (char *) &rollout->rollout_id, sizeof(int64));
		appendBinaryStringInfo(bytes, (char *) &rollout->n_steps, sizeof(int64));
		appendBinaryStringInfo(bytes, (char *) &rollout->outcome, sizeof(double));
		appendBinaryStringInfo(bytes, (char *) &rollout->contribution, sizeof(double));
		appendBinaryStringInfo(bytes, (char *) &sum.n, sizeof(uint32));
		if (sum.n > 0)
		{
			appendBinaryStringInfo(bytes, (const char *) sum.place, (int) (sum.n * sizeof(int32)));
			appendBinaryStringInfo(bytes, (const char *) sum.weight, (int) (sum.n * sizeof(double)));
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* Room for n of them is asked for once they are known to be there. */
static bool
read_features(RolloutSums *sums, const RolloutSum *rollout, StringInfo bytes)
{
	int32		most = sums->dimension > 0 ? sums->dimension : MOST_PLACES;
	uint32		n;
	int32	   *place;
	double	   *weight;

	pq_copymsgbytes(bytes, (char *) &n, sizeof(uint32));
	if (n > (bytes->len - bytes->cursor) / (sizeof(int32) + sizeof(double)) || (n > 0 && sums->dimension == NO_FEATURES))
		return false;
	sparse_sums_make_room(&sums->features, n, &place, &weight);
	pq_copymsgbytes(bytes, (char *) place, (int) (n * sizeof(int32)));
	pq_copymsgbytes(bytes, (char *) weight, (int) (n * sizeof(double)));
	for (uint32 i = 0; i < n; i++)
		if (place[i] <= (i == 0 ? 0 : place[i - 1]) || place[i] > most)
			return false;
	sparse_sums_added(&sums->features, rollout->number, n);
	return true;
}

bool
rollout_sums_read(RolloutSums *sums, StringInfo bytes)
{
	int			dimension = (int32) pq_getmsgint(bytes, 4);
	int64		first_rollout = pq_getmsgint64(bytes);
	int64		n = pq_getmsgint64(bytes);
	int64		least = 4 * sizeof(int64) + sizeof(uint32);

	if (dimension == 0 || dimension < NO_FEATURES || dimension > MOST_PLACES || n < 0 ||
		n > (bytes->len - bytes->cursor) / least)
		return false;
	sums->dimension = dimension;
	sums->first_rollout = first_rollout;
	for (int64 i = 0; i < n; i++)
	{
		int64		rollout_id;
		RolloutSum *rollout;

		pq_copymsgbytes(bytes, (char *) &rollout_id, sizeof(int64));
		rollout = find_rollout(sums, rollout_id);
		pq_copymsgbytes(bytes, (char *) &rollout->n_steps, sizeof(int64));
		pq_copymsgbytes(bytes, (char *) &rollout->outcome, sizeof(double));
		pq_copymsgbytes(bytes, (char *) &rollout->contribution, sizeof(double));
		if (!read_features(sums, rollout, bytes))
			return false;
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}
