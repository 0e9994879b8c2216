/*
 * credit_check.c
 *		Leaving rollouts out, for SQL: which, the group without one, what a method
 *		said beside what happened, and the values of states by the others.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "aggregate.h"
#include "arrays.h"
#include "compat.h"
#include "analysis/leave_one_out.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_without_rollout);
PG_FUNCTION_INFO_V1(stepadv_left_out);
PG_FUNCTION_INFO_V1(stepadv_left_out_values);
PG_FUNCTION_INFO_V1(stepadv_credit_trans);
PG_FUNCTION_INFO_V1(stepadv_credit_final);

#define MAX_ROLLOUTS_PARAMETER INTEGER_PARAMETER("max_rollouts", 1, INFINITY)
#define SEED_PARAMETER INTEGER_PARAMETER("seed", -INFINITY, INFINITY)

/* The number of a rollout, or -1. */
static int64
find_rollout(const GroupColumns *group, int64 rollout_id)
{
	uint32		low = 0;
	uint32		high = group->n_rollouts;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (group->rollout_id[middle] < rollout_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < group->n_rollouts && group->rollout_id[low] == rollout_id ? (int64) low : -1;
}

static int64
find_step(const GroupColumns *group, uint32 rollout, int32 step_no)
{
	uint32		low = group->first_step[rollout];
	uint32		end = group->first_step[rollout + 1];
	uint32		high = end;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (group->step_no[middle] < step_no)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && group->step_no[low] == step_no ? (int64) low : -1;
}

/* The group as it was, but for a rollout. */
Datum
stepadv_without_rollout(PG_FUNCTION_ARGS)
{
	int64		rollout_id = PG_GETARG_INT64(1);
	GroupColumns group;
	int64		rollout;

	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group);
	rollout = find_rollout(&group, rollout_id);
	if (rollout < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rollout " INT64_FORMAT " is not in the group", rollout_id)));
	PG_RETURN_POINTER(group_copy_without(&group, (uint32) rollout));
}

/*
 * The first argument opened, and which of its rollouts to leave out, by the parameters
 * max_rollouts and seed, one after the other.
 */
static bool *
open_left_out(FunctionCallInfo fcinfo, const ParameterValue *most_and_seed, GroupColumns *group, RolloutFacts *facts)
{
	bool	   *chosen;

	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), group, NULL);
	find_rollout_facts(group, facts);
	chosen = ALLOCATE_ARRAY(bool, group->n_rollouts);
	choose_left_out(group, facts, (uint32) most_and_seed[0].number, (int64) most_and_seed[1].number, chosen);
	return chosen;
}

/* A row per rollout to leave out. */
Datum
stepadv_left_out(PG_FUNCTION_ARGS)
{
	static const Parameter parameters[] = {MAX_ROLLOUTS_PARAMETER, SEED_PARAMETER};
	ParameterValue values[lengthof(parameters)];
	GroupColumns group;
	RolloutFacts facts;
	bool	   *chosen;
	int64	   *rollout_id;
	uint64		n = 0;

	read_parameters(fcinfo, 1, parameters, lengthof(parameters), values);
	chosen = open_left_out(fcinfo, &values[0], &group, &facts);
	rollout_id = ALLOCATE_ARRAY(int64, group.n_rollouts);
	for (uint32 r = 0; r < group.n_rollouts; r++)
		if (chosen[r])
			rollout_id[n++] = group.rollout_id[r];
	{
		ResultColumn columns[] = {{"rollout_id", COLUMN_INT8, rollout_id, NULL}};

		RETURN_COLUMNS(columns, n);
	}
}

/* A row per step of these in a state where another rollout was. */
Datum
stepadv_left_out_values(PG_FUNCTION_ARGS)
{
	static const Parameter parameters[] = {GAMMA_PARAMETER, MAX_ROLLOUTS_PARAMETER, SEED_PARAMETER};
	ParameterValue values[lengthof(parameters)];
	GroupColumns group;
	RolloutFacts facts;
	LeaveOneOut out;
	bool	   *chosen;
	bool	   *known;
	double	   *value;
	int64	   *step_id;
	int64	   *rollout_id;
	int32	   *step_no;
	double	   *v;
	double	   *happened;
	uint64		n = 0;

	read_parameters(fcinfo, 1, parameters, lengthof(parameters), values);
	chosen = open_left_out(fcinfo, &values[1], &group, &facts);
	prepare_leave_one_out(&group, &facts, values[0].number, &out);
	known = ALLOCATE_ARRAY(bool, group.n_steps);
	value = ALLOCATE_ARRAY(double, group.n_steps);
	step_id = ALLOCATE_ARRAY(int64, group.n_steps);
	rollout_id = ALLOCATE_ARRAY(int64, group.n_steps);
	step_no = ALLOCATE_ARRAY(int32, group.n_steps);
	v = ALLOCATE_ARRAY(double, group.n_steps);
	happened = ALLOCATE_ARRAY(double, group.n_steps);
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		uint32		first = group.first_step[r];

		if (!chosen[r])
			continue;
		value_by_others(&out, r, value, known);
		for (uint32 i = 0; i < group.n_rollout_steps[r]; i++)
		{
			if (!known[i])
				continue;
			step_id[n] = group.step_id[first + i];
			rollout_id[n] = group.rollout_id[r];
			step_no[n] = group.step_no[first + i];
			v[n] = value[i];
			happened[n] = out.returns[first + i];
			n++;
		}
		CHECK_FOR_INTERRUPTS();
	}
	{
		ResultColumn columns[] = {
			{"step_id", COLUMN_INT8, step_id, NULL},
			{"rollout_id", COLUMN_INT8, rollout_id, NULL},
			{"step_no", COLUMN_INT4, step_no, NULL},
			{"v", COLUMN_FLOAT8, v, NULL},
			{"return", COLUMN_FLOAT8, happened, NULL},
		};

		RETURN_COLUMNS(columns, n);
	}
}

