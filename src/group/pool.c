/*
 * pool.c
 *		A group and its history as one, and what their rollouts weigh.
 *
 * A rollout that is in both is in the pool once, as the group has it: what it earned
 * must not count twice, and a judgement that came later is in the newer value.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "arrays.h"
#include "group/pool.h"

/*
 * What no age falls below.  Beside a visit that counts 1 it is nothing, and products of
 * two weights are still above 0.
 */
#define LEAST_WEIGHT 1e-100

typedef struct Pool
{
	const GroupColumns *group;
	const GroupColumns *history;
	uint32	   *taken;			/* rollouts of the history that are in the pool */
	uint32		n_taken;
	uint32		n_rollouts;
	uint32		n_steps;
} Pool;

/* Both are sorted by rollout_id. */
static void
take_rollouts(Pool *pool)
{
	const GroupColumns *group = pool->group;
	const GroupColumns *history = pool->history;
	uint32		own = 0;

	pool->taken = ALLOCATE_ARRAY(uint32, history->n_rollouts);
	pool->n_taken = 0;
	pool->n_steps = group->n_steps;
	for (uint32 r = 0; r < history->n_rollouts; r++)
	{
		while (own < group->n_rollouts && group->rollout_id[own] < history->rollout_id[r])
			own++;
		if (own < group->n_rollouts && group->rollout_id[own] == history->rollout_id[r])
			continue;
		pool->taken[pool->n_taken++] = r;
		pool->n_steps += history->n_rollout_steps[r];
	}
	pool->n_rollouts = group->n_rollouts + pool->n_taken;
}

/* Entries of `width` bytes; of a group without the column each is `missing`. */
static char *
copy_entries(char *to, const char *from, uint32 first, uint32 n, Size width, const void *missing)
{
	if (from != NULL)
		memcpy(to, from + first * width, n * width);
	else
		for (uint32 i = 0; i < n; i++)
			memcpy(to + i * width, missing, width);
	return to + n * width;
}

/* NULL where neither has the column. */
static void *
pool_column(const Pool *pool, bool by_step, const void *own, const void *other, Size width, const void *missing)
{
	char	   *column;
	char	   *end;

	if (own == NULL && other == NULL)
		return NULL;
	column = MemoryContextAllocHuge(CurrentMemoryContext, array_size(by_step ? pool->n_steps : pool->n_rollouts, width));
	end = copy_entries(column, own, 0, by_step ? pool->group->n_steps : pool->group->n_rollouts, width, missing);
	for (uint32 t = 0; t < pool->n_taken; t++)
	{
		uint32		r = pool->taken[t];

		end = copy_entries(end, other, by_step ? pool->history->first_step[r] : r,
						   by_step ? pool->history->n_rollout_steps[r] : 1, width, missing);
	}
	CHECK_FOR_INTERRUPTS();
	return column;
}

#define POOL(by_step, column, missing) \
	(pooled->column = pool_column(pool, by_step, pool->group->column, pool->history->column, \
								  sizeof(*pooled->column), &(missing)))

static void
pool_rollouts(const Pool *pool, GroupColumns *pooled)
{
	static const double no_number = NAN;
	static const int64 no_policy_step = NO_POLICY_STEP;
	static const int64 nothing = 0;
	uint32	   *first_step = ALLOCATE_ARRAY(uint32, (Size) pool->n_rollouts + 1);

	POOL(false, rollout_id, nothing);
	POOL(false, outcome, no_number);
	POOL(false, n_rollout_steps, nothing);
	POOL(false, success, nothing);
	POOL(false, truncated, nothing);
	POOL(false, policy_step, no_policy_step);
	POOL(false, defects, nothing);
	first_step[0] = 0;
	for (uint32 r = 0; r < pool->n_rollouts; r++)
		first_step[r + 1] = first_step[r] + pooled->n_rollout_steps[r];
	pooled->first_step = first_step;
	pooled->owns_defects = true;
}

/* What is NULL at every step of a group because it has no such column. */
static uint8
always_null(const GroupColumns *group)
{
	return (group->next_state ? 0 : NULL_NEXT_STATE) | (group->turn ? 0 : NULL_TURN) |
		(group->coarse_state ? 0 : NULL_COARSE_STATE);
}

