/*
 * history.c
 *		history_states(g, mode, history_length): states made from earlier steps of the rollout.
 *
 * If observations never repeat, or repeat without meaning the same, the actions taken so far can replace them:
 *
 *	sequence	all actions before, in order: the group becomes a prefix tree
 *	set			the distinct actions before, in any order
 *	root		a single state, which reduces methods to GRPO's comparison
 *	last		the last k actions before, in order
 *	observation_last
 *				the current state and the k - 1 before it, in order
 *
 * Everything else stays the same.  A next_state that is given becomes the state after the step's own action.  A
 * NULL action or state equals no other, so a history that contains one equals no other either.
 *
 * In a group by turn, a step is a turn, and all its calls get its state.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "arrays.h"
#include "group/builder.h"
#include "hash.h"
#include "ids.h"
#include "parameters.h"

PG_FUNCTION_INFO_V1(stepadv_history_states);

enum
{
	MODE_SEQUENCE, MODE_SET, MODE_ROOT, MODE_LAST, MODE_LAST_OBSERVATIONS
};

#define MAX_HISTORY 1000

static const Parameter history_parameters[] = {
	CHOICE_PARAMETER("mode", "sequence", "set", "root", "last", "observation_last"),
	INTEGER_PARAMETER("history_length", 1, MAX_HISTORY)
};

/* New states, by step of the group's unit. */
typedef struct Histories
{
	int64	   *state;
	int64	   *next_state;		/* NULL: the group has no next_state */
	bool	   *state_null;		/* NULL: no state is NULL */
	bool	   *next_null;		/* NULL: unchanged */
} Histories;

/* The state before the first action.  Stored data depend on it. */
#define ROOT_STATE INT64CONST(0)

/* What an action adds to a history.  A NULL action is identified by its rollout and step number. */
static int64
action_identity(const GroupColumns *group, uint32 rollout, uint32 step)
{
	if (step_has_null(group, step, NULL_ACTION))
		return hash_int64_onto(group->step_no[step], group->rollout_id[rollout]);
	return group->action[step];
}

/* The history extended by one action. */
static int64
extend_history(int mode, int64 history, int64 action, bool is_new)
{
	switch (mode)
	{
		case MODE_SEQUENCE:
			return hash_int64_onto(action, history);
		case MODE_SET:
			/* A sum does not depend on the order.  Wraparound is intended. */
			return is_new ? (int64) ((uint64) history + (uint64) hash_int64_onto(action, 0)) : history;
		default:
			return ROOT_STATE;
	}
}

/* Is the action of a step new to its rollout?  A NULL action always is. takers: the last rollout per action. */
static bool
is_new_action(ids_hash *takers, const GroupColumns *group, uint32 rollout, uint32 step)
{
	IdEntry    *taker;
	bool		found;
	bool		is_new;

	if (step_has_null(group, step, NULL_ACTION))
		return true;
	taker = ids_insert(takers, group->action[step], &found);
	is_new = !found || taker->number != rollout;
	taker->number = rollout;
	return is_new;
}

static void
write_history(const GroupColumns *group, int mode, Histories *histories)
{
	ids_hash   *takers = ids_create(CurrentMemoryContext, 64, NULL);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		int64		history = ROOT_STATE;

		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			bool		is_new = mode == MODE_SET && is_new_action(takers, group, r, i);

			histories->state[i] = history;
			history = extend_history(mode, history, action_identity(group, r, i), is_new);
			if (histories->next_state)
				histories->next_state[i] = history;
		}
		CHECK_FOR_INTERRUPTS();
	}
	ids_destroy(takers);
}

/* Hash the last k identities before end, of the rollout that begins at first. */
static int64
hash_last(const int64 *identity, uint32 first, uint32 end, uint32 k)
{
	int64		history = ROOT_STATE;

	CHECK_FOR_INTERRUPTS();
	for (uint32 i = end - first > k ? end - k : first; i < end; i++)
		history = hash_int64_onto(identity[i], history);
	return history;
}

