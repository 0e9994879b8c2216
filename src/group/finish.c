/*
 * finish.c
 *		Turns collected rows into a finished rollout_group.
 */
#include "postgres.h"

#include "arrays.h"
#include "group/repeated_rows.h"

/* Columns of a value that is being built may be written. */
#define WRITABLE(type, column) ((type *) (column))

static void
begin_rollout(const GroupColumns *group, uint32 rollout, int64 rollout_id)
{
	WRITABLE(int64, group->rollout_id)[rollout] = rollout_id;
	WRITABLE(uint32, group->n_rollout_steps)[rollout] = 0;
	WRITABLE(uint8, group->success)[rollout] = SUCCESS_UNKNOWN;
	if (group->outcome)
		WRITABLE(double, group->outcome)[rollout] = NAN;
	if (group->defects)
		WRITABLE(uint8, group->defects)[rollout] = 0;
	if (group->truncated)
		WRITABLE(uint8, group->truncated)[rollout] = TRUNCATION_UNKNOWN;
	if (group->policy_step)
		WRITABLE(int64, group->policy_step)[rollout] = NO_POLICY_STEP;
	if (group->outcome_rewards)
		for (uint32 c = 0; c < group->n_rewards; c++)
			WRITABLE(double, group->outcome_rewards)[(uint64) c * group->n_rollouts + rollout] = NAN;
	CHECK_FOR_INTERRUPTS();
}

/* Each component may come from a different row, and so may the outcome. */
static void
fill_outcome(const GroupColumns *group, uint32 rollout, const StepRow *row)
{
	if (!isnan(row->reward))
	{
		double	   *outcome = WRITABLE(double, group->outcome) + rollout;

		if (isnan(*outcome))
			*outcome = row->reward;
		else if (!group->lenient)
			refuse_duplicate(row);
		else
		{
			WRITABLE(uint8, group->defects)[rollout] |= DEFECT_OUTCOME;
			*outcome = Min(*outcome, row->reward);
		}
	}
	if ((row->parts & PART_EXTRA) == 0 || row->rewards == NULL)
		return;
	for (uint32 c = 0; c < group->n_rewards; c++)
	{
		double	   *reward = WRITABLE(double, group->outcome_rewards) + (uint64) c * group->n_rollouts + rollout;

		if (isnan(row_reward(row, c)))
			continue;
		if (!isnan(*reward) && !group->lenient)
			refuse_duplicate(row);
		*reward = isnan(*reward) ? row_reward(row, c) : Min(*reward, row_reward(row, c));
	}
}

/* Columns of the rollout that any of its rows may set. */
static void
fill_rollout(const GroupColumns *group, uint32 rollout, const StepRow *row)
{
	int64	   *policy_step;

	if (group->defects)
		WRITABLE(uint8, group->defects)[rollout] |= row->defects;
	/* As for success, the greatest value counts. */
	if (row->truncated > TRUNCATION_UNKNOWN && row->truncated > group->truncated[rollout])
		WRITABLE(uint8, group->truncated)[rollout] = row->truncated;
	if (!row->has_policy_step)
		return;
	policy_step = WRITABLE(int64, group->policy_step) + rollout;
	if (*policy_step == row->policy_step)
		return;
	if (*policy_step == NO_POLICY_STEP)
		*policy_step = row->policy_step;
	else if (!group->lenient)
		refuse_policy_steps(row, *policy_step);
	else
	{
		WRITABLE(uint8, group->defects)[rollout] |= DEFECT_POLICY_STEP;
		*policy_step = Min(*policy_step, row->policy_step);
	}
}

static void
fill_wide_step(const GroupColumns *group, uint32 step, const StepRow *row)
{
	bool		is_wide = (row->parts & PART_WIDE) != 0;

	if (group->next_state)
		WRITABLE(int64, group->next_state)[step] = is_wide ? row->next_state : 0;
	if (group->value)
		WRITABLE(double, group->value)[step] = is_wide ? row->value : NAN;
	if (group->turn_reward)
		WRITABLE(double, group->turn_reward)[step] = is_wide ? row->turn_reward : NAN;
	if (group->cost)
		WRITABLE(double, group->cost)[step] = is_wide ? row->cost : NAN;
}

static void
fill_policy_step(const GroupColumns *group, uint32 step, const StepRow *row)
{
	bool		has_policy = (row->parts & PART_POLICY) != 0;

	if (group->coarse_state)
		WRITABLE(int64, group->coarse_state)[step] = has_policy ? row->coarse_state : 0;
	if (group->logp)
		WRITABLE(double, group->logp)[step] = has_policy ? row->logp : NAN;
}

static void
fill_extra_step(const GroupColumns *group, uint32 step, const StepRow *row)
{
	bool		has_rewards = (row->parts & PART_EXTRA) != 0 && row->rewards != NULL;

	if (group->turn)
		WRITABLE(int32, group->turn)[step] = (row->nulls & NULL_TURN) ? 0 : row->turn;
	if (group->step_rewards)
		for (uint32 c = 0; c < group->n_rewards; c++)
			WRITABLE(double, group->step_rewards)[(uint64) c * group->n_steps + step] =
				has_rewards ? row_reward(row, c) : NAN;
}

