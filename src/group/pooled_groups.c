/*
 * pooled_groups.c
 *		Combines a group with its history, and weighs their rollouts; the union of groups without common
 *		rollouts.
 *
 * A rollout in both is in the pool once, as the group has it: its return must not count twice, and the group's
 * value is the newer one, so it has the later judgment.
 */
#include "postgres.h"

#include <math.h>

#include "utils/memutils.h"

#include "arrays.h"
#include "group/pooled_groups.h"

/* The minimum weight: negligible beside a visit that weighs 1, but products of two weights are still above 0. */
#define LEAST_WEIGHT 1e-100

/* Adjacent rollouts of a group. */
typedef struct RolloutRun
{
	const GroupColumns *group;
	uint32		first;
	uint32		n;
} RolloutRun;

/* The runs of a pool, in order. */
typedef struct Pool
{
	const RolloutRun *runs;
	uint32		n_runs;
	uint32		n_rollouts;
	uint32		n_steps;
} Pool;

static inline uint32
count_steps(const RolloutRun *run)
{
	return run->group->first_step[run->first + run->n] - run->group->first_step[run->first];
}

static void
count_pool(Pool *pool)
{
	pool->n_rollouts = 0;
	pool->n_steps = 0;
	for (uint32 i = 0; i < pool->n_runs; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		pool->n_rollouts += pool->runs[i].n;
		pool->n_steps += count_steps(&pool->runs[i]);
	}
}

/* Find the rollouts of the history that the group does not have.  Both are sorted by rollout_id. */
static uint32
take_rollouts(const GroupColumns *group, const GroupColumns *history, RolloutRun *runs)
{
	uint32		own = 0;
	uint32		n = 0;

	for (uint32 r = 0; r < history->n_rollouts; r++)
	{
		while (own < group->n_rollouts && group->rollout_id[own] < history->rollout_id[r])
			own++;
		if (own < group->n_rollouts && group->rollout_id[own] == history->rollout_id[r])
			continue;
		if (n > 0 && runs[n - 1].first + runs[n - 1].n == r)
			runs[n - 1].n++;
		else
			runs[n++] = (RolloutRun) {history, r, 1};
	}
	return n;
}

/* A group's column, by its offset in GroupColumns. */
static inline const char *
column_at(const GroupColumns *group, Size place)
{
	return *(const char *const *) ((const char *) group + place);
}

/* Concatenate a column with entries of width bytes, with missing for groups without it.  NULL if no group has it. */
static void *
pool_column(const Pool *pool, bool by_step, Size place, Size width, const void *missing)
{
	bool		any = false;
	char	   *column;
	char	   *to;

	for (uint32 i = 0; i < pool->n_runs && !any; i++)
		any = column_at(pool->runs[i].group, place) != NULL;
	if (!any)
		return NULL;
	column = MemoryContextAllocHuge(CurrentMemoryContext, array_size(by_step ? pool->n_steps : pool->n_rollouts, width));
	to = column;
	for (uint32 i = 0; i < pool->n_runs; i++)
	{
		const RolloutRun *run = &pool->runs[i];
		const char *from = column_at(run->group, place);
		Size		first = by_step ? run->group->first_step[run->first] : run->first;
		Size		n = by_step ? count_steps(run) : run->n;

		CHECK_ONCE_IN_A_WHILE(i);
		if (from != NULL)
			memcpy(to, from + first * width, n * width);
		else
			for (Size e = 0; e < n; e++)
				memcpy(to + e * width, missing, width);
		to += n * width;
	}
	return column;
}

#define POOL(by_step, column, missing) \
	(pooled->column = pool_column(pool, by_step, offsetof(GroupColumns, column), sizeof(*pooled->column), &(missing)))

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

/* The NULL_… bits of all steps of a group that has no such column. */
static uint8
always_null(const GroupColumns *group)
{
	return (group->next_state ? 0 : NULL_NEXT_STATE) | (group->turn ? 0 : NULL_TURN) |
		(group->coarse_state ? 0 : NULL_COARSE_STATE);
}

