/*
 * estimator.c
 *		The one adapter between estimators and SQL.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "compat.h"
#include "estimator.h"
#include "sum.h"

/* ----------
 * Parameters
 * ----------
 */

static void
refuse_number(const Parameter *parameter, double number)
{
	StringInfoData range;

	initStringInfo(&range);
	if (!isinf(parameter->most))
		appendStringInfo(&range, "between %g and %g", parameter->least, parameter->most);
	else if (!isinf(parameter->least))
		appendStringInfo(&range, "a finite number of at least %g", parameter->least);
	else
		appendStringInfoString(&range, "a finite number");
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s must be %s, not %g", parameter->name, range.data, number)));
}

static int
find_choice(const Parameter *parameter, const char *word)
{
	StringInfoData known;

	initStringInfo(&known);
	for (int i = 0; parameter->choices[i] != NULL; i++)
	{
		if (strcmp(word, parameter->choices[i]) == 0)
			return i;
		appendStringInfo(&known, "%s%s", i > 0 ? ", " : "", parameter->choices[i]);
	}
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for parameter \"%s\": \"%s\"", parameter->name, word),
			 errhint("Available values: %s.", known.data)));
}

void
read_parameters(FunctionCallInfo fcinfo, int first, const Parameter *parameters,
				int n_parameters, ParameterValue *values)
{
	if (PG_NARGS() != first + n_parameters)
		elog(ERROR, "function has %d arguments, its C code expects %d", PG_NARGS(), first + n_parameters);
	for (int i = 0; i < n_parameters; i++)
	{
		const Parameter *parameter = &parameters[i];
		ParameterValue *value = &values[i];
		int			arg = first + i;

		memset(value, 0, sizeof(*value));
		value->isnull = PG_ARGISNULL(arg);
		if (value->isnull)
		{
			if (!parameter->nullable)
				ereport(ERROR,
						(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						 errmsg("%s must not be null", parameter->name)));
			continue;
		}
		switch (parameter->type)
		{
			case PARAMETER_NUMBER:
				value->number = PG_GETARG_FLOAT8(arg);
				if (!isfinite(value->number) ||
					value->number < parameter->least || value->number > parameter->most)
					refuse_number(parameter, value->number);
				break;
			case PARAMETER_INTEGER:
				value->number = PG_GETARG_INT32(arg);
				if (value->number < parameter->least || value->number > parameter->most)
					refuse_number(parameter, value->number);
				break;
			case PARAMETER_FLAG:
				value->flag = PG_GETARG_BOOL(arg);
				break;
			case PARAMETER_CHOICE:
				value->choice = find_choice(parameter, text_to_cstring(PG_GETARG_TEXT_PP(arg)));
				break;
		}
	}
}

/* ----------
 * Rollouts
 * ----------
 */

void
refuse_overflow(const GroupColumns *group, uint32 rollout, uint32 step)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("estimate of rollout " INT64_FORMAT ", step %d is out of range for type double precision",
					group->rollout_id[rollout], group->step_no[step])));
}

void
find_rollout_facts(const GroupColumns *group, RolloutFacts *facts)
{
	facts->judged = ALLOCATE_ARRAY(bool, group->n_rollouts);
	facts->total = ALLOCATE_ARRAY(double, group->n_rollouts);
	facts->n_judged = 0;
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		bool		judged = group->success[r] != SUCCESS_UNKNOWN;
		Sum			total = {0};

		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			double		reward = group->reward[i];

			if (isnan(reward))
				continue;
			judged = true;
			/* Most are 0, which adds nothing to a sum but time. */
			if (reward != 0)
				sum_add(&total, reward);
		}
		if (group->outcome != NULL && !isnan(group->outcome[r]))
		{
			judged = true;
			sum_add(&total, group->outcome[r]);
		}
		facts->judged[r] = judged;
		facts->total[r] = sum_value(&total);
		if (!isfinite(facts->total[r]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("return of rollout " INT64_FORMAT " is out of range for type double precision",
							group->rollout_id[r])));
		if (judged)
			facts->n_judged++;
	}
}

