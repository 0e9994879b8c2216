/*
 * unpack.c
 *		steps(g), rollouts(g): the contents of a group as rows; with_values(g): whether it has a critic's
 *		values.
 */
#include "postgres.h"

#include "arrays.h"
#include "group/facts.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_steps);
PG_FUNCTION_INFO_V1(stepadv_rollouts);
PG_FUNCTION_INFO_V1(stepadv_with_values);

/* The null flags of a column.  All are set if the group does not have the column. */
static bool *
null_column(const GroupColumns *group, const void *column, uint8 bit)
{
	bool	   *nulls = ALLOCATE_ARRAY(bool, group->n_steps);

	for (uint32 i = 0; i < group->n_steps; i++)
		nulls[i] = column == NULL || step_has_null(group, i, bit);
	return nulls;
}

static const double *
number_column(const GroupColumns *group, const double *column)
{
	double	   *missing;

	if (column != NULL)
		return column;
	missing = ALLOCATE_ARRAY(double, group->n_steps);
	for (uint32 i = 0; i < group->n_steps; i++)
		missing[i] = NAN;
	return missing;
}

/* All arguments of rollout_agg except rewards, truncated and policy_step; success is the rollout's. */
Datum
stepadv_steps(PG_FUNCTION_ARGS)
{
	GroupColumns group;
	int64	   *rollout_id;
	bool	   *success;
	bool	   *success_null;

	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	rollout_id = ALLOCATE_ARRAY(int64, group.n_steps);
	success = ALLOCATE_ARRAY(bool, group.n_steps);
	success_null = ALLOCATE_ARRAY(bool, group.n_steps);
	for (uint32 r = 0; r < group.n_rollouts; r++)
		for (uint32 i = group.first_step[r]; i < group.first_step[r + 1]; i++)
		{
			rollout_id[i] = group.rollout_id[r];
			success[i] = group.success[r] == SUCCESS_TRUE;
			success_null[i] = group.success[r] == SUCCESS_UNKNOWN;
		}

	{
		ResultColumn columns[] = {
			{"step_id", COLUMN_INT8, group.step_id, NULL},
			{"rollout_id", COLUMN_INT8, rollout_id, NULL},
			{"step_no", COLUMN_INT4, group.step_no, NULL},
			{"state", COLUMN_INT8, group.state, null_column(&group, group.state, NULL_STATE)},
			{"action", COLUMN_INT8, group.action, null_column(&group, group.action, NULL_ACTION)},
			{"reward", COLUMN_FLOAT8, group.reward, NULL},
			{"success", COLUMN_BOOL, success, success_null},
			{"next_state", COLUMN_INT8, group.next_state ? group.next_state : group.state, null_column(&group, group.next_state, NULL_NEXT_STATE)},
			{"value", COLUMN_FLOAT8, number_column(&group, group.value), NULL},
			{"turn_reward", COLUMN_FLOAT8, number_column(&group, group.turn_reward), NULL},
			{"cost", COLUMN_FLOAT8, number_column(&group, group.cost), NULL},
			{"turn", COLUMN_INT4, group.turn ? group.turn : group.step_no, null_column(&group, group.turn, NULL_TURN)},
			{"coarse_state", COLUMN_INT8, group.coarse_state ? group.coarse_state : group.state,
			null_column(&group, group.coarse_state, NULL_COARSE_STATE)},
			{"logp", COLUMN_FLOAT8, number_column(&group, group.logp), NULL},
		};

		RETURN_COLUMNS(columns, group.n_steps);
	}
}

typedef struct RolloutRow
{
	double		outcome;
	double		total;
	bool		success;
	bool		is_unjudged;
	bool		is_truncated;
	bool		is_truncation_unknown;
	NullableInt8 policy_step;
} RolloutRow;

static const Parameter rollouts_parameters[] = {SUCCESS_ABOVE_PARAMETER};

/* One row per rollout, also without steps. return and success are NULL if the rollout is not judged. */
Datum
stepadv_rollouts(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(rollouts_parameters)];
	RolloutFacts facts;
	GroupColumns group;
	RolloutRow *rows;

	read_parameters(fcinfo, 1, rollouts_parameters, lengthof(rollouts_parameters), parameters);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	rows = ALLOCATE_ARRAY(RolloutRow, group.n_rollouts);
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		int64		policy_step = group.policy_step ? group.policy_step[r] : NO_POLICY_STEP;

		rows[r] = (RolloutRow) {
			.outcome = group.outcome ? group.outcome[r] : NAN, .total = facts.total[r], .is_unjudged = !facts.judged[r],
			.success = rollout_succeeded(&group, &facts, r, parameters[0].number),
			.is_truncated = rollout_is_truncated(&group, r), .policy_step = {policy_step, policy_step == NO_POLICY_STEP},
			.is_truncation_unknown = group.truncated == NULL || group.truncated[r] == TRUNCATION_UNKNOWN
		};
	}

	{
		ResultColumn columns[] = {
			{"rollout_id", COLUMN_INT8, group.rollout_id, NULL},
			{"n_steps", COLUMN_INT4, group.n_rollout_steps, NULL},
			FIELD_COLUMN(rows, outcome),
			{"return", COLUMN_FLOAT8, &rows->total, &rows->is_unjudged, sizeof(*rows)},
			{"success", COLUMN_BOOL, &rows->success, &rows->is_unjudged, sizeof(*rows)},
			{"judged", COLUMN_BOOL, facts.judged, NULL},
			{"truncated", COLUMN_BOOL, &rows->is_truncated, &rows->is_truncation_unknown, sizeof(*rows)},
			NULLABLE_FIELD_COLUMN(rows, policy_step),
		};

		RETURN_COLUMNS(columns, group.n_rollouts);
	}
}

/* The group itself, or NULL if no step has a value. */
Datum
stepadv_with_values(PG_FUNCTION_ARGS)
{
	RolloutGroup *rollouts = (RolloutGroup *) PG_GETARG_VARLENA_P(0);
	GroupColumns group;

	group_open(rollouts, &group);
	if (group.value == NULL)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(rollouts);
}
