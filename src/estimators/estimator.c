/*
 * estimator.c
 *		The adapter between all estimators and SQL.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "compat.h"
#include "declaration.h"
#include "estimators/estimator.h"
#include "group/pooled_groups.h"

StaticAssertDecl(3 + MAX_RESULT_COLUMNS <= MAX_ROW_COLUMNS, "an estimator's columns are more than a row takes");

/* The column that has a value for every judged step: the advantage or, without one, the last column. */
static int
certain_column(const Estimator *estimator)
{
	int			c = estimator->n_columns - 1;

	while (c > 0 && strcmp(estimator->columns[c].name, "advantage") != 0)
		c--;
	return strcmp(estimator->columns[c].name, "advantage") == 0 ? c : estimator->n_columns - 1;
}

/* Does a column have entries that can be out of range? */
static inline bool
is_number(const Estimator *estimator, const EstimateColumn *columns, int c)
{
	return estimator->columns[c].type == COLUMN_FLOAT8 && columns[c].number != NULL;
}

/*
 * The first step of a rollout with an estimate out of range, or the end of the rollout.  NULLs are allowed,
 * except for the advantage (or return) of a judged step.
 */
static uint32
find_infinite(const Estimator *estimator, const GroupColumns *group, const EstimateColumn *columns, uint32 rollout)
{
	int			certain = certain_column(estimator);
	uint32		i;

	for (i = group->first_step[rollout]; i < group->first_step[rollout + 1]; i++)
	{
		for (int c = 0; c < estimator->n_columns; c++)
			if (is_number(estimator, columns, c) && isinf(columns[c].number[i]))
				return i;
		if (isnan(columns[certain].number[i]))
			return i;
	}
	return i;
}

/*
 * Usually all estimates are finite, which is fastest to check column by column.  Only if not, or for rollouts
 * that are not judged, does the step matter.
 */
static bool
all_finite(const Estimator *estimator, const EstimateColumn *columns, uint32 n_steps)
{
	int			certain = certain_column(estimator);
	bool		finite = true;

	for (int c = 0; c < estimator->n_columns; c++)
	{
		const double *number = columns[c].number;

		/* Not within the loops, which the compiler vectorizes. */
		CHECK_FOR_INTERRUPTS();
		if (!is_number(estimator, columns, c))
			continue;
		if (c == certain)
			for (uint32 i = 0; i < n_steps; i++)
				finite &= isfinite(number[i]) != 0;
		else
			for (uint32 i = 0; i < n_steps; i++)
				finite &= !isinf(number[i]);
	}
	return finite;
}

static bool
all_judged(const GroupColumns *group, const RolloutFacts *facts)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (!facts->judged[r])
			return false;
	return true;
}

/* Estimators need not fill entries of rollouts that are not judged.  They are read, but returned as NULL. */
static void
fill_unjudged(const Estimator *estimator, const GroupColumns *group, const RolloutFacts *facts, EstimateColumn *columns)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		first = group->first_step[r];
		uint32		n = group->first_step[r + 1] - first;

		for (int c = 0; c < estimator->n_columns && !facts->judged[r]; c++)
		{
			if (is_number(estimator, columns, c))
				memset(columns[c].number + first, 0, n * sizeof(double));
			else if (columns[c].count != NULL)
				memset(columns[c].count + first, 0, n * sizeof(int32));
		}
	}
}

/* By rollout: whether the estimates of its steps are NULL.  The result is NULL if none are. */
static bool *
find_unknown(const Estimator *estimator, const GroupColumns *group, const RolloutFacts *facts,
			 const EstimateColumn *columns)
{
	bool		finite = all_finite(estimator, columns, group->n_steps);
	bool	   *unknown;

	if (finite && all_judged(group, facts))
		return NULL;
	unknown = ALLOCATE_ARRAY(bool, group->n_rollouts);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		CHECK_ONCE_IN_A_WHILE(r);
		unknown[r] = !facts->judged[r];
		if (!unknown[r] && !finite)
		{
			uint32		step = find_infinite(estimator, group, columns, r);

			unknown[r] = step < group->first_step[r + 1];
			if (unknown[r] && !group->lenient)
				refuse_overflow(group, r, step);
		}
	}
	return unknown;
}

