/*
 * loops.c
 *		loops: steps that repeat an earlier step of their rollout.
 *
 * Two steps of a rollout are equal if their states and actions are, or one of these (same).
 * For each step:
 *
 *	n_before		the number of equal earlier steps of the rollout
 *	since			how many steps ago the last of them was
 *	same_result		it led to the same state as the last of them
 *	cycle_length	the least p such that the step is one of p steps that equal the p steps before:
 *					1 for A A, 2 for A B A B
 *
 * A step is in a loop if it has a cycle_length or same_result: its result was predictable.
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

/* A step's result row. */
typedef struct Loop
{
	int64		rollout_id;
	int32		n_before;
	NullableInt4 since;
	NullableInt4 cycle_length;
	bool		same_result;
	bool		in_loop;
} Loop;

/* Which steps are equal, and the states they lead to, for all rollouts, judged or not. */
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
find_repeats(const GroupColumns *group, const Identities *identities, const int32 *next, Loop *loops)
{
	uint32	   *last = ALLOCATE_ARRAY(uint32, identities->n);	/* last step by identity */

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
			loops[i].n_before = loops[before].n_before + 1;
			loops[i].since = (NullableInt4) {i - before, false};
			loops[i].same_result = next[i] != NO_IDENTITY && next[i] == next[before];
		}
		CHECK_FOR_INTERRUPTS();
	}
	pfree(last);
}

/* The cycles of one rollout's steps, the shortest first. */
static void
find_cycles_of(const int32 *identity, uint32 n, uint32 max_cycle, Loop *loops)
{
	for (uint32 p = 1; p <= max_cycle && 2 * p <= n; p++)
	{
		uint32		run = 0;	/* consecutive steps up to this one that equal the one p before */

		for (uint32 t = p; t < n; t++)
		{
			run = identity[t] == identity[t - p] ? run + 1 : 0;
			if (run < p)
				continue;
			/* Mark all p steps when the first cycle is complete, then each further step. */
			for (uint32 k = t + 1 - (run == p ? p : 1); k <= t; k++)
				if (loops[k].cycle_length.isnull)
					loops[k].cycle_length = (NullableInt4) {p, false};
		}
		CHECK_FOR_INTERRUPTS();
	}
}

static Loop *
find_loops(const GroupColumns *group, const ParameterValue *parameters)
{
	Identities	identities;
	int32	   *next;
	Loop	   *loops = ALLOCATE_ARRAY(Loop, group->n_steps);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			CHECK_ONCE_IN_A_WHILE(i);
			loops[i] = (Loop) {.rollout_id = group->rollout_id[r], .since = {0, true}, .cycle_length = {0, true}};
		}
	find_identities(group, parameters[P_SAME].choice, &identities, &next);
	find_repeats(group, &identities, next, loops);
	for (uint32 r = 0; r < group->n_rollouts; r++)
		find_cycles_of(identities.of_step + group->first_step[r], group->n_rollout_steps[r],
					   (uint32) parameters[P_MAX_CYCLE].number, loops + group->first_step[r]);
	for (uint32 i = 0; i < group->n_steps; i++)
		loops[i].in_loop = !loops[i].cycle_length.isnull || loops[i].same_result;
	return loops;
}

Datum
stepadv_loops(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(loop_parameters)];
	GroupColumns group;
	GroupColumns calls;
	const uint32 *turn_of_call;
	const Loop *loops;
	Loop	   *rows;

	read_parameters(fcinfo, 1, loop_parameters, lengthof(loop_parameters), parameters);
	turn_of_call = group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, &calls);
	loops = find_loops(&group, parameters);
	/* A call gets the result of its turn. */
	rows = ALLOCATE_ARRAY(Loop, calls.n_steps);
	for (uint32 i = 0; i < calls.n_steps; i++)
		rows[i] = loops[turn_of_call == NULL ? i : turn_of_call[i]];

	{
		ResultColumn columns[] = {
			{"step_id", COLUMN_INT8, calls.step_id},
			FIELD_COLUMN(rows, rollout_id),
			{"step_no", COLUMN_INT4, calls.step_no},
			FIELD_COLUMN(rows, n_before),
			NULLABLE_FIELD_COLUMN(rows, since),
			NULLABLE_FIELD_COLUMN(rows, cycle_length),
			FIELD_COLUMN(rows, same_result),
			FIELD_COLUMN(rows, in_loop),
		};

		RETURN_COLUMNS(columns, calls.n_steps);
	}
}
