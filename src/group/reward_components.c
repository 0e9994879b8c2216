/*
 * reward_components.c
 *		with_rewards(g, weights): the group with rewards computed from components; reward_components(g): these
 *		as rows.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "arrays.h"
#include "group/group.h"
#include "rows.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_with_rewards);
PG_FUNCTION_INFO_V1(stepadv_reward_components);

/* One weight per component of the group.  A group without components accepts any number of weights. */
static const double *
read_weights(ArrayType *array, uint32 n_rewards)
{
	int			n = ARR_NDIM(array) == 1 ? ARR_DIMS(array)[0] : 0;
	const double *weights = (const double *) ARR_DATA_PTR(array);

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("weights must be an array of one dimension")));
	if (array_contains_nulls(array))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("weights must not contain nulls"),
				 errhint("The weight 0 leaves a component out.")));
	for (int c = 0; c < n; c++)
		if (!isfinite(weights[c]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("weights[%d] is %s, not a finite number", c + 1, isnan(weights[c]) ? "NaN" : "infinite")));
	if (n_rewards > 0 && n != n_rewards)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("there are %d weights, and %u reward components in the group", n, n_rewards),
				 errhint("Give one weight for each component, in the order of the arrays that rollout_agg was given.")));
	return weights;
}

/*
 * The weighted sum of the components at one position; missing if all components with a nonzero weight are.
 * Infinite if it overflows.
 */
static inline double
weigh(const double *columns, const double *weights, uint32 n_columns, uint32 length, uint32 position)
{
	Sum			sum = {0};
	bool		any = false;

	for (uint32 c = 0; c < n_columns; c++)
	{
		double		component = columns[(uint64) c * length + position];

		if (weights[c] == 0 || isnan(component))
			continue;
		sum_add(&sum, weights[c] * component);
		any = true;
	}
	if (!any)
		return NAN;
	return isfinite(sum_value(&sum)) ? sum_value(&sum) : INFINITY;
}

/* NaN if the sum overflows and the group is lenient. */
static double
checked_reward(GroupColumns *group, uint32 rollout, double reward)
{
	if (likely(!isinf(reward)))
		return reward;
	if (!group->lenient)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("weighted reward of rollout " INT64_FORMAT " is out of range for type double precision",
						group->rollout_id[rollout])));
	group_add_defect(group, rollout, DEFECT_OVERFLOW);
	return NAN;
}

static void
weigh_rewards(GroupColumns *group, const double *weights)
{
	double	   *reward = ALLOCATE_ARRAY(double, group->n_steps);
	double	   *outcome = group->outcome_rewards ? ALLOCATE_ARRAY(double, group->n_rollouts) : NULL;
	bool		any_outcome = false;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			CHECK_ONCE_IN_A_WHILE(i);
			reward[i] = group->step_rewards ?
				checked_reward(group, r, weigh(group->step_rewards, weights, group->n_rewards, group->n_steps, i)) : NAN;
		}
		if (outcome)
		{
			outcome[r] = checked_reward(group, r, weigh(group->outcome_rewards, weights, group->n_rewards,
														group->n_rollouts, r));
			any_outcome |= !isnan(outcome[r]);
		}
		/* Which component was not finite is no longer known. */
		if (group->defects && (group->defects[r] & DEFECT_COMPONENT) != 0)
			group_add_defect(group, r, DEFECT_REWARD);
		CHECK_FOR_INTERRUPTS();
	}
	group->reward = reward;
	group->outcome = any_outcome ? outcome : NULL;
}

Datum
stepadv_with_rewards(PG_FUNCTION_ARGS)
{
	RolloutGroup *datum = (RolloutGroup *) PG_GETARG_VARLENA_P(0);
	GroupColumns group;
	GroupColumns copy;
	RolloutGroup *result;

	group_open(datum, &group);
	weigh_rewards(&group, read_weights(PG_GETARG_ARRAYTYPE_P(1), group.n_rewards));
	result = group_copy(&group, &copy);
	group_seal(result);
	PG_RETURN_POINTER(result);
}

typedef struct ComponentRow
{
	NullableInt8 step_id;		/* NULL: of the outcome */
	int64		rollout_id;
	NullableInt4 step_no;
	int32		component;
	double		reward;
} ComponentRow;

/* Add the components at one position of columns of this length; returns the new number of rows. */
static uint64
add_components(ComponentRow *rows, uint64 n, const GroupColumns *group, const double *columns, uint32 length, uint32 position,
			   ComponentRow row)
{
	for (uint32 c = 0; columns != NULL && c < group->n_rewards; c++)
	{
		row.component = c + 1;
		row.reward = columns[(uint64) c * length + position];
		if (!isnan(row.reward))
			rows[n++] = row;
	}
	return n;
}

/* One row per component received: of the steps of a rollout, then of its outcome. */
Datum
stepadv_reward_components(PG_FUNCTION_ARGS)
{
	GroupColumns group;
	ComponentRow *rows;
	uint64		n = 0;

	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	rows = ALLOCATE_ARRAY(ComponentRow, group.n_step_rewards + group.n_outcome_rewards);
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		int64		id = group.rollout_id[r];

		for (uint32 i = group.first_step[r]; i < group.first_step[r + 1]; i++)
		{
			CHECK_ONCE_IN_A_WHILE(i);
			n = add_components(rows, n, &group, group.step_rewards, group.n_steps, i,
							   (ComponentRow) {{group.step_id[i], false}, id, {group.step_no[i], false}});
		}
		n = add_components(rows, n, &group, group.outcome_rewards, group.n_rollouts, r,
						   (ComponentRow) {{0, true}, id, {0, true}});
		CHECK_FOR_INTERRUPTS();
	}

	{
		ResultColumn columns[] = {
			NULLABLE_FIELD_COLUMN(rows, step_id),
			FIELD_COLUMN(rows, rollout_id),
			NULLABLE_FIELD_COLUMN(rows, step_no),
			FIELD_COLUMN(rows, component),
			FIELD_COLUMN(rows, reward),
		};

		RETURN_COLUMNS(columns, n);
	}
}
