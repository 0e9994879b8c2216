/*
 * history.c
 *		history_states(g, mode): states made from what the rollout did before.
 *
 * Where observations never repeat, or repeat without meaning the same, the
 * actions taken so far can stand for the state:
 *
 *	sequence	the actions before, in order: the group becomes a prefix tree
 *	set			the distinct actions before, in any order
 *	root		nothing: one state, the tree collapses to GRPO's comparison
 *
 * Everything else of the group stays as it is; a next_state that is given
 * becomes the state after the step's own action.  A NULL action equals no other,
 * so neither does a history that contains it.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "arrays.h"
#include "estimators/identity.h"
#include "group/group.h"
#include "hash.h"
#include "parameters.h"

PG_FUNCTION_INFO_V1(stepadv_history_states);

enum
{
	MODE_SEQUENCE, MODE_SET, MODE_ROOT
};

static const Parameter history_parameters[] = {CHOICE_PARAMETER("mode", "sequence", "set", "root")};

/* The state before anything was done; stored data depend on it. */
#define ROOT_STATE INT64CONST(0)

/* What an action adds to a history; a NULL one is told apart by where it stands. */
static int64
action_identity(const GroupColumns *group, uint32 rollout, uint32 step)
{
	if (step_has_null(group, step, NULL_ACTION))
		return hash_int64_onto(group->step_no[step], group->rollout_id[rollout]);
	return group->action[step];
}

/* The history with one more action. */
static int64
extend_history(int mode, int64 history, int64 action, bool is_new)
{
	switch (mode)
	{
		case MODE_SEQUENCE:
			return hash_int64_onto(action, history);
		case MODE_SET:
			/* A sum does not depend on the order; wrapping is meant. */
			return is_new ? (int64) ((uint64) history + (uint64) hash_int64_onto(action, 0)) : history;
		default:
			return ROOT_STATE;
	}
}

static void
write_history(const GroupColumns *group, int mode, int64 *state, int64 *next_state)
{
	Identities	actions;
	uint32	   *last_rollout;

	number_actions(group, &actions);
	last_rollout = ALLOCATE_ZEROED_ARRAY(uint32, actions.n);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		int64		history = ROOT_STATE;

		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			bool		is_new = last_rollout[actions.of_step[i]] != r + 1;

			last_rollout[actions.of_step[i]] = r + 1;
			state[i] = history;
			history = extend_history(mode, history, action_identity(group, r, i), is_new);
			if (next_state)
				next_state[i] = history;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

Datum
stepadv_history_states(PG_FUNCTION_ARGS)
{
	RolloutGroup *datum = (RolloutGroup *) PG_GETARG_VARLENA_P(0);
	ParameterValue parameters[lengthof(history_parameters)];
	GroupColumns group;
	GroupColumns copy;
	RolloutGroup *result;

	read_parameters(fcinfo, 1, history_parameters, lengthof(history_parameters), parameters);
	group_open(datum, &group);
	result = group_copy(&group, &copy);
	write_history(&group, parameters[0].choice, (int64 *) copy.state, (int64 *) copy.next_state);
	if (copy.nulls)
		for (uint32 i = 0; i < copy.n_steps; i++)
			((uint8 *) copy.nulls)[i] &= ~NULL_STATE;
	group_seal(result);
	PG_RETURN_POINTER(result);
}
