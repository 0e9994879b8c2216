#include "postgres.h"

#include <float.h>

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

/* How a row is read. */
typedef struct Reading
{
	double		largest;		/* the largest absolute value accepted */
	bool		lenient;
	uint8		defects;		/* found so far */
} Reading;

static pg_noinline double
bad_number(Reading *reading, const StepRow *row, const char *name, double number, uint8 defect)
{
	if (!reading->lenient)
		refuse_number(row, name, number);
	reading->defects |= defect;
	return NAN;
}

/* A float8 argument.  NULL is read as NaN, so NaN itself is refused. */
static inline double
number_argument(const NullableDatum *arg, Reading *reading, const StepRow *row, const char *name, uint8 defect)
{
	double		number;

	if (arg->isnull)
		return NAN;
	number = DatumGetFloat8(arg->value);
	if (unlikely(!(fabs(number) <= reading->largest)))
		return bad_number(reading, row, name, number, defect);
	return number;
}

static pg_noinline void
refuse_rollout_id(const NullableDatum *args)
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

static pg_noinline void
refuse_step_id(const StepRow *row)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("step_id of rollout " INT64_FORMAT ", step %d must not be null",
					row->rollout_id, row->step_no),
			 errhint("Only a row without a step_no, which belongs to the rollout itself, needs no step_id.")));
}

static inline bool
read_identity(const NullableDatum *args, Reading *reading, StepRow *row)
{
	if (unlikely(args[ROW_ROLLOUT_ID].isnull))
	{
		if (!reading->lenient)
			refuse_rollout_id(args);
		return false;
	}
	row->rollout_id = DatumGetInt64(args[ROW_ROLLOUT_ID].value);
	row->is_rollout = args[ROW_STEP_NO].isnull;
	row->step_no = 0;
	row->step_id = 0;
	if (row->is_rollout)
		return true;
	row->step_no = DatumGetInt32(args[ROW_STEP_NO].value);
	if (likely(!args[ROW_STEP_ID].isnull))
		row->step_id = DatumGetInt64(args[ROW_STEP_ID].value);
	else if (reading->lenient)
		reading->defects |= DEFECT_STEP;
	else
		refuse_step_id(row);
	return true;
}

static void
read_wide_part(const NullableDatum *args, Reading *reading, StepRow *row)
{
	if (args[ROW_NEXT_STATE].isnull && args[ROW_VALUE].isnull && args[ROW_TURN_REWARD].isnull && args[ROW_COST].isnull)
		return;
	row->parts |= PART_WIDE;
	row->next_state = args[ROW_NEXT_STATE].isnull ? 0 : DatumGetInt64(args[ROW_NEXT_STATE].value);
	if (!args[ROW_NEXT_STATE].isnull)
		row->nulls &= ~NULL_NEXT_STATE;
	row->value = number_argument(&args[ROW_VALUE], reading, row, "value", 0);
	row->turn_reward = number_argument(&args[ROW_TURN_REWARD], reading, row, "turn_reward", DEFECT_TURN_REWARD);
	row->cost = number_argument(&args[ROW_COST], reading, row, "cost", DEFECT_COST);
	/* Methods that compute distances check costs further. */
	if (reading->lenient && row->cost <= 0)
		row->cost = bad_number(reading, row, "cost", row->cost, DEFECT_COST);
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

/* Detoasting may make a copy, which is freed at the end. */
static void
read_rewards(Datum datum, Reading *reading, double rewards[MAX_REWARDS], StepRow *row)
{
	ArrayType  *array = DatumGetArrayTypeP(datum);
	const uint8 *present;
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
		if (unlikely(!(fabs(rewards[c]) <= reading->largest)))
			rewards[c] = bad_number(reading, row, psprintf("rewards[%d]", c + 1), rewards[c], DEFECT_COMPONENT);
		any |= !isnan(rewards[c]);
	}
	row->rewards = any ? rewards : NULL;
	if ((Pointer) array != DatumGetPointer(datum))
		pfree(array);
}

