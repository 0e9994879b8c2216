/*
 * outcomes.c
 *		The outcome of each step's rollout, for views with advantages: success and undiscounted return.
 */
#include "postgres.h"

#include "estimators/estimator.h"
#include "estimators/returns.h"

static const Parameter outcomes_parameters[] = {SUCCESS_ABOVE_PARAMETER};
static const EstimateColumnType outcomes_columns[] = {
	{"success", COLUMN_BOOL},
	{"return", COLUMN_FLOAT8}
};

static void
outcomes_estimate(const GroupColumns *group, const RolloutFacts *facts,
				  const ParameterValue *parameters, EstimateColumn *columns)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		bool		success = rollout_succeeded(group, facts, r, parameters[0].number);

		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
			columns[0].count[i] = success;
	}
	broadcast_to_steps(group, facts->total, columns[1].number);
}

STEPADV_ESTIMATOR(outcomes, outcomes_parameters, outcomes_columns, outcomes_estimate)