/* ----------
 * Estimators
 * ----------
 */

/* NULLs are fine, but the advantage (or return) of a judged step has a value. */
static void
refuse_infinite(const Estimator *estimator, const GroupColumns *group, const EstimateColumn *columns, uint32 rollout)
{
	for (uint32 i = group->first_step[rollout]; i < group->first_step[rollout + 1]; i++)
	{
		for (int c = 0; c < estimator->n_columns; c++)
			if (estimator->columns[c] == COLUMN_FLOAT8 && isinf(columns[c].number[i]))
				refuse_overflow(group, rollout, i);
		if (isnan(columns[estimator->n_columns - 1].number[i]))
			refuse_overflow(group, rollout, i);
	}
}

/*
 * Nearly always all is well, which is found out fastest column by column; only
 * if not (or for rollouts that are not judged) does it matter where.
 */
static bool
all_finite(const Estimator *estimator, const EstimateColumn *columns, uint32 n_steps)
{
	bool		finite = true;

	for (int c = 0; c < estimator->n_columns; c++)
	{
		const double *number = columns[c].number;

		if (estimator->columns[c] != COLUMN_FLOAT8)
			continue;
		if (c == estimator->n_columns - 1)
			for (uint32 i = 0; i < n_steps; i++)
				finite &= isfinite(number[i]) != 0;
		else
			for (uint32 i = 0; i < n_steps; i++)
				finite &= !isinf(number[i]);
	}
	return finite;
}

Datum
estimator_rows(FunctionCallInfo fcinfo, const Estimator *estimator)
{
	ParameterValue parameters[MAX_PARAMETERS];
	EstimateColumn columns[MAX_RESULT_COLUMNS];
	ResultColumn results[3 + MAX_RESULT_COLUMNS];
	RolloutFacts facts;
	GroupColumns group;
	int64	   *rollout_id;
	bool	   *unjudged = NULL;
	bool		finite;

	Assert(estimator->n_parameters <= MAX_PARAMETERS && estimator->n_columns <= MAX_RESULT_COLUMNS);
	Assert(estimator->columns[estimator->n_columns - 1] == COLUMN_FLOAT8);

	read_parameters(fcinfo, 1, estimator->parameters, estimator->n_parameters, parameters);
	if (PG_ARGISNULL(0))
		return return_rows(fcinfo, 3 + estimator->n_columns, NULL, 0);
	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group);
	find_rollout_facts(&group, &facts);

	for (int c = 0; c < estimator->n_columns; c++)
	{
		if (estimator->columns[c] == COLUMN_FLOAT8)
			columns[c].number = ALLOCATE_ARRAY(double, group.n_steps);
		else
			columns[c].count = ALLOCATE_ARRAY(int32, group.n_steps);
	}
	estimator->estimate(&group, &facts, parameters, columns);

	finite = all_finite(estimator, columns, group.n_steps);
	rollout_id = ALLOCATE_ARRAY(int64, group.n_steps);
	if (facts.n_judged < group.n_rollouts)
		unjudged = ALLOCATE_ZEROED_ARRAY(bool, group.n_steps);
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		uint32		end = group.first_step[r + 1];

		for (uint32 i = group.first_step[r]; i < end; i++)
			rollout_id[i] = group.rollout_id[r];
		if (!facts.judged[r])
			memset(unjudged + group.first_step[r], true, end - group.first_step[r]);
		else if (!finite)
			refuse_infinite(estimator, &group, columns, r);
	}

	results[0] = (ResultColumn) {COLUMN_INT8, group.step_id, NULL};
	results[1] = (ResultColumn) {COLUMN_INT8, rollout_id, NULL};
	results[2] = (ResultColumn) {COLUMN_INT4, group.step_no, NULL};
	for (int c = 0; c < estimator->n_columns; c++)
		results[3 + c] = (ResultColumn) {estimator->columns[c], columns[c].number, unjudged};
	return return_rows(fcinfo, 3 + estimator->n_columns, results, group.n_steps);
}