/* The NULL_… bits that a value with these columns stores.  Bits of missing columns are implied. */
static inline uint8
known_nulls(uint16 has)
{
	return NULL_STATE | NULL_ACTION |
		((has & HAS_NEXT_STATE) ? NULL_NEXT_STATE : 0) | ((has & HAS_TURN) ? NULL_TURN : 0) |
		((has & HAS_COARSE_STATE) ? NULL_COARSE_STATE : 0);
}

static GroupShape
finished_shape(const GroupBuilder *builder, const OrderedRows *rows, uint64 n_rollouts)
{
	Repeated	repeated = {0};
	GroupShape	shape = {
		n_rollouts, builder->n_steps, builder->has, builder->n_rewards, builder->unit, builder->lenient
	};

	find_repeated(builder, rows, &repeated);
	shape.n_steps -= repeated.n_steps;
	if (repeated.n_steps > 0 || repeated.n_outcomes > 0 || repeated.n_policy_steps > 0)
		shape.has |= HAS_DEFECTS;

	shape.has |= (builder->given & NULL_NEXT_STATE) ? HAS_NEXT_STATE : 0;
	shape.has |= (builder->given & NULL_TURN) ? HAS_TURN : 0;
	shape.has |= (builder->given & NULL_COARSE_STATE) ? HAS_COARSE_STATE : 0;
	if ((builder->lacking & known_nulls(shape.has)) != 0)
		shape.has |= HAS_NULLS;
	if (shape.n_rewards > 0)
		shape.has |= HAS_REWARDS;
	return shape;
}

/* Are there only steps, in order and without repetition, with exactly the six columns of every value? */
static bool
is_plain(const GroupBuilder *builder)
{
	return builder->sorted && builder->n_own == 0 && builder->n_ties == 0 && has_plain_rows(builder);
}

/* The most common case: only these columns, and no repeated rows. */
static void
fill_plain_group(const GroupBuilder *builder, const GroupColumns *group)
{
	int64	   *step_id = WRITABLE(int64, group->step_id);
	int32	   *step_no = WRITABLE(int32, group->step_no);
	int64	   *state = WRITABLE(int64, group->state);
	int64	   *action = WRITABLE(int64, group->action);
	double	   *reward = WRITABLE(double, group->reward);
	uint8	   *success = WRITABLE(uint8, group->success);
	uint32	   *n_rollout_steps = WRITABLE(uint32, group->n_rollout_steps);
	StepRow		row = row_before_first;
	int64		rollout = -1;
	uint32		first = 0;
	uint32		step = 0;

	for (const RowChunk *chunk = builder->steps.head; chunk != NULL; chunk = chunk->next)
	{
		for (const char *bytes = chunk->rows; bytes < chunk->end; step++)
		{
			int64		rollout_id = row.rollout_id;

			bytes = decode_plain_step(bytes, &row, &row);
			if (rollout < 0 || row.rollout_id != rollout_id)
			{
				if (rollout >= 0)
					n_rollout_steps[rollout] = step - first;
				begin_rollout(group, ++rollout, row.rollout_id);
				first = step;
			}
			if (row.success > success[rollout])
				success[rollout] = row.success;
			step_id[step] = row.step_id;
			step_no[step] = row.step_no;
			state[step] = row.state;
			action[step] = row.action;
			reward[step] = row.reward;
		}
		CHECK_FOR_INTERRUPTS();
	}
	if (rollout >= 0)
		n_rollout_steps[rollout] = step - first;
}

static void
fill_group(OrderedRows *rows, const GroupColumns *group, uint8 nulls)
{
	bool		has_wide = group->next_state || group->value || group->turn_reward || group->cost;
	bool		has_extra = group->turn || group->step_rewards;
	bool		has_policy = group->coarse_state || group->logp;
	const StepRow *row;
	int64		rollout = -1;	/* index of the current one */
	uint32		first = 0;		/* its first step */
	uint32		step = 0;

	while ((row = next_ordered_row(rows)) != NULL)
	{
		CHECK_ONCE_IN_A_WHILE(step);
		if (rollout < 0 || group->rollout_id[rollout] != row->rollout_id)
		{
			begin_rollout(group, ++rollout, row->rollout_id);
			first = step;
		}
		/* TRUE is greater than FALSE, which is greater than UNKNOWN. */
		if (row->success > group->success[rollout])
			WRITABLE(uint8, group->success)[rollout] = row->success;
		if (row->parts & PART_EXTRA)
			fill_rollout(group, rollout, row);
		if (row->is_rollout)
		{
			fill_outcome(group, rollout, row);
			continue;
		}
		if (step > first && group->step_no[step - 1] == row->step_no)
		{
			if (!group->lenient)
				refuse_duplicate(row);
			WRITABLE(uint8, group->defects)[rollout] |= DEFECT_STEP;
			if (!takes_place(group, step - 1, row, nulls))
				continue;
			step--;
		}
		WRITABLE(uint32, group->n_rollout_steps)[rollout] = step + 1 - first;
		WRITABLE(int64, group->step_id)[step] = row->step_id;
		WRITABLE(int32, group->step_no)[step] = row->step_no;
		WRITABLE(int64, group->state)[step] = row->state;
		WRITABLE(int64, group->action)[step] = row->action;
		WRITABLE(double, group->reward)[step] = row->reward;
		if (group->nulls)
			WRITABLE(uint8, group->nulls)[step] = row->nulls & nulls;
		if (has_wide)
			fill_wide_step(group, step, row);
		if (has_extra)
			fill_extra_step(group, step, row);
		if (has_policy)
			fill_policy_step(group, step, row);
		step++;
	}
}

