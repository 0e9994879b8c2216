/*
 * merge.c
 *		Adds the rows of other groups, collected or finished, to a builder; the union of two groups.
 */
#include "postgres.h"

#include "fmgr.h"

#include "arrays.h"
#include "group/collected_rows.h"

PG_FUNCTION_INFO_V1(stepadv_group_union);

const char *const group_unit_plurals[] = {"steps", "turns", "turns whose actions are sets"};

/* Merge the properties of another group as a whole into the builder. */
static void
merge_shape(GroupBuilder *builder, uint8 n_rewards, GroupUnit unit, bool lenient)
{
	if (group_builder_is_empty(builder))
		builder->unit = unit;
	else if (builder->unit != unit)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("groups of %s and groups of %s cannot be merged", group_unit_plurals[builder->unit], group_unit_plurals[unit]),
				 errhint("Merge the groups of steps, and call by_turn on the result.")));
	if (n_rewards > 0 && builder->n_rewards > 0 && n_rewards != builder->n_rewards)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("groups with %d and with %d reward components cannot be merged",
						builder->n_rewards, n_rewards)));
	builder->n_rewards = Max(builder->n_rewards, n_rewards);
	builder->lenient |= lenient;
}

void
group_builder_add_builder(GroupBuilder *builder, const GroupBuilder *other)
{
	RowWalk		own_rows = begin_walk(&other->own);
	RowWalk		steps = begin_walk(&other->steps);
	StepRow		row;

	if (!group_builder_is_empty(other))
		merge_shape(builder, other->n_rewards, other->unit, other->lenient);
	while (next_own_row(&own_rows, &row))
		group_builder_add(builder, &row);
	row = row_before_first;
	while (next_step(&steps, &row))
		group_builder_add(builder, &row);
}

/* Collect the components of one step or rollout, which are in separate columns. */
static const double *
gather_rewards(const double *columns, uint32 n_columns, uint32 length, uint32 position, double *rewards)
{
	bool		any = false;

	if (columns == NULL)
		return NULL;
	for (uint32 c = 0; c < n_columns; c++)
	{
		rewards[c] = columns[(uint64) c * length + position];
		any |= !isnan(rewards[c]);
	}
	return any ? rewards : NULL;
}

/* Pass what is known of a rollout as a whole as a row of its own.  A rollout without steps always needs this row. */
static void
add_rollout_row(GroupBuilder *builder, const GroupColumns *group, uint32 rollout, StepRow *row)
{
	double		rewards[MAX_REWARDS];
	bool		has_extra;

	row->reward = group->outcome ? group->outcome[rollout] : NAN;
	row->success = group->success[rollout];
	row->defects = group->defects ? group->defects[rollout] : 0;
	row->rewards = gather_rewards(group->outcome_rewards, group->n_rewards, group->n_rollouts, rollout, rewards);
	row->truncated = group->truncated ? group->truncated[rollout] : TRUNCATION_UNKNOWN;
	row->policy_step = group->policy_step ? group->policy_step[rollout] : NO_POLICY_STEP;
	row->has_policy_step = row->policy_step != NO_POLICY_STEP;
	has_extra = row->defects != 0 || row->rewards != NULL || row->truncated != TRUNCATION_UNKNOWN ||
		row->has_policy_step;
	if (isnan(row->reward) && row->success == SUCCESS_UNKNOWN && !has_extra && group->n_rollout_steps[rollout] > 0)
		return;
	row->is_rollout = true;
	row->nulls = NULLS_ALL;
	row->parts = has_extra ? PART_EXTRA : 0;
	group_builder_add(builder, row);
}

static inline void
take_wide_step(const GroupColumns *group, uint32 step, StepRow *row)
{
	/* Entries whose null bit is set are undefined, and not copied. */
	row->next_state = group->next_state && (row->nulls & NULL_NEXT_STATE) == 0 ? group->next_state[step] : 0;
	row->value = group->value ? group->value[step] : NAN;
	row->turn_reward = group->turn_reward ? group->turn_reward[step] : NAN;
	row->cost = group->cost ? group->cost[step] : NAN;
}

