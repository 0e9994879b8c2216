#include "postgres.h"

#include "group/repeated_rows.h"

void
refuse_duplicate(const StepRow *row)
{
	if (row->is_rollout)
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("rollout " INT64_FORMAT " has two rows without a step_no that both carry a reward",
						row->rollout_id),
				 errhint("A row without a step_no belongs to the rollout itself, which can have only one outcome.")));
	ereport(ERROR,
			(errcode(ERRCODE_CARDINALITY_VIOLATION),
			 errmsg("rollout " INT64_FORMAT " has two rows for step %d", row->rollout_id, row->step_no),
			 errhint("Look for a join that multiplies rows, or for two rollouts that share a rollout_id.")));
}

/* Names the lesser one first, so that the message does not depend on the order of rows. */
void
refuse_policy_steps(const StepRow *row, int64 other)
{
	ereport(ERROR,
			(errcode(ERRCODE_CARDINALITY_VIOLATION),
			 errmsg("rollout " INT64_FORMAT " has two policy steps, " INT64_FORMAT " and " INT64_FORMAT,
					row->rollout_id, Min(row->policy_step, other), Max(row->policy_step, other)),
			 errhint("Rows of a rollout that have a policy_step must have the same one; if the policy changed within the rollout, use the first.")));
}

void
find_repeated(const GroupBuilder *builder, const OrderedRows *rows, Repeated *repeated)
{
	OrderedRows walk = *rows;
	const StepRow *row;
	int64		rollout_id = 0;
	int32		step_no = 0;
	int64		policy_step = NO_POLICY_STEP;
	bool		has_outcome = false;
	bool		has_step = false;

	if (!builder->lenient ||
		(rows->placed == NULL && rows->n_own == 0 && builder->n_ties == 0 && (builder->has & HAS_POLICY_STEP) == 0))
		return;
	for (uint64 n = 0; (row = next_ordered_row(&walk)) != NULL; n++)
	{
		if (n == 0 || row->rollout_id != rollout_id)
		{
			has_outcome = has_step = false;
			policy_step = NO_POLICY_STEP;
		}
		rollout_id = row->rollout_id;
		if ((row->parts & PART_EXTRA) && row->has_policy_step)
		{
			repeated->n_policy_steps += policy_step != NO_POLICY_STEP && policy_step != row->policy_step;
			policy_step = row->policy_step;
		}
		if (row->is_rollout && !isnan(row->reward))
		{
			repeated->n_outcomes += has_outcome;
			has_outcome = true;
		}
		if (row->is_rollout)
			continue;
		repeated->n_steps += has_step && row->step_no == step_no;
		step_no = row->step_no;
		has_step = true;
	}
}

static inline int
compare_bits(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(int64));
}

/*
 * Of two rows for one step, the one with the lesser step_id is kept.  If they are equal, compare the other
 * columns, so that the result does not depend on the order of rows.
 */
bool
takes_place(const GroupColumns *group, uint32 step, const StepRow *row, uint8 known)
{
	bool		is_wide = (row->parts & PART_WIDE) != 0;
	bool		has_policy = (row->parts & PART_POLICY) != 0;
	uint8		nulls = group->nulls ? group->nulls[step] : 0;
	int			order = 0;

	if (group->step_id[step] != row->step_id)
		return row->step_id < group->step_id[step];
	if (nulls != (row->nulls & known))
		return (row->nulls & known) < nulls;
	if (group->state[step] != row->state)
		return row->state < group->state[step];
	if (group->action[step] != row->action)
		return row->action < group->action[step];
	order = compare_bits(&row->reward, &group->reward[step]);
	if (order == 0 && group->next_state)
		order = compare_bits(is_wide ? &row->next_state : &(int64) {0}, &group->next_state[step]);
	if (order == 0 && group->value)
		order = compare_bits(is_wide ? &row->value : &(double) {NAN}, &group->value[step]);
	if (order == 0 && group->turn_reward)
		order = compare_bits(is_wide ? &row->turn_reward : &(double) {NAN}, &group->turn_reward[step]);
	if (order == 0 && group->cost)
		order = compare_bits(is_wide ? &row->cost : &(double) {NAN}, &group->cost[step]);
	if (order == 0 && group->coarse_state)
		order = compare_bits(has_policy ? &row->coarse_state : &(int64) {0}, &group->coarse_state[step]);
	if (order == 0 && group->logp)
		order = compare_bits(has_policy ? &row->logp : &(double) {NAN}, &group->logp[step]);
	if (order == 0 && group->turn && (row->nulls & NULL_TURN) == 0)
		return row->turn < group->turn[step];
	return order < 0;
}