/* Copy the estimates of each turn to all its calls. */
static void
spread_to_calls(const Estimator *estimator, const uint32 *turn_of_call, uint32 n_calls, EstimateColumn *columns)
{
	for (int c = 0; c < estimator->n_columns; c++)
	{
		EstimateColumn of_turns = columns[c];

		if (of_turns.number == NULL)
			continue;
		if (estimator->columns[c].type == COLUMN_FLOAT8)
		{
			columns[c].number = ALLOCATE_ARRAY(double, n_calls);
			for (uint32 i = 0; i < n_calls; i++)
			{
				CHECK_ONCE_IN_A_WHILE(i);
				columns[c].number[i] = of_turns.number[turn_of_call[i]];
			}
			pfree(of_turns.number);
		}
		else
		{
			columns[c].count = ALLOCATE_ARRAY(int32, n_calls);
			for (uint32 i = 0; i < n_calls; i++)
			{
				CHECK_ONCE_IN_A_WHILE(i);
				columns[c].count[i] = of_turns.count[turn_of_call[i]];
			}
			pfree(of_turns.count);
		}
	}
}

/* The index of the parameter history, which decay follows, or -1. */
static int
history_of(const Estimator *estimator)
{
	for (int p = 0; p < estimator->n_parameters; p++)
		if (estimator->parameters[p].type == PARAMETER_GROUP && strcmp(estimator->parameters[p].name, "history") == 0)
			return p;
	return -1;
}

/* The rollouts that the method learns from: the group's own, followed by those of its history. */
static void
find_subject(const Estimator *estimator, const ParameterValue *parameters, const GroupColumns *group,
			 const GroupColumns *calls, GroupColumns *subject, RolloutFacts *facts)
{
	int			history = history_of(estimator);
	GroupColumns opened;
	GroupColumns history_calls;

	if (history >= 0 && parameters[history + 1].number == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("decay must be greater than 0 and at most 1, not 0")));
	*subject = *group;
	if (history >= 0 && !parameters[history].isnull)
	{
		group_open_by_unit(parameters[history].group, &opened, &history_calls);
		require_same_unit(calls, &history_calls);
		if (opened.n_rollouts > 0)
			pool_groups(group, &opened, subject);
		else
			history = -1;
	}
	find_rollout_facts(subject, facts);
	leave_out_defects(subject, estimator->defects |
					  (history >= 0 && parameters[history + 1].number < 1 ? DEFECT_POLICY_STEP : 0), facts);
	facts->n_own = group->n_rollouts;
	if (history >= 0 && !parameters[history].isnull)
		facts->weight = weigh_by_age(subject, group->n_rollouts, parameters[history + 1].number, facts);
}

/* The estimates of a method for a group, before they become rows. */
typedef struct Estimates
{
	GroupColumns calls;			/* as stored, in any unit */
	bool		unread;			/* the query reads no column of a lenient group: nothing was computed */
	EstimateColumn columns[MAX_RESULT_COLUMNS];	/* by call */
	const bool *unknown;		/* by rollout: the estimates are NULL; NULL: none are */
} Estimates;

/* Every result has three columns before those of the method. */
#define FIRST_ESTIMATE 3

