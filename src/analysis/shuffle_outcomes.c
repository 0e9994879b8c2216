/*
 * shuffle_outcomes.c
 *		Groups with outcomes shuffled among their rollouts, to measure credit by chance.
 *
 * Data sets may select groups by their outcomes, and leaving a rollout out makes the others'
 * outcomes less like its own.  So predictions and outcomes are correlated, in either direction,
 * even if nothing depends on actions.  Shuffled outcomes measure this correlation.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "analysis/shuffle_outcomes.h"
#include "arrays.h"
#include "group/facts.h"
#include "hash.h"
#include "sum.h"

/* A rollout whose outcome is shuffled. */
typedef struct Holder
{
	int64		policy;
	uint64		hash;
	uint32		rollout;
} Holder;

static int
compare_holders(const void *a, const void *b)
{
	const Holder *one = a;
	const Holder *other = b;

	CHECK_FOR_INTERRUPTS();
	if (one->policy != other->policy)
		return one->policy < other->policy ? -1 : 1;
	if (one->hash != other->hash)
		return one->hash < other->hash ? -1 : 1;
	return one->rollout < other->rollout ? -1 : one->rollout > other->rollout;
}

/*
 * A hash of ids and returns.  Groups may all have rollouts 1 to 8: without the rest, all would be shuffled
 * alike, and the same rollouts would keep their outcomes in every group.
 */
static int64
hash_group(const GroupColumns *group, const RolloutFacts *facts, int64 seed)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		int64		total;

		memcpy(&total, &facts->total[r], sizeof(total));
		seed = hash_int64_onto(total, hash_int64_onto(group->rollout_id[r], seed));
	}
	for (uint32 i = 0; i < group->n_steps; i++)
		seed = hash_int64_onto(group->step_id[i], seed);
	return seed;
}

/* The holders sorted by policy, then by their place in the group or, with a seed, by a hash. */
static uint32
find_holders(const GroupColumns *group, const RolloutFacts *facts, const int64 *seed, Holder *holders)
{
	uint32		n = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (facts->judged[r] && group->n_rollout_steps[r] > 0)
			holders[n++] = (Holder) {
				group->policy_step != NULL ? group->policy_step[r] : 0,
				seed != NULL ? (uint64) hash_int64_onto(group->rollout_id[r], *seed) : 0, r
			};
	qsort(holders, n, sizeof(Holder), compare_holders);
	return n;
}

static double
mean_total(const RolloutFacts *facts, const Holder *holders, uint32 n)
{
	Sum			sum = {0};

	for (uint32 i = 0; i < n; i++)
		sum_add(&sum, facts->total[holders[i].rollout]);
	return sum_value(&sum) / n;
}

/* Give a rollout a return with its last step (whole), minus the mean of its policy's. */
static void
give_outcome(GroupColumns *copy, const uint32 *first_step, uint32 to, bool whole, double total, double mean)
{
	double	   *reward = (double *) copy->reward;
	uint32		last = first_step[to + 1] - 1;

	if (whole)
	{
		for (uint32 i = first_step[to]; i < last; i++)
			reward[i] = 0;
		reward[last] = total;
		if (copy->outcome != NULL)
			((double *) copy->outcome)[to] = NAN;
	}
	if (mean != 0)
		reward[last] = (isnan(reward[last]) ? 0 : reward[last]) - mean;
}

RolloutGroup *
shuffle_outcomes(const RolloutGroup *datum, int32 shuffle, int64 seed)
{
	GroupColumns group;
	GroupColumns copy;
	RolloutFacts facts;
	RolloutGroup *shuffled;
	Holder	   *from;
	Holder	   *to;
	uint32		n;
	bool		many;
	int64		chain;

	group_open(datum, &group);
	find_rollout_facts(&group, &facts);
	chain = hash_int64_onto(shuffle, hash_group(&group, &facts, seed));
	shuffled = group_copy(&group, &copy);
	from = ALLOCATE_ARRAY(Holder, group.n_rollouts);
	to = ALLOCATE_ARRAY(Holder, group.n_rollouts);
	n = find_holders(&group, &facts, shuffle > 0 ? &chain : NULL, from);
	(void) find_holders(&group, &facts, NULL, to);
	many = n > 0 && to[0].policy != to[n - 1].policy;
	for (uint32 begin = 0, end; begin < n; begin = end)
	{
		double		mean;

		for (end = begin + 1; end < n && to[end].policy == to[begin].policy; end++)
			;
		mean = many ? mean_total(&facts, &to[begin], end - begin) : 0;
		for (uint32 i = begin; i < end; i++)
		{
			((uint8 *) copy.success)[to[i].rollout] = group.success[from[i].rollout];
			give_outcome(&copy, group.first_step, to[i].rollout, shuffle > 0, facts.total[from[i].rollout], mean);
		}
	}
	group_seal(shuffled);
	pfree(from);
	pfree(to);
	return shuffled;
}
