/*
 * row.c
 *		One row of what rollout_agg is fed, read and checked.
 */
#include "postgres.h"

#include "group/row.h"

static void
refuse_number(const StepRow *row, const char *name, double number)
{
	if (row->is_rollout)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("%s of rollout " INT64_FORMAT " is %s, not a finite number",
						name, row->rollout_id, isnan(number) ? "NaN" : "infinite")));
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("%s of rollout " INT64_FORMAT ", step %d is %s, not a finite number",
					name, row->rollout_id, row->step_no, isnan(number) ? "NaN" : "infinite")));
}

/* A float8 argument: NaN inside for NULL, so NaN itself is refused. */
static inline double
number_argument(const NullableDatum *arg, const StepRow *row, const char *name)
{
	double		number;

	if (arg->isnull)
		return NAN;
	number = DatumGetFloat8(arg->value);
	if (unlikely(!isfinite(number)))
		refuse_number(row, name, number);
	return number;
}

static inline void
read_identity(const NullableDatum *args, StepRow *row)
{
	if (unlikely(args[ROW_ROLLOUT_ID].isnull))
	{
		if (args[ROW_STEP_ID].isnull)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("rollout_id must not be null")));
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("rollout_id of the step with step_id " INT64_FORMAT " must not be null",
						DatumGetInt64(args[ROW_STEP_ID].value))));
	}
	row->rollout_id = DatumGetInt64(args[ROW_ROLLOUT_ID].value);
	row->is_rollout = args[ROW_STEP_NO].isnull;
	if (row->is_rollout)
	{
		row->step_no = 0;
		row->step_id = 0;
		return;
	}
	row->step_no = DatumGetInt32(args[ROW_STEP_NO].value);
	if (unlikely(args[ROW_STEP_ID].isnull))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("step_id of rollout " INT64_FORMAT ", step %d must not be null",
						row->rollout_id, row->step_no),
				 errhint("Only a row without a step_no, which stands for the rollout itself, needs no step_id.")));
	row->step_id = DatumGetInt64(args[ROW_STEP_ID].value);
}

void
read_step_row(const NullableDatum *args, int n_args, StepRow *row)
{
	read_identity(args, row);
	row->state = args[ROW_STATE].isnull ? 0 : DatumGetInt64(args[ROW_STATE].value);
	row->action = args[ROW_ACTION].isnull ? 0 : DatumGetInt64(args[ROW_ACTION].value);
	row->nulls = NULL_NEXT_STATE |
		(args[ROW_STATE].isnull ? NULL_STATE : 0) |
		(args[ROW_ACTION].isnull ? NULL_ACTION : 0);
	row->reward = number_argument(&args[ROW_REWARD], row, "reward");
	row->success = SUCCESS_UNKNOWN;
	if (n_args > ROW_SUCCESS && !args[ROW_SUCCESS].isnull)
		row->success = DatumGetBool(args[ROW_SUCCESS].value) ? SUCCESS_TRUE : SUCCESS_FALSE;

	row->is_wide = n_args > ROW_COST && !row->is_rollout;
	if (row->is_wide)
	{
		row->next_state = args[ROW_NEXT_STATE].isnull ? 0 : DatumGetInt64(args[ROW_NEXT_STATE].value);
		if (!args[ROW_NEXT_STATE].isnull)
			row->nulls &= ~NULL_NEXT_STATE;
		row->value = number_argument(&args[ROW_VALUE], row, "value");
		row->turn_reward = number_argument(&args[ROW_TURN_REWARD], row, "turn_reward");
		row->cost = number_argument(&args[ROW_COST], row, "cost");
	}
}