/* The null bits as a value has them: only of columns that it has, and NULL if no bit is set. */
static void
pool_nulls(const Pool *pool, GroupColumns *pooled)
{
	uint8		known = ~always_null(pooled);
	uint8	   *nulls = ALLOCATE_ARRAY(uint8, pool->n_steps);
	uint8	   *to = nulls;
	uint8		any = 0;

	for (uint32 i = 0; i < pool->n_runs; i++)
	{
		const GroupColumns *group = pool->runs[i].group;
		uint32		first = group->first_step[pool->runs[i].first];
		uint32		n = count_steps(&pool->runs[i]);
		uint8		always = always_null(group) & known;

		CHECK_ONCE_IN_A_WHILE(i);
		for (uint32 e = 0; e < n; e++)
		{
			to[e] = (group->nulls ? group->nulls[first + e] : 0) | always;
			any |= to[e];
		}
		to += n;
	}
	pooled->nulls = any ? nulls : NULL;
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

static void
pool_runs(Pool *pool, GroupColumns *pooled)
{
	count_pool(pool);
	*pooled = (GroupColumns) {.n_rollouts = pool->n_rollouts, .n_steps = pool->n_steps};
	pool_rollouts(pool, pooled);
	pool_steps(pool, pooled);
}

void
pool_groups(const GroupColumns *group, const GroupColumns *history, GroupColumns *pooled)
{
	RolloutRun *runs = ALLOCATE_ARRAY(RolloutRun, (Size) history->n_rollouts + 1);
	Pool		pool = {runs};

	/* No overflow: a value below 1 GB has fewer than 2^25 steps. */
	runs[0] = (RolloutRun) {group, 0, group->n_rollouts};
	pool.n_runs = 1 + take_rollouts(group, history, runs + 1);
	pool_runs(&pool, pooled);
	pooled->unit = group->unit;
	pooled->lenient = group->lenient;
	pfree(runs);
}

#define ST_SORT sort_single_rollouts
#define ST_ELEMENT_TYPE RolloutRun
#define ST_COMPARE(a, b) \
	((a)->group->rollout_id[(a)->first] < (b)->group->rollout_id[(b)->first] ? -1 : \
	 (a)->group->rollout_id[(a)->first] > (b)->group->rollout_id[(b)->first])
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

static inline int64
id_of(const RolloutRun *run)
{
	return run->group->rollout_id[run->first];
}

/* The rollouts of all groups in order of their ids; NULL if an id repeats. */
static RolloutRun *
order_rollouts(const GroupColumns *groups, uint32 n_groups, uint32 n_rollouts)
{
	RolloutRun *runs = ALLOCATE_ARRAY(RolloutRun, n_rollouts);
	uint32		n = 0;

	for (uint32 g = 0; g < n_groups; g++)
		for (uint32 r = 0; r < groups[g].n_rollouts; r++)
			runs[n++] = (RolloutRun) {&groups[g], r, 1};
	sort_single_rollouts(runs, n);
	for (uint32 i = 1; i < n; i++)
		if (id_of(&runs[i]) == id_of(&runs[i - 1]))
			return NULL;
	return runs;
}

RolloutGroup *
unite_apart(const GroupColumns *groups, uint32 n_groups)
{
	uint64		n_rollouts = 0;
	uint64		n_steps = 0;
	bool		lenient = false;
	GroupColumns pooled;
	GroupColumns copy;
	Pool		pool;
	MemoryContext scratch;
	MemoryContext old;
	RolloutGroup *datum = NULL;

	for (uint32 g = 0; g < n_groups; g++)
	{
		if (groups[g].unit != groups[0].unit || groups[g].n_rewards > 0)
			return NULL;
		n_rollouts += groups[g].n_rollouts;
		n_steps += groups[g].n_steps;
		lenient |= groups[g].lenient;
	}
	/* The limits of a value.  The caller's general path reports the error. */
	if (n_rollouts == 0 || n_rollouts > MaxAllocSize / sizeof(int64) || n_steps > MaxAllocSize / sizeof(int64))
		return NULL;
	scratch = AllocSetContextCreate(CurrentMemoryContext, "stepadv union", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(scratch);
	pool.n_runs = n_rollouts;
	pool.runs = order_rollouts(groups, n_groups, n_rollouts);
	if (pool.runs != NULL)
		pool_runs(&pool, &pooled);
	MemoryContextSwitchTo(old);
	if (pool.runs != NULL)
	{
		pooled.unit = groups[0].unit;
		pooled.lenient = lenient;
		datum = group_copy(&pooled, &copy);
		group_seal(datum);
	}
	MemoryContextDelete(scratch);
	return datum;
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

/* How far a policy step is before the newest one.  A difference of bigints may exceed a bigint. */
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

/* The newest policy step of the first n_own rollouts; NO_POLICY_STEP if there is none. */
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
		else if (!pooled->lenient)
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
		if (r >= n_own && !policy_step_is_known(pooled, r) && !pooled->lenient)
			refuse_unknown_age(pooled, r, false);
		if (newest == NO_POLICY_STEP || (r >= n_own && !policy_step_is_known(pooled, r)))
			leave_out(facts, r);
		else if (r >= n_own)
			weight[r] = Max(pow(decay, age_of(pooled->policy_step[r], newest)), LEAST_WEIGHT);
	}
	return weight;
}