/* Plain steps that came out of order: decode each into its place. */
static void
fill_steps(const GroupBuilder *builder, const RolloutPlaces *places, const GroupColumns *group)
{
	int64	   *step_id = WRITABLE(int64, group->step_id);
	int32	   *step_no = WRITABLE(int32, group->step_no);
	int64	   *state = WRITABLE(int64, group->state);
	int64	   *action = WRITABLE(int64, group->action);
	double	   *reward = WRITABLE(double, group->reward);
	const uint32 *turn = places->turns;
	RolloutPlace *rollout = NULL;
	RowWalk		walk = begin_walk(&builder->steps);
	StepRow		row = row_before_first;

	for (uint32 r = 0; r < places->n; r++)
	{
		begin_rollout(group, r, places->ordered[r]->rollout_id);
		WRITABLE(uint32, group->n_rollout_steps)[r] = places->ordered[r]->n_steps;
		WRITABLE(uint8, group->success)[r] = places->ordered[r]->success;
	}
	while (next_plain_step(&walk, &row))
	{
		uint64		step;

		rollout = next_place(places, rollout, &turn, row.rollout_id);
		step = rollout->next_step++;
		step_id[step] = row.step_id;
		step_no[step] = row.step_no;
		state[step] = row.state;
		action[step] = row.action;
		reward[step] = row.reward;
	}
}

/* Own rows of rollouts.  If the value is lenient, each rollout has at most one. */
static void
fill_own_rows(const GroupBuilder *builder, const RolloutPlaces *places, const GroupColumns *group)
{
	const uint32 *owner = places->owners;
	RowWalk		walk = begin_walk(&builder->own);
	StepRow		row;

	while (next_own_row(&walk, &row))
	{
		uint32		rollout = places->rollout[*owner++].rank;

		if (row.parts & PART_EXTRA)
			fill_rollout(group, rollout, &row);
		fill_outcome(group, rollout, &row);
	}
}

/* Does any rollout have more than one row of its own? */
static bool
has_several_own_rows(const RolloutPlaces *places)
{
	for (uint32 r = 0; r < places->n; r++)
		if (places->rollout[r].n_own > 1)
			return true;
	return false;
}

/* NULL: a step occurs twice, or a rollout of a lenient value has several own rows; finish_ordered handles these. */
static RolloutGroup *
finish_places(const GroupBuilder *builder, const RolloutPlaces *places)
{
	GroupShape	shape = {
		places->n, builder->n_steps, builder->has, builder->n_rewards, builder->unit, builder->lenient
	};
	GroupColumns group;
	RolloutGroup *datum;

	if (builder->lenient && has_several_own_rows(places))
		return NULL;
	datum = group_allocate(&shape, &group);
	fill_steps(builder, places, &group);
	fill_own_rows(builder, places, &group);
	if (order_steps(places, &group))
	{
		group_seal(datum);
		return datum;
	}
	pfree(datum);
	return NULL;
}

/* For rows of all kinds, in the order of the value. places: NULL if steps came in order without own rows. */
static RolloutGroup *
finish_ordered(const GroupBuilder *builder, const RolloutPlaces *places)
{
	OrderedRows rows;
	GroupShape	shape;
	GroupColumns group;
	RolloutGroup *datum;

	begin_ordered_rows(&rows, builder, places);
	shape = finished_shape(builder, &rows, places ? places->n : builder->n_rollouts);
	datum = group_allocate(&shape, &group);
	if (is_plain(builder))
		fill_plain_group(builder, &group);
	else
		fill_group(&rows, &group, known_nulls(shape.has));
	end_ordered_rows(&rows);
	group_seal(datum);
	return datum;
}

RolloutGroup *
group_builder_finish(const GroupBuilder *builder)
{
	RolloutPlaces places;
	RolloutGroup *datum = NULL;

	if (builder->sorted && builder->n_own == 0)
		return finish_ordered(builder, NULL);
	find_places(builder, &places);
	if (has_plain_rows(builder))
		datum = finish_places(builder, &places);
	if (datum == NULL)
	{
		begin_places(&places);
		datum = finish_ordered(builder, &places);
	}
	free_places(&places);
	return datum;
}
