/*
 * loops.c
 *		loops: steps that a rollout took before.
 *
 * Two steps of a rollout are the same by their state and action, or one of them.
 * Of a step that is the same as an earlier one
 *
 *	n_before		so many earlier steps of the rollout are
 *	since			the last of them was so many steps ago
 *	same_result		it led to the state that that one led to
 *	cycle_length	the least p so that the step is of a round of p steps that are the same as the p
 *					before: 1 for A A, 2 for A B A B
 *
 * A step is in a loop if it has a cycle_length or the same_result: what came of it was known.
 * Time is linear in steps times max_cycle.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/identity.h"
#include "group/facts.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_loops);

/* In the order of the choices of "same". */
enum
{
	SAME_STATE_ACTION, SAME_STATE, SAME_ACTION
};

enum
{
	P_SAME, P_MAX_CYCLE
};

static const Parameter loop_parameters[] = {
	CHOICE_PARAMETER("same", "state_action", "state", "action"),
	INTEGER_PARAMETER("max_cycle", 0, 1000)
};

/* By step. */
typedef struct Loops
{
	int32	   *n_before;
	int32	   *since;			/* 0: none was before */
	int32	   *cycle_length;	/* 0: in none */
	bool	   *same_result;
} Loops;

/* What is the same, and where steps lead, of all rollouts: whether one is judged does not matter here. */
static void
find_identities(const GroupColumns *group, int same, Identities *identities, int32 **next)
{
	RolloutFacts facts = {.judged = ALLOCATE_ARRAY(bool, group->n_rollouts), .n_judged = group->n_rollouts};
	bool	   *at_goal = ALLOCATE_ZEROED_ARRAY(bool, group->n_rollouts);
	Identities	states;
	const int32 *end;

	memset(facts.judged, true, group->n_rollouts * sizeof(bool));
	end = number_states_and_ends(group, &facts, at_goal, &states);
	*next = find_next_states(group, &states, end);
	if (same == SAME_STATE_ACTION)
		number_pairs(group, &states, identities);
	else if (same == SAME_ACTION)
		number_actions(group, identities);
	else
		*identities = states;
	pfree(facts.judged);
	pfree(at_goal);
}

static void
find_repeats(const GroupColumns *group, const Identities *identities, const int32 *next, Loops *loops)
{
	uint32	   *last = ALLOCATE_ARRAY(uint32, identities->n);	/* step with the identity */

	memset(last, 0xFF, identities->n * sizeof(uint32));
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		first = group->first_step[r];

		for (uint32 i = first; i < group->first_step[r + 1]; i++)
		{
			int32		identity = identities->of_step[i];
			uint32		before = last[identity];

			last[identity] = i;
			if (before == PG_UINT32_MAX || before < first)
				continue;
			loops->n_before[i] = loops->n_before[before] + 1;
			loops->since[i] = i - before;
			loops->same_result[i] = next[i] != NO_IDENTITY && next[i] == next[before];
		}
		CHECK_FOR_INTERRUPTS();
	}
	pfree(last);
}