static void
begin_extra_part(StepRow *row)
{
	row->parts |= PART_EXTRA;
	row->defects = 0;
	row->n_rewards = 0;
	row->rewards = NULL;
	row->turn = 0;
	row->truncated = TRUNCATION_UNKNOWN;
	row->has_policy_step = false;
	row->policy_step = NO_POLICY_STEP;
}

/* Columns of the rollout, which its own row or any of its steps can have. */
static void
read_rollout_part(const NullableDatum *args, StepRow *row)
{
	if (args[ROW_TRUNCATED].isnull && args[ROW_POLICY_STEP].isnull)
		return;
	if ((row->parts & PART_EXTRA) == 0)
		begin_extra_part(row);
	if (!args[ROW_TRUNCATED].isnull)
		row->truncated = DatumGetBool(args[ROW_TRUNCATED].value) ? TRUNCATION_TRUE : TRUNCATION_FALSE;
	if (!args[ROW_POLICY_STEP].isnull)
		row->policy_step = DatumGetInt64(args[ROW_POLICY_STEP].value);
	row->has_policy_step = row->policy_step != NO_POLICY_STEP;
}

static void
read_policy_part(const NullableDatum *args, Reading *reading, StepRow *row)
{
	if (args[ROW_COARSE_STATE].isnull && args[ROW_LOGP].isnull)
		return;
	row->parts |= PART_POLICY;
	row->coarse_state = args[ROW_COARSE_STATE].isnull ? 0 : DatumGetInt64(args[ROW_COARSE_STATE].value);
	if (!args[ROW_COARSE_STATE].isnull)
		row->nulls &= ~NULL_COARSE_STATE;
	row->logp = number_argument(&args[ROW_LOGP], reading, row, "logp", 0);
}

static void
read_extra_part(const NullableDatum *args, int n_args, Reading *reading, double rewards[MAX_REWARDS], StepRow *row)
{
	bool		has_turn = !args[ROW_TURN].isnull && !row->is_rollout;
	bool		has_rewards = n_args > ROW_REWARDS && !args[ROW_REWARDS].isnull;

	if (!has_turn && !has_rewards)
		return;
	begin_extra_part(row);
	if (has_turn)
	{
		row->turn = DatumGetInt32(args[ROW_TURN].value);
		row->nulls &= ~NULL_TURN;
	}
	if (has_rewards)
		read_rewards(args[ROW_REWARDS].value, reading, rewards, row);
}

bool
read_step_row(const NullableDatum *args, int n_args, bool lenient, double rewards[MAX_REWARDS], StepRow *row)
{
	Reading		reading = {lenient ? LARGEST_LENIENT : DBL_MAX, lenient, 0};

	if (!read_identity(args, &reading, row))
		return false;
	row->state = args[ROW_STATE].isnull ? 0 : DatumGetInt64(args[ROW_STATE].value);
	row->action = args[ROW_ACTION].isnull ? 0 : DatumGetInt64(args[ROW_ACTION].value);
	row->parts = 0;
	row->nulls = PLAIN_NULLS |
		(args[ROW_STATE].isnull ? NULL_STATE : 0) |
		(args[ROW_ACTION].isnull ? NULL_ACTION : 0);
	row->reward = number_argument(&args[ROW_REWARD], &reading, row, "reward", DEFECT_REWARD);
	row->success = SUCCESS_UNKNOWN;
	if (n_args > ROW_SUCCESS && !args[ROW_SUCCESS].isnull)
		row->success = DatumGetBool(args[ROW_SUCCESS].value) ? SUCCESS_TRUE : SUCCESS_FALSE;

	if (n_args > ROW_COST && !row->is_rollout)
		read_wide_part(args, &reading, row);
	if (n_args > ROW_TURN)
		read_extra_part(args, n_args, &reading, rewards, row);
	if (n_args > ROW_POLICY_STEP)
		read_rollout_part(args, row);
	if (n_args > ROW_LOGP && !row->is_rollout)
		read_policy_part(args, &reading, row);
	if (unlikely(reading.defects != 0))
	{
		if ((row->parts & PART_EXTRA) == 0)
			begin_extra_part(row);
		row->defects = reading.defects;
	}
	return true;
}