static void
write_last_actions(const GroupColumns *group, uint32 k, Histories *histories)
{
	int64	   *action = ALLOCATE_ARRAY(int64, group->n_steps);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		first = group->first_step[r];

		for (uint32 i = first; i < group->first_step[r + 1]; i++)
		{
			action[i] = action_identity(group, r, i);
			histories->state[i] = hash_last(action, first, i, k);
			if (histories->next_state)
				histories->next_state[i] = hash_last(action, first, i + 1, k);
		}
	}
}

static bool
lacks_state(const GroupColumns *group, uint32 first, uint32 end, uint32 k)
{
	for (uint32 i = end - first > k ? end - k : first; i < end; i++)
		if (step_has_null(group, i, NULL_STATE))
			return true;
	return false;
}

static void
write_last_observations(const GroupColumns *group, uint32 k, Histories *histories)
{
	histories->state_null = ALLOCATE_ZEROED_ARRAY(bool, group->n_steps);
	histories->next_null = ALLOCATE_ZEROED_ARRAY(bool, group->n_steps);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		first = group->first_step[r];

		for (uint32 i = first; i < group->first_step[r + 1]; i++)
		{
			histories->state[i] = hash_last(group->state, first, i + 1, k);
			histories->state_null[i] = lacks_state(group, first, i + 1, k);
			if (!histories->next_state)
				continue;
			histories->next_state[i] = hash_int64_onto(group->next_state[i],
													   hash_last(group->state, first, i + 1, k - 1));
			histories->next_null[i] = step_has_null(group, i, NULL_NEXT_STATE) ||
				lacks_state(group, first, i + 1, k - 1);
		}
	}
}

/* Set the state of each call to that of its step. */
static void
set_states(GroupColumns *calls, const uint32 *turn_of_call, const Histories *histories)
{
	int64	   *state = (int64 *) calls->state;
	int64	   *next_state = (int64 *) calls->next_state;
	uint8	   *nulls = (uint8 *) calls->nulls;

	for (uint32 i = 0; i < calls->n_steps; i++)
	{
		uint32		step = turn_of_call ? turn_of_call[i] : i;

		state[i] = histories->state[step];
		if (next_state)
			next_state[i] = histories->next_state[step];
		if (nulls == NULL)
			continue;
		nulls[i] &= ~NULL_STATE;
		if (histories->state_null && histories->state_null[step])
			nulls[i] |= NULL_STATE;
		if (next_state && histories->next_null)
			nulls[i] = (nulls[i] & ~NULL_NEXT_STATE) | (histories->next_null[step] ? NULL_NEXT_STATE : 0);
	}
}

Datum
stepadv_history_states(PG_FUNCTION_ARGS)
{
	RolloutGroup *datum = (RolloutGroup *) PG_GETARG_VARLENA_P(0);
	ParameterValue parameters[lengthof(history_parameters)];
	GroupColumns group;
	GroupColumns calls;
	GroupColumns copy;
	const uint32 *turn_of_call;
	Histories	histories = {0};
	RolloutGroup *result;

	read_parameters(fcinfo, 1, history_parameters, lengthof(history_parameters), parameters);
	turn_of_call = group_open_by_unit(datum, &group, &calls);
	result = group_copy(&calls, &copy);
	histories.state = ALLOCATE_ARRAY(int64, group.n_steps);
	if (group.next_state)
		histories.next_state = ALLOCATE_ARRAY(int64, group.n_steps);
	if (parameters[0].choice == MODE_LAST)
		write_last_actions(&group, parameters[1].number, &histories);
	else if (parameters[0].choice == MODE_LAST_OBSERVATIONS)
		write_last_observations(&group, parameters[1].number, &histories);
	else
		write_history(&group, parameters[0].choice, &histories);
	set_states(&copy, turn_of_call, &histories);
	group_seal(result);
	/* States may have become NULL or not NULL: rebuild the group as if such rows had been folded. */
	if (calls.nulls != NULL)
	{
		group_open(result, &copy);
		result = group_rebuilt(&copy);
	}
	PG_RETURN_POINTER(result);
}
