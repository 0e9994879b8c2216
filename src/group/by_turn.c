/*
 * by_turn.c
 *		by_turn(g, actions): a view of a group with turns as steps: the calls of one response are one step.
 *
 * by_turn itself only sets the value's unit, so nothing is lost and groups can still be merged.  Functions that
 * open the value by its unit see turns.
 *
 * All calls of a rollout with the same turn are one step, wherever they are, at the place of the first call.  A
 * call without a turn is a step of its own.  State, coarse state and value are those of the first call,
 * next_state is that of the last.  Rewards and cost are summed, and log-probabilities if all calls have one.  The
 * action is a hash of the calls' actions.  If a turn has one call, its action is that call's, so a group in which
 * every turn is one call does not change.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "group/group.h"
#include "hash.h"
#include "ids.h"
#include "parameters.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_by_turn);

/* ----------
 * Which calls form a turn
 * ----------
 */

/*
 * Number the turns of one rollout, from next; returns the number after the last, or 0 if the turns are not in
 * order.  Mostly they are, and need no hash table.
 */
static uint32
number_ordered_turns(const GroupColumns *calls, uint32 begin, uint32 end, uint32 next, uint32 *turn_of_call)
{
	bool		any = false;
	uint32		current = 0;	/* the index of the greatest turn number so far */
	int32		greatest = 0;	/* that turn number */

	for (uint32 i = begin; i < end; i++)
	{
		if (calls->turn == NULL || step_has_null(calls, i, NULL_TURN))
		{
			turn_of_call[i] = next++;
			continue;
		}
		if (any && calls->turn[i] < greatest)
			return 0;
		if (!any || calls->turn[i] > greatest)
			current = next++;
		any = true;
		greatest = calls->turn[i];
		turn_of_call[i] = current;
	}
	return next;
}

static uint32
number_scattered_turns(const GroupColumns *calls, uint32 begin, uint32 end, uint32 next, uint32 *turn_of_call)
{
	ids_hash   *table = ids_create(CurrentMemoryContext, 64, NULL);

	for (uint32 i = begin; i < end; i++)
	{
		IdEntry    *entry;
		bool		found = false;

		if (!step_has_null(calls, i, NULL_TURN))
		{
			entry = ids_insert(table, calls->turn[i], &found);
			if (!found)
				entry->number = next;
		}
		turn_of_call[i] = found ? entry->number : next++;
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	ids_destroy(table);
	return next;
}

/* Turns are numbered in the order of their first calls.  Sets n_rollout_steps and first_step. */
static uint32 *
number_turns(const GroupColumns *calls, GroupColumns *group)
{
	uint32	   *turn_of_call = ALLOCATE_ARRAY(uint32, calls->n_steps);
	uint32	   *first_step = ALLOCATE_ARRAY(uint32, (Size) calls->n_rollouts + 1);
	uint32	   *n_rollout_steps = ALLOCATE_ARRAY(uint32, calls->n_rollouts);

	first_step[0] = 0;
	for (uint32 r = 0; r < calls->n_rollouts; r++)
	{
		uint32		begin = calls->first_step[r];
		uint32		end = calls->first_step[r + 1];
		uint32		next = begin == end ? first_step[r] :
			number_ordered_turns(calls, begin, end, first_step[r], turn_of_call);

		if (begin < end && next == 0)
			next = number_scattered_turns(calls, begin, end, first_step[r], turn_of_call);
		first_step[r + 1] = next;
		n_rollout_steps[r] = next - first_step[r];
		CHECK_FOR_INTERRUPTS();
	}
	group->n_steps = first_step[calls->n_rollouts];
	group->first_step = first_step;
	group->n_rollout_steps = n_rollout_steps;
	return turn_of_call;
}

/* ----------
 * Columns of turns
 * ----------
 */

/* By turn: the number of calls, the first and the last one. */
typedef struct TurnCalls
{
	uint32	   *n;
	uint32	   *first;
	uint32	   *last;
} TurnCalls;

static TurnCalls
find_turn_calls(const GroupColumns *calls, const uint32 *turn_of_call, uint32 n_turns)
{
	TurnCalls	turns = {
		ALLOCATE_ZEROED_ARRAY(uint32, n_turns), ALLOCATE_ARRAY(uint32, n_turns), ALLOCATE_ARRAY(uint32, n_turns)
	};

	for (uint32 i = 0; i < calls->n_steps; i++)
	{
		uint32		t = turn_of_call[i];

		if (turns.n[t]++ == 0)
			turns.first[t] = i;
		turns.last[t] = i;
	}
	return turns;
}

/* By turn, the entry of one of its calls. */
#define PICK_COLUMN(type, column, call_of_turn) \
	pick_##type(column, call_of_turn, group->n_steps)

#define DEFINE_PICK(type) \
	static const type * \
	pick_##type(const type *column, const uint32 *call_of_turn, uint32 n_turns) \
	{ \
		type	   *picked; \
		\
		if (column == NULL) \
			return NULL; \
		picked = ALLOCATE_ARRAY(type, n_turns); \
		for (uint32 t = 0; t < n_turns; t++) \
			picked[t] = column[call_of_turn[t]]; \
		return picked; \
	}

DEFINE_PICK(int64)
DEFINE_PICK(int32)
DEFINE_PICK(double)

/* By turn, the sum over its calls; missing if all are. */
static void
sum_column(const double *column, const uint32 *turn_of_call, uint32 n_calls, uint32 n_turns, double *result)
{
	Sum		   *sums = ALLOCATE_ZEROED_ARRAY(Sum, n_turns);

	for (uint32 t = 0; t < n_turns; t++)
		result[t] = NAN;
	for (uint32 i = 0; i < n_calls; i++)
	{
		uint32		t = turn_of_call[i];

		if (isnan(column[i]))
			continue;
		sum_add(&sums[t], column[i]);
		result[t] = sum_value(&sums[t]);
	}
	pfree(sums);
	CHECK_FOR_INTERRUPTS();
}

/* A sum of finite numbers can overflow: an error, or a defect of the rollout if the group is lenient. */
static void
check_sums(const double *column, const char *name, GroupColumns *group)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 t = group->first_step[r]; t < group->first_step[r + 1]; t++)
		{
			if (likely(!isinf(column[t])))
				continue;
			if (!group->lenient)
				ereport(ERROR,
						(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						 errmsg("%s of the turn that begins with step %d of rollout " INT64_FORMAT " is out of range for type double precision",
								name, group->step_no[t], group->rollout_id[r])));
			group_add_defect(group, r, DEFECT_OVERFLOW);
		}
}