static void
pool_nulls(const Pool *pool, GroupColumns *pooled)
{
	uint8		of_group = always_null(pool->group);
	uint8		of_history = always_null(pool->history);
	uint8	   *nulls = ALLOCATE_ARRAY(uint8, pool->n_steps);
	uint8		nothing = 0;
	const uint8 *given = pool_column(pool, true, pool->group->nulls, pool->history->nulls, 1, &nothing);

	for (uint32 i = 0; i < pool->n_steps; i++)
		nulls[i] = (given ? given[i] : 0) | (i < pool->group->n_steps ? of_group : of_history);
	pooled->nulls = nulls;
}

static void
pool_steps(const Pool *pool, GroupColumns *pooled)
{
	static const int64 nothing = 0;
	static const double no_number = NAN;

	POOL(true, step_id, nothing);
	POOL(true, state, nothing);
	POOL(true, action, nothing);
	POOL(true, reward, no_number);
	POOL(true, step_no, nothing);
	POOL(true, next_state, nothing);
	POOL(true, value, no_number);
	POOL(true, turn_reward, no_number);
	POOL(true, cost, no_number);
	POOL(true, turn, nothing);
	POOL(true, coarse_state, nothing);
	POOL(true, logp, no_number);
	pool_nulls(pool, pooled);
}

void
pool_groups(const GroupColumns *group, const GroupColumns *history, GroupColumns *pooled)
{
	Pool		pool = {group, history};

	/* A value of less than 1 GB has fewer than 2^25 steps. */
	take_rollouts(&pool);
	*pooled = (GroupColumns) {0};
	pooled->n_rollouts = pool.n_rollouts;
	pooled->n_steps = pool.n_steps;
	pooled->unit = group->unit;
	pooled->forgiving = group->forgiving;
	pool_rollouts(&pool, pooled);
	pool_steps(&pool, pooled);
	pfree(pool.taken);
}

void
require_same_unit(const GroupColumns *group, const GroupColumns *history)
{
	if (group->unit != history->unit && history->n_rollouts > 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("history is a group of %s, where the group itself is one of %s",
						group_unit_plurals[history->unit], group_unit_plurals[group->unit]),
				 errhint("Call by_turn on both, or on neither.")));
}

/* ----------
 * Weights
 * ----------
 */

static _Noreturn void
refuse_unknown_age(const GroupColumns *pooled, uint32 rollout, bool is_own)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("rollout " INT64_FORMAT " of %s has no policy_step, which decay below 1 needs",
					pooled->rollout_id[rollout], is_own ? "the group" : "history"),
			 errhint("rollout_agg takes policy_step; with decay 1 all rollouts weigh the same.")));
}

static inline bool
policy_step_is_known(const GroupColumns *pooled, uint32 rollout)
{
	return pooled->policy_step != NULL && pooled->policy_step[rollout] != NO_POLICY_STEP;
}

/* Of a policy step, how far it lies before the newest; differences of bigints may not fit one. */
static inline double
age_of(int64 policy_step, int64 newest)
{
	return policy_step >= newest ? 0 : (double) ((uint64) newest - (uint64) policy_step);
}

static void
leave_out(RolloutFacts *facts, uint32 rollout)
{
	facts->judged[rollout] = false;
	facts->total[rollout] = 0;
	facts->n_judged--;
}

/* The newest policy step of the first n_own; NO_POLICY_STEP: none is known. */
static int64
newest_policy_step(const GroupColumns *pooled, const RolloutFacts *facts, uint32 n_own)
{
	int64		newest = NO_POLICY_STEP;

	for (uint32 r = 0; r < n_own; r++)
	{
		if (!facts->judged[r])
			continue;
		if (policy_step_is_known(pooled, r))
			newest = Max(newest, pooled->policy_step[r]);
		else if (!pooled->forgiving)
			refuse_unknown_age(pooled, r, true);
	}
	return newest;
}

const double *
weigh_by_age(const GroupColumns *pooled, uint32 n_own, double decay, RolloutFacts *facts)
{
	double	   *weight;
	int64		newest;

	if (decay == 1)
		return NULL;
	newest = newest_policy_step(pooled, facts, n_own);
	weight = ALLOCATE_ARRAY(double, pooled->n_rollouts);
	for (uint32 r = 0; r < pooled->n_rollouts; r++)
	{
		weight[r] = 1;
		if (!facts->judged[r])
			continue;
		if (r >= n_own && !policy_step_is_known(pooled, r) && !pooled->forgiving)
			refuse_unknown_age(pooled, r, false);
		if (newest == NO_POLICY_STEP || (r >= n_own && !policy_step_is_known(pooled, r)))
			leave_out(facts, r);
		else if (r >= n_own)
			weight[r] = Max(pow(decay, age_of(pooled->policy_step[r], newest)), LEAST_WEIGHT);
	}
	return weight;
}
