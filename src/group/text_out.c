/*
 * text_out.c
 *		Text form of rollout_group.
 *
 * One JSON object whose members are the columns, arrays of equal length by
 * rollout or by step; a column that is NULL throughout may be left out.
 * Numbers are printed with the fewest digits that read back to the same value.
 *
 *	{"version": 1, "rollout_id": [7], "n_steps": [2], "success": [true],
 *	 "step_id": [1, 2], "step_no": [0, 1], "state": [10, null],
 *	 "action": [5, 6], "reward": [null, 1]}
 *
 * Reward components are arrays in an array, one by component.  Turns, components,
 * defects, whether rollouts were cut off and by which policy they were made, the
 * unit and whether a value is forgiving are version 2:
 *
 *	{"version": 2, …, "turn": [0, 0], "rewards": [[null, 1], [0.5, null]],
 *	 "outcome_rewards": [[null], [1]], "defects": [0], "truncated": [false],
 *	 "policy_step": [12], "unit": "turn", "forgiving": true}
 */
#include "postgres.h"

#include "common/shortest_dec.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "group/io.h"

PG_FUNCTION_INFO_V1(stepadv_rollout_group_out);

static void
begin_column(StringInfo out, const char *name)
{
	appendStringInfo(out, ", \"%s\": [", name);
}

static void
separate(StringInfo out, uint32 i)
{
	if (i > 0)
		appendStringInfoString(out, ", ");
	if (i % 4096 == 0)
		CHECK_FOR_INTERRUPTS();
}

static void
append_int64(StringInfo out, int64 number)
{
	char		digits[MAXINT8LEN + 1];

	appendBinaryStringInfo(out, digits, pg_lltoa(number, digits));
}

/* Of a column of numbers so wide.  A count is never so large that it were negative. */
static inline int64
integer_at(const void *column, Size width, uint32 i)
{
	switch (width)
	{
		case sizeof(uint8):
			return ((const uint8 *) column)[i];
		case sizeof(int32):
			return ((const int32 *) column)[i];
		default:
			return ((const int64 *) column)[i];
	}
}

/* nulls with bit NULL: which numbers are to be printed as null. */
static void
append_integer_column(StringInfo out, const char *name, const void *column, Size width, uint32 count,
					  const uint8 *nulls, uint8 bit)
{
	if (column == NULL)
		return;
	begin_column(out, name);
	for (uint32 i = 0; i < count; i++)
	{
		separate(out, i);
		if (nulls != NULL && (nulls[i] & bit) != 0)
			appendStringInfoString(out, "null");
		else
			append_int64(out, integer_at(column, width, i));
	}
	appendStringInfoChar(out, ']');
}

/* Of a column whose numbers are those of unknown, false and true. */
static void
append_words(StringInfo out, const char *name, const uint8 *column, uint32 count)
{
	static const char *const words[] = {"null", "false", "true"};

	if (column == NULL)
		return;
	begin_column(out, name);
	for (uint32 i = 0; i < count; i++)
	{
		separate(out, i);
		appendStringInfoString(out, words[column[i]]);
	}
	appendStringInfoChar(out, ']');
}

static void
append_policy_steps(StringInfo out, const GroupColumns *group)
{
	if (group->policy_step == NULL)
		return;
	begin_column(out, "policy_step");
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		separate(out, r);
		if (group->policy_step[r] == NO_POLICY_STEP)
			appendStringInfoString(out, "null");
		else
			append_int64(out, group->policy_step[r]);
	}
	appendStringInfoChar(out, ']');
}

#define APPEND_INTEGERS(out, name, column, count, nulls, bit) \
	append_integer_column(out, name, column, sizeof(*(column)), count, nulls, bit)

static void
append_doubles(StringInfo out, const double *column, uint32 count)
{
	for (uint32 i = 0; i < count; i++)
	{
		char		digits[DOUBLE_SHORTEST_DECIMAL_LEN];

		separate(out, i);
		if (isnan(column[i]))
			appendStringInfoString(out, "null");
		else
			appendBinaryStringInfo(out, digits, double_to_shortest_decimal_bufn(column[i], digits));
	}
	appendStringInfoChar(out, ']');
}

static void
append_double_column(StringInfo out, const char *name, const double *column, uint32 count)
{
	if (column == NULL)
		return;
	begin_column(out, name);
	append_doubles(out, column, count);
}

/* An array by component. */
static void
append_components(StringInfo out, const char *name, const double *columns, uint32 n_columns, uint32 count)
{
	if (columns == NULL)
		return;
	begin_column(out, name);
	for (uint32 c = 0; c < n_columns; c++)
	{
		separate(out, c);
		appendStringInfoChar(out, '[');
		append_doubles(out, columns + (uint64) c * count, count);
	}
	appendStringInfoChar(out, ']');
}

const char *const group_unit_words[] = {"step", "turn", "turn_set", NULL};

static void
append_version_2(StringInfo out, const GroupColumns *group)
{
	APPEND_INTEGERS(out, "turn", group->turn, group->n_steps, group->nulls, NULL_TURN);
	append_components(out, "rewards", group->step_rewards, group->n_rewards, group->n_steps);
	append_components(out, "outcome_rewards", group->outcome_rewards, group->n_rewards, group->n_rollouts);
	APPEND_INTEGERS(out, "defects", group->defects, group->n_rollouts, NULL, 0);
	append_words(out, "truncated", group->truncated, group->n_rollouts);
	append_policy_steps(out, group);
	if (group->unit != UNIT_STEP)
		appendStringInfo(out, ", \"unit\": \"%s\"", group_unit_words[group->unit]);
	if (group->forgiving)
		appendStringInfoString(out, ", \"forgiving\": true");
}

Datum
stepadv_rollout_group_out(PG_FUNCTION_ARGS)
{
	GroupColumns group;
	StringInfoData out;

	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group);
	initStringInfo(&out);
	appendStringInfo(&out, "{\"version\": %d", group_version(&group));
	APPEND_INTEGERS(&out, "rollout_id", group.rollout_id, group.n_rollouts, NULL, 0);
	APPEND_INTEGERS(&out, "n_steps", group.n_rollout_steps, group.n_rollouts, NULL, 0);
	append_words(&out, "success", group.success, group.n_rollouts);
	append_double_column(&out, "outcome", group.outcome, group.n_rollouts);
	APPEND_INTEGERS(&out, "step_id", group.step_id, group.n_steps, NULL, 0);
	APPEND_INTEGERS(&out, "step_no", group.step_no, group.n_steps, NULL, 0);
	APPEND_INTEGERS(&out, "state", group.state, group.n_steps, group.nulls, NULL_STATE);
	APPEND_INTEGERS(&out, "action", group.action, group.n_steps, group.nulls, NULL_ACTION);
	append_double_column(&out, "reward", group.reward, group.n_steps);
	APPEND_INTEGERS(&out, "next_state", group.next_state, group.n_steps, group.nulls, NULL_NEXT_STATE);
	append_double_column(&out, "value", group.value, group.n_steps);
	append_double_column(&out, "turn_reward", group.turn_reward, group.n_steps);
	append_double_column(&out, "cost", group.cost, group.n_steps);
	append_version_2(&out, &group);
	appendStringInfoChar(&out, '}');
	PG_RETURN_CSTRING(out.data);
}