/* False: the group is NULL. */
static bool
find_estimates(FunctionCallInfo fcinfo, const Estimator *estimator, Estimates *estimates)
{
	EstimateColumn *columns = estimates->columns;
	ParameterValue parameters[MAX_PARAMETERS];
	RolloutFacts facts;
	GroupColumns group;
	GroupColumns subject;
	const uint32 *turn_of_call;

	Assert(estimator->columns[certain_column(estimator)].type == COLUMN_FLOAT8);

	read_parameters(fcinfo, 1, estimator->parameters, estimator->n_parameters, parameters);
	if (PG_ARGISNULL(0))
		return false;
	turn_of_call = group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, &estimates->calls);
	estimates->unread = group.lenient && only_counts_rows(fcinfo);
	if (estimates->unread)
		return true;
	find_subject(estimator, parameters, &group, &estimates->calls, &subject, &facts);

	for (int c = 0; c < estimator->n_columns; c++)
	{
		if (estimator->columns[c].dear && !column_is_asked(fcinfo, FIRST_ESTIMATE + c))
			columns[c].number = NULL;
		else if (estimator->columns[c].type == COLUMN_FLOAT8)
			columns[c].number = ALLOCATE_ARRAY(double, subject.n_steps);
		else
			columns[c].count = ALLOCATE_ARRAY(int32, subject.n_steps);
	}
	fill_unjudged(estimator, &subject, &facts, columns);
	estimator->estimate(&subject, &facts, parameters, columns);
	estimates->unknown = find_unknown(estimator, &group, &facts, columns);
	if (turn_of_call != NULL)
		spread_to_calls(estimator, turn_of_call, estimates->calls.n_steps, columns);
	return true;
}

/* ----------
 * Rows for SQL, one per call even if the unit is a turn
 * ----------
 */

/* Convert 1 and 0 to booleans, in place. */
static void
make_boolean(int32 *numbers, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
		((bool *) numbers)[i] = numbers[i] != 0;
}

/* One row per call. */
Datum
estimator_rows(FunctionCallInfo fcinfo, const Estimator *estimator)
{
	ResultColumn results[FIRST_ESTIMATE + MAX_RESULT_COLUMNS];
	Estimates	estimates;
	const GroupColumns *calls = &estimates.calls;
	int			n_columns = FIRST_ESTIMATE + estimator->n_columns;
	int64	   *rollout_id;
	bool	   *nulls;

	if (fcinfo->flinfo->fn_extra == NULL)
		require_group_argument(fcinfo->flinfo);
	/* Match the columns first, so that columns that the query does not read need not be computed. */
	results[0] = (ResultColumn) {"step_id", COLUMN_INT8};
	results[1] = (ResultColumn) {"rollout_id", COLUMN_INT8};
	results[2] = (ResultColumn) {"step_no", COLUMN_INT4};
	for (int c = 0; c < estimator->n_columns; c++)
		results[FIRST_ESTIMATE + c] = (ResultColumn) {estimator->columns[c].name, estimator->columns[c].type};
	match_row_columns(fcinfo, n_columns, results);
	if (!find_estimates(fcinfo, estimator, &estimates))
		return return_no_rows(fcinfo);
	if (estimates.unread)
		return return_row_count(fcinfo, calls->n_steps);
	rollout_id = column_is_asked(fcinfo, 1) ? ALLOCATE_ARRAY(int64, calls->n_steps) : NULL;
	nulls = estimates.unknown ? ALLOCATE_ZEROED_ARRAY(bool, calls->n_steps) : NULL;
	for (uint32 r = 0; r < calls->n_rollouts; r++)
	{
		uint32		end = calls->first_step[r + 1];

		for (uint32 i = calls->first_step[r]; rollout_id && i < end; i++)
			rollout_id[i] = calls->rollout_id[r];
		if (nulls && estimates.unknown[r])
			memset(nulls + calls->first_step[r], true, end - calls->first_step[r]);
	}
	results[0].values = calls->step_id;
	results[1].values = rollout_id;
	results[2].values = calls->step_no;
	for (int c = 0; c < estimator->n_columns; c++)
	{
		if (estimator->columns[c].type == COLUMN_BOOL)
			make_boolean(estimates.columns[c].count, calls->n_steps);
		results[FIRST_ESTIMATE + c].values = estimates.columns[c].number;
		results[FIRST_ESTIMATE + c].nulls = nulls;
	}
	return return_rows(fcinfo, n_columns, results, calls->n_steps);
}
