/*
 * row.c
 *		One row of what rollout_agg is fed, read and checked.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"

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

static void
read_wide_part(const NullableDatum *args, StepRow *row)
{
	if (args[ROW_NEXT_STATE].isnull && args[ROW_VALUE].isnull && args[ROW_TURN_REWARD].isnull && args[ROW_COST].isnull)
		return;
	row->parts |= PART_WIDE;
	row->next_state = args[ROW_NEXT_STATE].isnull ? 0 : DatumGetInt64(args[ROW_NEXT_STATE].value);
	if (!args[ROW_NEXT_STATE].isnull)
		row->nulls &= ~NULL_NEXT_STATE;
	row->value = number_argument(&args[ROW_VALUE], row, "value");
	row->turn_reward = number_argument(&args[ROW_TURN_REWARD], row, "turn_reward");
	row->cost = number_argument(&args[ROW_COST], row, "cost");
}

static void
check_rewards(const ArrayType *array, const StepRow *row)
{
	int			n = ARR_NDIM(array) == 1 ? ARR_DIMS(array)[0] : 0;
	bool		fits = ARR_NDIM(array) <= 1 && n <= MAX_REWARDS;

	if (fits)
		return;
	ereport(ERROR,
			(errcode(ARR_NDIM(array) > 1 ? ERRCODE_ARRAY_SUBSCRIPT_ERROR : ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 ARR_NDIM(array) > 1 ?
			 errmsg("rewards of rollout " INT64_FORMAT " are an array of %d dimensions, not of one",
					row->rollout_id, ARR_NDIM(array)) :
			 errmsg("rewards of rollout " INT64_FORMAT " are %d components, the limit is %d",
					row->rollout_id, n, MAX_REWARDS)));
}

/* The array may be toasted, or in a tuple with a short header: then it is a copy. */
static void
read_rewards(Datum datum, double rewards[MAX_REWARDS], StepRow *row)
{
	ArrayType  *array = DatumGetArrayTypeP(datum);
	const bits8 *present;
	const double *element;
	bool		any = false;

	check_rewards(array, row);
	row->n_rewards = ARR_NDIM(array) == 1 ? ARR_DIMS(array)[0] : 0;
	present = ARR_NULLBITMAP(array);
	element = (const double *) ARR_DATA_PTR(array);
	for (int c = 0; c < row->n_rewards; c++)
	{
		rewards[c] = NAN;
		if (present != NULL && (present[c / 8] & (1 << (c % 8))) == 0)
			continue;
		rewards[c] = *element++;
		if (unlikely(!isfinite(rewards[c])))
			refuse_number(row, psprintf("rewards[%d]", c + 1), rewards[c]);
		any = true;
	}
	row->rewards = any ? rewards : NULL;
	if ((Pointer) array != DatumGetPointer(datum))
		pfree(array);
}

static void
read_extra_part(const NullableDatum *args, int n_args, double rewards[MAX_REWARDS], StepRow *row)
{
	bool		has_turn = !args[ROW_TURN].isnull && !row->is_rollout;
	bool		has_rewards = n_args > ROW_REWARDS && !args[ROW_REWARDS].isnull;

	if (!has_turn && !has_rewards)
		return;
	row->parts |= PART_EXTRA;
	row->defects = 0;
	row->n_rewards = 0;
	row->rewards = NULL;
	row->turn = 0;
	if (has_turn)
	{
		row->turn = DatumGetInt32(args[ROW_TURN].value);
		row->nulls &= ~NULL_TURN;
	}
	if (has_rewards)
		read_rewards(args[ROW_REWARDS].value, rewards, row);
}

void
read_step_row(const NullableDatum *args, int n_args, double rewards[MAX_REWARDS], StepRow *row)
{
	read_identity(args, row);
	row->state = args[ROW_STATE].isnull ? 0 : DatumGetInt64(args[ROW_STATE].value);
	row->action = args[ROW_ACTION].isnull ? 0 : DatumGetInt64(args[ROW_ACTION].value);
	row->parts = 0;
	row->nulls = NULL_NEXT_STATE | NULL_TURN |
		(args[ROW_STATE].isnull ? NULL_STATE : 0) |
		(args[ROW_ACTION].isnull ? NULL_ACTION : 0);
	row->reward = number_argument(&args[ROW_REWARD], row, "reward");
	row->success = SUCCESS_UNKNOWN;
	if (n_args > ROW_SUCCESS && !args[ROW_SUCCESS].isnull)
		row->success = DatumGetBool(args[ROW_SUCCESS].value) ? SUCCESS_TRUE : SUCCESS_FALSE;

	if (n_args > ROW_COST && !row->is_rollout)
		read_wide_part(args, row);
	if (n_args > ROW_TURN)
		read_extra_part(args, n_args, rewards, row);
}
