/*
 * joined_groups.c
 *		The columns of several groups, concatenated.
 *
 * Rollouts of different groups are distinct even if their ids are equal; equal states
 * and actions are the same in all groups.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/lsyscache.h"

#include "analysis/joined_groups.h"
#include "arrays.h"

/* The groups of the array; a group by turn has turns as steps. */
static GroupColumns *
open_groups(ArrayType *array, uint32 *n)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n_elements;
	int16		length;
	bool		by_value;
	char		align;
	GroupColumns *groups;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align, &elements, &nulls, &n_elements);
	groups = ALLOCATE_ARRAY(GroupColumns, n_elements);
	*n = 0;
	for (int i = 0; i < n_elements; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!nulls[i])
			group_open_by_unit((RolloutGroup *) PG_DETOAST_DATUM(elements[i]), &groups[(*n)++], NULL);
	}
	return groups;
}

/* Allocate columns for the rollouts and steps of all groups. */
static void
allocate_columns(const GroupColumns *groups, uint32 n, GroupColumns *columns)
{
	uint64		n_rollouts = 0;
	uint64		n_steps = 0;

	for (uint32 g = 0; g < n; g++)
	{
		n_rollouts += groups[g].n_rollouts;
		n_steps += groups[g].n_steps;
	}
	if (n_rollouts >= PG_INT32_MAX || n_steps >= PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the groups have more than %d steps or rollouts together", PG_INT32_MAX)));
	memset(columns, 0, sizeof(*columns));
	columns->rollout_id = ALLOCATE_ARRAY(int64, n_rollouts);
	columns->outcome = ALLOCATE_ARRAY(double, n_rollouts);
	columns->n_rollout_steps = ALLOCATE_ARRAY(uint32, n_rollouts);
	columns->success = ALLOCATE_ARRAY(uint8, n_rollouts);
	columns->defects = ALLOCATE_ZEROED_ARRAY(uint8, n_rollouts);
	columns->first_step = ALLOCATE_ZEROED_ARRAY(uint32, n_rollouts + 1);
	columns->step_no = ALLOCATE_ARRAY(int32, n_steps);
	columns->state = ALLOCATE_ARRAY(int64, n_steps);
	columns->action = ALLOCATE_ARRAY(int64, n_steps);
	columns->reward = ALLOCATE_ARRAY(double, n_steps);
	columns->nulls = ALLOCATE_ZEROED_ARRAY(uint8, n_steps);
}

#define APPEND(column, from, n, at) copy_large((void *) &(column)[at], from, sizeof(*(column)) * (Size) (n))

/* Append a group's columns. */
static void
append_group(GroupColumns *columns, const GroupColumns *group)
{
	uint32		rollouts = columns->n_rollouts;
	uint32		steps = columns->n_steps;

	APPEND(columns->rollout_id, group->rollout_id, group->n_rollouts, rollouts);
	APPEND(columns->n_rollout_steps, group->n_rollout_steps, group->n_rollouts, rollouts);
	APPEND(columns->success, group->success, group->n_rollouts, rollouts);
	APPEND(columns->step_no, group->step_no, group->n_steps, steps);
	APPEND(columns->state, group->state, group->n_steps, steps);
	APPEND(columns->action, group->action, group->n_steps, steps);
	APPEND(columns->reward, group->reward, group->n_steps, steps);
	if (group->nulls != NULL)
		APPEND(columns->nulls, group->nulls, group->n_steps, steps);
	if (group->defects != NULL)
		APPEND(columns->defects, group->defects, group->n_rollouts, rollouts);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		((double *) columns->outcome)[rollouts + r] = group->outcome ? group->outcome[r] : NAN;
		((uint32 *) columns->first_step)[rollouts + r + 1] = steps + group->first_step[r + 1];
	}
	columns->n_rollouts += group->n_rollouts;
	columns->n_steps += group->n_steps;
	columns->lenient |= group->lenient;
}

void
join_groups(ArrayType *array, JoinedGroups *joined)
{
	GroupColumns *groups = open_groups(array, &joined->n);

	allocate_columns(groups, joined->n, &joined->columns);
	joined->first_rollout = ALLOCATE_ZEROED_ARRAY(uint32, (uint64) joined->n + 1);
	for (uint32 g = 0; g < joined->n; g++)
	{
		append_group(&joined->columns, &groups[g]);
		joined->first_rollout[g + 1] = joined->columns.n_rollouts;
		CHECK_FOR_INTERRUPTS();
	}
	find_rollout_facts(&joined->columns, &joined->facts);
}
