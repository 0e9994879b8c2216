/*
 * estimator.c
 *		The one adapter between estimators and SQL.
 */
#include "postgres.h"

#include "arrays.h"
#include "compat.h"
#include "declaration.h"
#include "estimator.h"

StaticAssertDecl(3 + MAX_RESULT_COLUMNS <= MAX_ROW_COLUMNS, "an estimator's columns are more than a row takes");

/* NULLs are fine, but the advantage (or return) of a judged step has a value. */
static void
refuse_infinite(const Estimator *estimator, const GroupColumns *group, const EstimateColumn *columns, uint32 rollout)
{
	for (uint32 i = group->first_step[rollout]; i < group->first_step[rollout + 1]; i++)
	{
		for (int c = 0; c < estimator->n_columns; c++)
			if (estimator->columns[c].type == COLUMN_FLOAT8 && isinf(columns[c].number[i]))
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

		if (estimator->columns[c].type != COLUMN_FLOAT8)
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

	Assert(estimator->columns[estimator->n_columns - 1].type == COLUMN_FLOAT8);

	if (fcinfo->flinfo->fn_extra == NULL)
		require_group_argument(fcinfo->flinfo);
	read_parameters(fcinfo, 1, estimator->parameters, estimator->n_parameters, parameters);
	if (PG_ARGISNULL(0))
		return return_no_rows(fcinfo);
	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group);
	find_rollout_facts(&group, &facts);

	for (int c = 0; c < estimator->n_columns; c++)
	{
		if (estimator->columns[c].type == COLUMN_FLOAT8)
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

	results[0] = (ResultColumn) {"step_id", COLUMN_INT8, group.step_id, NULL};
	results[1] = (ResultColumn) {"rollout_id", COLUMN_INT8, rollout_id, NULL};
	results[2] = (ResultColumn) {"step_no", COLUMN_INT4, group.step_no, NULL};
	for (int c = 0; c < estimator->n_columns; c++)
		results[3 + c] = (ResultColumn) {
			estimator->columns[c].name, estimator->columns[c].type, columns[c].number, unjudged,
			estimator->columns[c].newer
		};
	return return_rows(fcinfo, 3 + estimator->n_columns, results, group.n_steps);
}