static const double *
sum_of_turns(const double *column, const char *name, const uint32 *turn_of_call, const GroupColumns *calls,
			 GroupColumns *group)
{
	double	   *result;

	if (column == NULL)
		return NULL;
	result = ALLOCATE_ARRAY(double, group->n_steps);
	sum_column(column, turn_of_call, calls->n_steps, group->n_steps, result);
	check_sums(result, name, group);
	return result;
}

static const double *
sum_components(const uint32 *turn_of_call, const GroupColumns *calls, GroupColumns *group)
{
	double	   *result;

	if (calls->step_rewards == NULL)
		return NULL;
	result = ALLOCATE_ARRAY(double, group->n_step_rewards);
	for (uint32 c = 0; c < group->n_rewards; c++)
	{
		double	   *sums = result + (uint64) c * group->n_steps;

		sum_column(calls->step_rewards + (uint64) c * calls->n_steps, turn_of_call, calls->n_steps, group->n_steps,
				   sums);
		check_sums(sums, "a reward component", group);
	}
	return result;
}

/*
 * A hash of the actions in order, or of how often each was taken.  It starts from their number, and is hashed
 * once more than a single action, so that it does not collide with one.
 */
static const int64 *
hash_actions(const GroupColumns *calls, const uint32 *turn_of_call, const TurnCalls *turns, uint32 n_turns)
{
	int64	   *action = ALLOCATE_ARRAY(int64, n_turns);

	for (uint32 t = 0; t < n_turns; t++)
		action[t] = turns->n[t];
	for (uint32 i = 0; i < calls->n_steps; i++)
	{
		uint32		t = turn_of_call[i];

		if (turns->n[t] == 1)
			action[t] = calls->action[i];
		else if (calls->unit == UNIT_TURN_SET)
			action[t] = (int64) ((uint64) action[t] + (uint64) hash_int64_onto(calls->action[i], 0));
		else
			action[t] = hash_int64_onto(calls->action[i], action[t]);
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	if (calls->unit == UNIT_TURN_SET)
		for (uint32 t = 0; t < n_turns; t++)
			if (turns->n[t] > 1)
				action[t] = hash_int64_onto(action[t], turns->n[t]);
	return action;
}

static const uint8 *
turn_nulls(const GroupColumns *calls, const uint32 *turn_of_call, const TurnCalls *turns, uint32 n_turns)
{
	uint8	   *nulls;

	if (calls->nulls == NULL)
		return NULL;
	nulls = ALLOCATE_ARRAY(uint8, n_turns);
	for (uint32 t = 0; t < n_turns; t++)
		nulls[t] = (calls->nulls[turns->first[t]] & (NULL_STATE | NULL_TURN | NULL_COARSE_STATE)) |
			(calls->nulls[turns->last[t]] & NULL_NEXT_STATE);
	for (uint32 i = 0; i < calls->n_steps; i++)
		nulls[turn_of_call[i]] |= calls->nulls[i] & NULL_ACTION;
	return nulls;
}

/* Make the sum missing if any call of the turn has no entry. */
static void
forget_partial_sums(const double *column, const uint32 *turn_of_call, uint32 n_calls, const double *sums)
{
	for (uint32 i = 0; column != NULL && i < n_calls; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (isnan(column[i]))
			unconstify(double *, sums)[turn_of_call[i]] = NAN;
	}
}

static void
fold_turns(const GroupColumns *calls, const uint32 *turn_of_call, GroupColumns *group)
{
	TurnCalls	turns = find_turn_calls(calls, turn_of_call, group->n_steps);

	group->step_id = PICK_COLUMN(int64, calls->step_id, turns.first);
	group->step_no = PICK_COLUMN(int32, calls->step_no, turns.first);
	group->turn = PICK_COLUMN(int32, calls->turn, turns.first);
	group->state = PICK_COLUMN(int64, calls->state, turns.first);
	group->coarse_state = PICK_COLUMN(int64, calls->coarse_state, turns.first);
	group->value = PICK_COLUMN(double, calls->value, turns.first);
	group->next_state = PICK_COLUMN(int64, calls->next_state, turns.last);
	group->action = hash_actions(calls, turn_of_call, &turns, group->n_steps);
	group->nulls = turn_nulls(calls, turn_of_call, &turns, group->n_steps);
	group->reward = sum_of_turns(calls->reward, "reward", turn_of_call, calls, group);
	group->turn_reward = sum_of_turns(calls->turn_reward, "turn_reward", turn_of_call, calls, group);
	group->cost = sum_of_turns(calls->cost, "cost", turn_of_call, calls, group);
	group->logp = sum_of_turns(calls->logp, "logp", turn_of_call, calls, group);
	forget_partial_sums(calls->logp, turn_of_call, calls->n_steps, group->logp);
	group->n_step_rewards = (uint64) group->n_steps * group->n_rewards;
	group->step_rewards = sum_components(turn_of_call, calls, group);
}

const uint32 *
group_open_by_unit(const RolloutGroup *datum, GroupColumns *group, GroupColumns *calls)
{
	GroupColumns stored;
	const uint32 *turn_of_call;

	group_open(datum, group);
	if (calls != NULL)
		*calls = *group;
	if (group->unit == UNIT_STEP)
		return NULL;
	stored = *group;
	/* Columns by rollout stay as they are; turns are now steps. */
	group->unit = UNIT_STEP;
	turn_of_call = number_turns(&stored, group);
	fold_turns(&stored, turn_of_call, group);
	return turn_of_call;
}

const uint32 *
group_count_turns(const GroupColumns *calls)
{
	GroupColumns turns = *calls;

	pfree((void *) number_turns(calls, &turns));
	return turns.n_rollout_steps;
}

/* In the order of GroupUnit, from UNIT_TURN on. */
static const Parameter by_turn_parameters[] = {CHOICE_PARAMETER("actions", "sequence", "set")};

Datum
stepadv_by_turn(PG_FUNCTION_ARGS)
{
	RolloutGroup *datum = (RolloutGroup *) PG_GETARG_VARLENA_P(0);
	ParameterValue parameters[lengthof(by_turn_parameters)];
	GroupColumns group;
	GroupColumns copy;
	RolloutGroup *result;

	read_parameters(fcinfo, 1, by_turn_parameters, lengthof(by_turn_parameters), parameters);
	group_open(datum, &group);
	group.unit = UNIT_TURN + parameters[0].choice;
	result = group_copy(&group, &copy);
	group_seal(result);
	PG_RETURN_POINTER(result);
}
