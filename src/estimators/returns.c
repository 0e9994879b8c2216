/*
 * returns.c
 *		returns: the discounted return of every step.
 *
 * G_t = r_t + gamma * G_{t+1}, G = 0 after the last stored step.  Only the order of step_no counts.  A missing
 * reward is 0; the reward of the rollout's own row is added to the last step's.  With `masked`, a step without an
 * action is an observation and takes no time: G passes it undiscounted, and its reward is added to that of the
 * action before it.
 */
#include "postgres.h"

#include "arrays.h"
#include "estimators/estimator.h"
#include "estimators/returns.h"
#include "sum.h"

static void
accumulate_returns(const GroupColumns *group, double gamma, bool masked, double *returns)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		Sum			next = {0, 0};
		double		observed = 0;	/* rewards of the observations after this step */

		for (uint32 i = group->first_step[r + 1]; i-- > group->first_step[r];)
		{
			double		reward = step_reward(group, r, i) + observed;
			bool		passed = masked && step_has_null(group, i, NULL_ACTION);

			CHECK_ONCE_IN_A_WHILE(i);
			observed = passed ? reward : 0;
			if (!passed)
			{
				if (gamma != 1)
					sum_scale(&next, gamma);
				sum_add(&next, reward);
			}
			returns[i] = sum_value(&next);
		}
	}
}

void
discounted_returns(const GroupColumns *group, double gamma, double *returns)
{
	accumulate_returns(group, gamma, false, returns);
}

void
broadcast_to_steps(const GroupColumns *group, const double *by_rollout, double *by_step)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			CHECK_ONCE_IN_A_WHILE(i);
			by_step[i] = by_rollout[r];
		}
}

static const Parameter returns_parameters[] = {GAMMA_PARAMETER, FLAG_PARAMETER("masked")};
static const EstimateColumnType returns_columns[] = {{"return", COLUMN_FLOAT8}};

static void
returns_estimate(const GroupColumns *group, const RolloutFacts *facts,
				 const ParameterValue *parameters, EstimateColumn *columns)
{
	accumulate_returns(group, parameters[0].number, parameters[1].flag, columns[0].number);
}

STEPADV_ESTIMATOR(returns, returns_parameters, returns_columns, returns_estimate)
