/*
 * tidy.c
 *		A value from outside as it would have been made here.
 *
 * What nobody reads is 0: an identity or turn under its null bit, a null bit of a
 * column that is not there.  There is one NaN.  And a column without any entry is
 * left out, and what version 1 can say is said in it.  Otherwise one value would have
 * several forms, and its text would come back as another one.
 */
#include "postgres.h"

#include "arrays.h"
#include "group/group.h"

static bool
is_empty(const double *column, uint64 n)
{
	for (uint64 i = 0; column != NULL && i < n; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (!isnan(column[i]))
			return false;
	}
	return true;
}

static bool
is_known_nowhere(const GroupColumns *group, uint8 bit)
{
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (!step_has_null(group, i, bit))
			return false;
	}
	return true;
}

static bool
is_of_no_policy(const GroupColumns *group)
{
	for (uint32 r = 0; group->policy_step != NULL && r < group->n_rollouts; r++)
		if (group->policy_step[r] != NO_POLICY_STEP)
			return false;
	return true;
}

static bool
is_zero(const uint8 *column, uint64 n, uint8 mask)
{
	for (uint64 i = 0; column != NULL && i < n; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if ((column[i] & mask) != 0)
			return false;
	}
	return true;
}

static uint8
known_nulls(const GroupColumns *group)
{
	return NULL_STATE | NULL_ACTION | (group->next_state ? NULL_NEXT_STATE : 0) | (group->turn ? NULL_TURN : 0) |
		(group->coarse_state ? NULL_COARSE_STATE : 0);
}

static void
leave_empty_out(GroupColumns *group)
{
	if (is_empty(group->outcome, group->n_rollouts))
		group->outcome = NULL;
	if (is_empty(group->value, group->n_steps))
		group->value = NULL;
	if (is_empty(group->turn_reward, group->n_steps))
		group->turn_reward = NULL;
	if (is_empty(group->cost, group->n_steps))
		group->cost = NULL;
	if (is_empty(group->logp, group->n_steps))
		group->logp = NULL;
	if (is_empty(group->outcome_rewards, group->n_outcome_rewards))
		group->outcome_rewards = NULL;
	if (is_known_nowhere(group, NULL_NEXT_STATE))
		group->next_state = NULL;
	if (is_known_nowhere(group, NULL_TURN))
		group->turn = NULL;
	if (is_known_nowhere(group, NULL_COARSE_STATE))
		group->coarse_state = NULL;
	if (is_zero(group->truncated, group->n_rollouts, 0xFF))
		group->truncated = NULL;
	if (is_of_no_policy(group))
		group->policy_step = NULL;
	if (is_zero(group->nulls, group->n_steps, known_nulls(group)))
		group->nulls = NULL;
}

/* True: some entry under the bit is not 0; it is made 0 where that is asked for. */
static bool
tidy_identities(const int64 *column, const GroupColumns *group, uint8 bit, bool change)
{
	bool		untidy = false;

	for (uint32 i = 0; column != NULL && i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (!step_has_null(group, i, bit) || column[i] == 0)
			continue;
		untidy = true;
		if (change)
			unconstify(int64 *, column)[i] = 0;
	}
	return untidy;
}

static bool
tidy_turns(const GroupColumns *group, bool change)
{
	bool		untidy = false;

	for (uint32 i = 0; group->turn != NULL && i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (!step_has_null(group, i, NULL_TURN) || group->turn[i] == 0)
			continue;
		untidy = true;
		if (change)
			unconstify(int32 *, group->turn)[i] = 0;
	}
	return untidy;
}

static bool
tidy_bits(const GroupColumns *group, bool change)
{
	uint8		known = known_nulls(group);
	bool		untidy = false;

	for (uint32 i = 0; group->nulls != NULL && i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if ((group->nulls[i] & ~known) == 0)
			continue;
		untidy = true;
		if (change)
			unconstify(uint8 *, group->nulls)[i] &= known;
	}
	return untidy;
}

/* NaNs that are not the one that stands for NULL. */
static bool
tidy_doubles(const double *column, uint64 n, bool change)
{
	const double null = NAN;
	bool		untidy = false;

	for (uint64 i = 0; column != NULL && i < n; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (!isnan(column[i]) || memcmp(&column[i], &null, sizeof(double)) == 0)
			continue;
		untidy = true;
		if (change)
			unconstify(double *, column)[i] = NAN;
	}
	return untidy;
}

static bool
tidy_columns(const GroupColumns *group, bool change)
{
	bool		untidy = tidy_bits(group, change);

	untidy |= tidy_identities(group->state, group, NULL_STATE, change);
	untidy |= tidy_identities(group->action, group, NULL_ACTION, change);
	untidy |= tidy_identities(group->next_state, group, NULL_NEXT_STATE, change);
	untidy |= tidy_identities(group->coarse_state, group, NULL_COARSE_STATE, change);
	untidy |= tidy_turns(group, change);
	untidy |= tidy_doubles(group->outcome, group->n_rollouts, change);
	untidy |= tidy_doubles(group->reward, group->n_steps, change);
	untidy |= tidy_doubles(group->value, group->n_steps, change);
	untidy |= tidy_doubles(group->turn_reward, group->n_steps, change);
	untidy |= tidy_doubles(group->cost, group->n_steps, change);
	untidy |= tidy_doubles(group->logp, group->n_steps, change);
	untidy |= tidy_doubles(group->step_rewards, group->n_step_rewards, change);
	untidy |= tidy_doubles(group->outcome_rewards, group->n_outcome_rewards, change);
	return untidy;
}

RolloutGroup *
group_tidied(RolloutGroup *datum, const GroupColumns *group)
{
	GroupColumns full = *group;
	GroupColumns tidied;
	RolloutGroup *copy;

	leave_empty_out(&full);
	if (datum->version == group_version(&full) && memcmp(&full, group, sizeof(GroupColumns)) == 0 && !tidy_columns(&full, false))
		return datum;
	copy = group_copy(&full, &tidied);
	tidy_columns(&tidied, true);
	group_seal(copy);
	return copy;
}
