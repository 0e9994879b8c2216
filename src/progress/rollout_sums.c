/*
 * rollout_sums.c
 *		Sums of feature vectors by rollout, from rows in any order.
 *
 * Features are single precision and sums double: sums below a few hundred million
 * times the smallest feature are exact, and so do not depend on the order of rows.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"

#include "arrays.h"
#include "progress/kernels.h"
#include "progress/rollout_sums.h"

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

/* A step whose rollout is looked up later, with a batch of others, while its hash slot is prefetched. */
typedef struct WaitingStep
{
	int64		rollout_id;
	double		outcome;
} WaitingStep;

struct RolloutSums
{
	MemoryContext context;
	rollout_sum_hash *table;
	int			dimension;		/* number of dense features, or SPARSE_DIMENSION; 0: no step yet */
	int64		first_rollout;	/* the rollout that set it, for errors */

	/* The owners of the last n_waiting addends are not set yet. */
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
		rollout->number = sums->table->members - 1;
	}
	return rollout;
}

/* Set the rollout's outcome unless it is NaN; error if it has a different one. */
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

/* Look up the rollouts of waiting steps. */
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
	sparse_sums_compact(&sums->features, sums->table->members);
}

/* Called after the features of a step were added to the log. */
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
	sparse_sums_added(&sums->features, n);
	wait_for_rollout(sums, rollout_id, outcome);
}

SparseSum
rollout_sums_features(const RolloutSums *sums, const RolloutSum *rollout)
{
	return sparse_sums_of(&sums->features, rollout->number);
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
