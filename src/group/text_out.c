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
 * defects, the unit and whether a value is forgiving are version 2:
 *
 *	{"version": 2, …, "turn": [0, 0], "rewards": [[null, 1], [0.5, null]],
 *	 "outcome_rewards": [[null], [1]], "defects": [0], "unit": "turn",
 *	 "forgiving": true}
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

/* nulls with bit NULL: which numbers are to be printed as null. */
static void
append_int64_column(StringInfo out, const char *name, const int64 *column, uint32 count,
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
			append_int64(out, column[i]);
	}
	appendStringInfoChar(out, ']');
}

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

static void
append_uint8_column(StringInfo out, const char *name, const uint8 *column, uint32 count)
{
	if (column == NULL)
		return;
	begin_column(out, name);
	for (uint32 i = 0; i < count; i++)
	{
		separate(out, i);
		append_int64(out, column[i]);
	}
	appendStringInfoChar(out, ']');
}

const char *const group_unit_words[] = {"step", "turn", "turn_set", NULL};

static void
append_version_2(StringInfo out, const GroupColumns *group)
{
	if (group->turn != NULL)
	{
		begin_column(out, "turn");
		for (uint32 i = 0; i < group->n_steps; i++)
		{
			separate(out, i);
			if (step_has_null(group, i, NULL_TURN))
				appendStringInfoString(out, "null");
			else
				append_int64(out, group->turn[i]);
		}
		appendStringInfoChar(out, ']');
	}
	append_components(out, "rewards", group->step_rewards, group->n_rewards, group->n_steps);
	append_components(out, "outcome_rewards", group->outcome_rewards, group->n_rewards, group->n_rollouts);
	append_uint8_column(out, "defects", group->defects, group->n_rollouts);
	if (group->unit != UNIT_STEP)
		appendStringInfo(out, ", \"unit\": \"%s\"", group_unit_words[group->unit]);
	if (group->forgiving)
		appendStringInfoString(out, ", \"forgiving\": true");
}

Datum
stepadv_rollout_group_out(PG_FUNCTION_ARGS)
{
	static const char *const success_words[] = {"null", "false", "true"};
	GroupColumns group;
	StringInfoData out;

	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group);
	initStringInfo(&out);
	appendStringInfo(&out, "{\"version\": %d", group_version(&group));
	append_int64_column(&out, "rollout_id", group.rollout_id, group.n_rollouts, NULL, 0);
	begin_column(&out, "n_steps");
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		separate(&out, r);
		append_int64(&out, group.n_rollout_steps[r]);
	}
	appendStringInfoChar(&out, ']');
	begin_column(&out, "success");
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		separate(&out, r);
		appendStringInfoString(&out, success_words[group.success[r]]);
	}
	appendStringInfoChar(&out, ']');
	append_double_column(&out, "outcome", group.outcome, group.n_rollouts);
	append_int64_column(&out, "step_id", group.step_id, group.n_steps, NULL, 0);
	begin_column(&out, "step_no");
	for (uint32 i = 0; i < group.n_steps; i++)
	{
		separate(&out, i);
		append_int64(&out, group.step_no[i]);
	}
	appendStringInfoChar(&out, ']');
	append_int64_column(&out, "state", group.state, group.n_steps, group.nulls, NULL_STATE);
	append_int64_column(&out, "action", group.action, group.n_steps, group.nulls, NULL_ACTION);
	append_double_column(&out, "reward", group.reward, group.n_steps);
	append_int64_column(&out, "next_state", group.next_state, group.n_steps, group.nulls, NULL_NEXT_STATE);
	append_double_column(&out, "value", group.value, group.n_steps);
	append_double_column(&out, "turn_reward", group.turn_reward, group.n_steps);
	append_double_column(&out, "cost", group.cost, group.n_steps);
	append_version_2(&out, &group);
	appendStringInfoChar(&out, '}');
	PG_RETURN_CSTRING(out.data);
}