static inline void
take_policy_step(const GroupColumns *group, uint32 step, StepRow *row)
{
	row->coarse_state = group->coarse_state ? group->coarse_state[step] : 0;
	row->logp = group->logp ? group->logp[step] : NAN;
}

void
group_builder_take_shape(GroupBuilder *builder, const GroupColumns *group)
{
	if (group->n_rollouts > 0 || group_builder_is_empty(builder))
		merge_shape(builder, group->n_rewards, group->unit, group->lenient);
}

/* Adds a rollout of a value as rows. */
void
group_builder_add_rollout(GroupBuilder *builder, const GroupColumns *group, uint32 rollout, int64 rollout_id)
{
	bool		is_wide = group->next_state || group->value || group->turn_reward || group->cost;
	bool		has_extra = group->turn || group->step_rewards;
	bool		has_policy = group->coarse_state || group->logp;
	uint8		always_null = (group->next_state ? 0 : NULL_NEXT_STATE) | (group->turn ? 0 : NULL_TURN) |
		(group->coarse_state ? 0 : NULL_COARSE_STATE);
	double		rewards[MAX_REWARDS];
	StepRow		row_space = {0};
	StepRow    *row = &row_space;

	row->rollout_id = rollout_id;
	row->n_rewards = group->n_rewards;
	add_rollout_row(builder, group, rollout, row);
	row->is_rollout = false;
	row->success = SUCCESS_UNKNOWN;
	row->defects = 0;
	row->truncated = TRUNCATION_UNKNOWN;
	row->has_policy_step = false;
	row->parts = (is_wide ? PART_WIDE : 0) | (has_extra ? PART_EXTRA : 0) | (has_policy ? PART_POLICY : 0);
	for (uint32 i = group->first_step[rollout]; i < group->first_step[rollout + 1]; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		row->step_id = group->step_id[i];
		row->step_no = group->step_no[i];
		row->state = group->state[i];
		row->action = group->action[i];
		row->reward = group->reward[i];
		row->nulls = (group->nulls ? group->nulls[i] : 0) | always_null;
		if (is_wide)
			take_wide_step(group, i, row);
		if (has_policy)
			take_policy_step(group, i, row);
		if (has_extra)
		{
			row->turn = group->turn ? group->turn[i] : 0;
			row->rewards = gather_rewards(group->step_rewards, group->n_rewards, group->n_steps, i, rewards);
		}
		group_builder_add(builder, row);
	}
	CHECK_FOR_INTERRUPTS();
}

RolloutGroup *
group_rebuilt(const GroupColumns *group)
{
	GroupBuilder *builder = group_builder_create(CurrentMemoryContext);

	group_builder_add_columns(builder, group);
	return group_builder_finish(builder);
}

/* Used by combine and deserialize functions and by rollup. */
void
group_builder_add_group(GroupBuilder *builder, const RolloutGroup *value)
{
	GroupColumns group;

	group_open(value, &group);
	group_builder_add_columns(builder, &group);
}

void
group_builder_add_columns(GroupBuilder *builder, const GroupColumns *group)
{
	group_builder_take_shape(builder, group);
	for (uint32 r = 0; r < group->n_rollouts; r++)
		group_builder_add_rollout(builder, group, r, group->rollout_id[r]);
}

/* group_union(a, b): rollup of two groups, as a function. */
Datum
stepadv_group_union(PG_FUNCTION_ARGS)
{
	GroupBuilder *builder;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
	{
		int			other = PG_ARGISNULL(0) ? 1 : 0;

		if (PG_ARGISNULL(other))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(other));
	}
	builder = group_builder_create(CurrentMemoryContext);
	for (int arg = 0; arg < 2; arg++)
		group_builder_add_group(builder, (RolloutGroup *) PG_GETARG_VARLENA_P(arg));
	PG_RETURN_POINTER(group_builder_finish(builder));
}