/* Of one rollout's steps, from the shortest on. */
static void
find_cycles_of(const int32 *identity, uint32 n, uint32 max_cycle, int32 *cycle_length)
{
	for (uint32 p = 1; p <= max_cycle && 2 * p <= n; p++)
	{
		uint32		run = 0;	/* steps up to this one that are as p steps before */

		for (uint32 t = p; t < n; t++)
		{
			run = identity[t] == identity[t - p] ? run + 1 : 0;
			if (run < p)
				continue;
			/* A round is complete: all of it; then every step more is one. */
			for (uint32 k = t + 1 - (run == p ? p : 1); k <= t; k++)
				if (cycle_length[k] == 0)
					cycle_length[k] = p;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

static void
find_loops(const GroupColumns *group, const ParameterValue *parameters, Loops *loops)
{
	Identities	identities;
	int32	   *next;

	loops->n_before = ALLOCATE_ZEROED_ARRAY(int32, group->n_steps);
	loops->since = ALLOCATE_ZEROED_ARRAY(int32, group->n_steps);
	loops->cycle_length = ALLOCATE_ZEROED_ARRAY(int32, group->n_steps);
	loops->same_result = ALLOCATE_ZEROED_ARRAY(bool, group->n_steps);
	find_identities(group, parameters[P_SAME].choice, &identities, &next);
	find_repeats(group, &identities, next, loops);
	for (uint32 r = 0; r < group->n_rollouts; r++)
		find_cycles_of(identities.of_step + group->first_step[r], group->n_rollout_steps[r],
					   (uint32) parameters[P_MAX_CYCLE].number, loops->cycle_length + group->first_step[r]);
}

/* Every call gets what was found of the turn that it is part of; where steps are calls, nothing is to do. */
static void
spread_loops(const uint32 *turn_of_call, uint32 n_calls, Loops *loops)
{
	Loops		of_turns = *loops;

	if (turn_of_call == NULL)
		return;
	loops->n_before = ALLOCATE_ARRAY(int32, n_calls);
	loops->since = ALLOCATE_ARRAY(int32, n_calls);
	loops->cycle_length = ALLOCATE_ARRAY(int32, n_calls);
	loops->same_result = ALLOCATE_ARRAY(bool, n_calls);
	for (uint32 i = 0; i < n_calls; i++)
	{
		loops->n_before[i] = of_turns.n_before[turn_of_call[i]];
		loops->since[i] = of_turns.since[turn_of_call[i]];
		loops->cycle_length[i] = of_turns.cycle_length[turn_of_call[i]];
		loops->same_result[i] = of_turns.same_result[turn_of_call[i]];
	}
}

/* The result columns. */
typedef struct LoopColumns
{
	int64	   *rollout_id;
	bool	   *first;			/* no step before was the same */
	bool	   *no_cycle;
	bool	   *in_loop;
} LoopColumns;

static void
fill_columns(const GroupColumns *calls, const Loops *loops, LoopColumns *columns)
{
	columns->rollout_id = ALLOCATE_ARRAY(int64, calls->n_steps);
	columns->first = ALLOCATE_ARRAY(bool, calls->n_steps);
	columns->no_cycle = ALLOCATE_ARRAY(bool, calls->n_steps);
	columns->in_loop = ALLOCATE_ARRAY(bool, calls->n_steps);
	for (uint32 r = 0; r < calls->n_rollouts; r++)
	{
		for (uint32 i = calls->first_step[r]; i < calls->first_step[r + 1]; i++)
		{
			CHECK_ONCE_IN_A_WHILE(i);
			columns->rollout_id[i] = calls->rollout_id[r];
			columns->first[i] = loops->since[i] == 0;
			columns->no_cycle[i] = loops->cycle_length[i] == 0;
			columns->in_loop[i] = !columns->no_cycle[i] || loops->same_result[i];
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* What both functions begin with. */
static void
open_loops(FunctionCallInfo fcinfo, GroupColumns *calls, Loops *loops)
{
	ParameterValue parameters[lengthof(loop_parameters)];
	GroupColumns group;
	const uint32 *turn_of_call;

	read_parameters(fcinfo, 1, loop_parameters, lengthof(loop_parameters), parameters);
	turn_of_call = group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, calls);
	find_loops(&group, parameters, loops);
	spread_loops(turn_of_call, calls->n_steps, loops);
}

Datum
stepadv_loops(PG_FUNCTION_ARGS)
{
	GroupColumns calls;
	Loops		loops;
	LoopColumns columns;

	open_loops(fcinfo, &calls, &loops);
	fill_columns(&calls, &loops, &columns);

	{
		ResultColumn results[] = {
			{"step_id", COLUMN_INT8, calls.step_id, NULL},
			{"rollout_id", COLUMN_INT8, columns.rollout_id, NULL},
			{"step_no", COLUMN_INT4, calls.step_no, NULL},
			{"n_before", COLUMN_INT4, loops.n_before, NULL},
			{"since", COLUMN_INT4, loops.since, columns.first},
			{"cycle_length", COLUMN_INT4, loops.cycle_length, columns.no_cycle},
			{"same_result", COLUMN_BOOL, loops.same_result, NULL},
			{"in_loop", COLUMN_BOOL, columns.in_loop, NULL},
		};

		RETURN_COLUMNS(results, calls.n_steps);
	}
}