/* ----------
 * credit_agg(rollouts, left_out, rollout_id, step_no, advantage, gamma)
 *
 * Of one group: the rows of a method called without the rollout `left_out`, those
 * of one such rollout after those of another.  A call without rows has one that is NULL.
 * ----------
 */

typedef struct CreditCheck
{
	GroupColumns group;
	GroupColumns calls;
	const uint32 *turn_of_call;
	RolloutFacts facts;
	LeaveOneOut out;
	MemoryContext scratch;		/* for one rollout left out */
	int64		left_out;		/* its number, or -1 */
	bool	   *done;			/* by rollout */
	double	   *advantage;		/* by call */
	uint32		next_call;		/* after that of the last row: most likely that of the next */
	uint32		rollout;		/* of the last row */
	Sum			sums[N_CREDIT_SUMS];
} CreditCheck;

static void
forget_advantages(CreditCheck *check)
{
	for (uint32 i = 0; i < check->calls.n_steps; i++)
		check->advantage[i] = NAN;
}

static CreditCheck *
begin_credit_check(MemoryContext context, Datum rollouts, double gamma)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	CreditCheck *check = palloc0(sizeof(CreditCheck));

	check->turn_of_call = group_open_by_unit((RolloutGroup *) PG_DETOAST_DATUM_COPY(rollouts), &check->group, &check->calls);
	find_rollout_facts(&check->group, &check->facts);
	prepare_leave_one_out(&check->group, &check->facts, gamma, &check->out);
	check->scratch = AllocSetContextCreate(context, "stepadv rollout left out", ALLOCSET_DEFAULT_SIZES);
	check->left_out = -1;
	check->done = ALLOCATE_ZEROED_ARRAY(bool, check->group.n_rollouts);
	check->advantage = ALLOCATE_ARRAY(double, check->calls.n_steps);
	forget_advantages(check);
	MemoryContextSwitchTo(old);
	return check;
}

/* All of what was said without it has been seen. */
static void
finish_left_out(CreditCheck *check)
{
	MemoryContext old;
	double	   *advantage = check->advantage;

	if (check->left_out < 0)
		return;
	old = MemoryContextSwitchTo(check->scratch);
	if (check->turn_of_call != NULL)
	{
		/* All calls of a turn got the same; the first is the last to be written. */
		advantage = ALLOCATE_ARRAY(double, check->group.n_steps);
		for (uint32 i = check->calls.n_steps; i-- > 0;)
			advantage[check->turn_of_call[i]] = check->advantage[i];
	}
	add_left_out(&check->out, (uint32) check->left_out, advantage, check->sums);
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->scratch);
	check->done[check->left_out] = true;
	check->left_out = -1;
	forget_advantages(check);
}

static void
begin_left_out(CreditCheck *check, int64 rollout_id)
{
	int64		rollout = find_rollout(&check->group, rollout_id);

	if (check->left_out >= 0 && rollout == check->left_out)
		return;
	finish_left_out(check);
	if (rollout < 0 || check->done[rollout] || !check->facts.judged[rollout])
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rollout " INT64_FORMAT " cannot be left out here", rollout_id)));
	check->left_out = rollout;
}

static void
take_advantage(CreditCheck *check, int64 rollout_id, int32 step_no, double advantage)
{
	const GroupColumns *calls = &check->calls;
	int64		call = check->next_call;

	/* Rows mostly come in the order of the group. */
	if (call >= calls->n_steps || calls->rollout_id[check->rollout] != rollout_id || calls->step_no[call] != step_no ||
		call < calls->first_step[check->rollout] || call >= calls->first_step[check->rollout + 1])
	{
		int64		rollout = find_rollout(calls, rollout_id);

		call = rollout < 0 ? -1 : find_step(calls, (uint32) rollout, step_no);
		if (call < 0)
			return;
		check->rollout = (uint32) rollout;
	}
	check->advantage[call] = advantage;
	check->next_call = (uint32) call + 1;
}

Datum
stepadv_credit_trans(PG_FUNCTION_ARGS)
{
	static const Parameter parameters[] = {GAMMA_PARAMETER};
	MemoryContext context = aggregate_context(fcinfo);
	CreditCheck *check = PG_ARGISNULL(0) ? NULL : (CreditCheck *) PG_GETARG_POINTER(0);

	if (PG_ARGISNULL(1) || PG_ARGISNULL(2))
	{
		if (check == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(check);
	}
	if (check == NULL)
	{
		ParameterValue gamma;

		read_parameters_in_order(&fcinfo->args[6], parameters, lengthof(parameters), &gamma);
		check = begin_credit_check(context, PG_GETARG_DATUM(1), gamma.number);
	}
	begin_left_out(check, PG_GETARG_INT64(2));
	if (!PG_ARGISNULL(3) && !PG_ARGISNULL(4) && !PG_ARGISNULL(5))
		take_advantage(check, PG_GETARG_INT64(3), PG_GETARG_INT32(4), PG_GETARG_FLOAT8(5));
	PG_RETURN_POINTER(check);
}

Datum
stepadv_credit_final(PG_FUNCTION_ARGS)
{
	Datum		sums[N_CREDIT_SUMS];
	CreditCheck *check;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	check = (CreditCheck *) PG_GETARG_POINTER(0);
	finish_left_out(check);
	for (int i = 0; i < N_CREDIT_SUMS; i++)
		sums[i] = Float8GetDatum(sum_value(&check->sums[i]));
	PG_RETURN_ARRAYTYPE_P(construct_array(sums, N_CREDIT_SUMS, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}
