/*
 * reward_components.c
 *		with_rewards(g, weights): the group with its rewards computed from their
 *		components; reward_components(g): these as rows.
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

/* As many as the group has components; one that has none lacks all. */
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
 * The weighted sum of the components at one position; missing where all that
 * weigh anything are.
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

/* NaN, if the sum is not finite and the group forgives that. */
static double
checked_reward(GroupColumns *group, uint32 rollout, double reward)
{
	if (likely(!isinf(reward)))
		return reward;
	if (!group->forgiving)
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
		/* Which of them it was is not known any more. */
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

/* ----------
 * reward_components
 * ----------
 */

typedef struct ComponentRows
{
	uint64		n;
	int64	   *step_id;
	int64	   *rollout_id;
	int32	   *step_no;
	bool	   *is_outcome;		/* then it has no step */
	int32	   *component;
	double	   *reward;
} ComponentRows;

static void
add_components(ComponentRows *rows, const GroupColumns *group, uint32 rollout, bool is_outcome, uint32 position)
{
	const double *columns = is_outcome ? group->outcome_rewards : group->step_rewards;
	uint32		length = is_outcome ? group->n_rollouts : group->n_steps;

	if (columns == NULL)
		return;
	for (uint32 c = 0; c < group->n_rewards; c++)
	{
		double		reward = columns[(uint64) c * length + position];

		if (isnan(reward))
			continue;
		rows->step_id[rows->n] = is_outcome ? 0 : group->step_id[position];
		rows->rollout_id[rows->n] = group->rollout_id[rollout];
		rows->step_no[rows->n] = is_outcome ? 0 : group->step_no[position];
		rows->is_outcome[rows->n] = is_outcome;
		rows->component[rows->n] = c + 1;
		rows->reward[rows->n] = reward;
		rows->n++;
	}
}

/* Those received, one row each: of a rollout's steps, then of its outcome. */
Datum
stepadv_reward_components(PG_FUNCTION_ARGS)
{
	GroupColumns group;
	ComponentRows rows = {0};
	uint64		most;

	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	most = group.n_step_rewards + group.n_outcome_rewards;
	rows.step_id = ALLOCATE_ARRAY(int64, most);
	rows.rollout_id = ALLOCATE_ARRAY(int64, most);
	rows.step_no = ALLOCATE_ARRAY(int32, most);
	rows.is_outcome = ALLOCATE_ARRAY(bool, most);
	rows.component = ALLOCATE_ARRAY(int32, most);
	rows.reward = ALLOCATE_ARRAY(double, most);
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		for (uint32 i = group.first_step[r]; i < group.first_step[r + 1]; i++)
		{
			CHECK_ONCE_IN_A_WHILE(i);
			add_components(&rows, &group, r, false, i);
		}
		add_components(&rows, &group, r, true, r);
		CHECK_FOR_INTERRUPTS();
	}

	{
		ResultColumn columns[] = {
			{"step_id", COLUMN_INT8, rows.step_id, rows.is_outcome},
			{"rollout_id", COLUMN_INT8, rows.rollout_id, NULL},
			{"step_no", COLUMN_INT4, rows.step_no, rows.is_outcome},
			{"component", COLUMN_INT4, rows.component, NULL},
			{"reward", COLUMN_FLOAT8, rows.reward, NULL},
		};

		RETURN_COLUMNS(columns, rows.n);
	}
}
