/*
 * gae.c
 *		gae: generalized advantage estimation from a critic's values.
 *
 *	td_t	= r_t + gamma * V_{t+1} - V_t,	V = 0 after the last stored step
 *	A_t		= td_t + gamma * lambda * A_{t+1}
 *	return	= A_t + V_t
 *
 * over the steps of an agent (StepPO) or, if a row of the table is a token, over tokens (PPO).  With `masked`, a
 * step without an action is an observation, which the policy did not choose (in a table of tokens: one that came
 * from a tool).  It takes no time: V and A pass it unchanged and undiscounted, and its advantage is that of the
 * next action.  Its reward is added to that of the action before it; its own value is not used.
 *
 * In a lenient group, results are NaN at and before a step whose value is missing.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "estimators/estimator.h"
#include "estimators/returns.h"

enum
{
	GAE_GAMMA, GAE_LAMBDA, GAE_MASKED
};

static void
refuse_missing_value(const GroupColumns *group, uint32 rollout, uint32 step)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("value of rollout " INT64_FORMAT ", step %d is null",
					group->rollout_id[rollout], group->step_no[step]),
			 errhint("gae needs the critic's value at every step. Pass it to rollout_agg as value.")));
}

/* NaN if there is no critic's value, as may be in a lenient group. */
static inline double
critic_value(const GroupColumns *group, uint32 step)
{
	return group->value ? group->value[step] : NAN;
}

static void
gae_rollout(const GroupColumns *group, uint32 rollout, const ParameterValue *parameters, EstimateColumn *columns)
{
	double		gamma = parameters[GAE_GAMMA].number;
	double		lambda = parameters[GAE_LAMBDA].number;
	bool		masked = parameters[GAE_MASKED].flag;
	double		next_value = 0;
	double		next_advantage = 0;
	double		observed = 0;	/* rewards of the observations after this step */

	for (uint32 i = group->first_step[rollout + 1]; i-- > group->first_step[rollout];)
	{
		double		value = critic_value(group, i);
		double		td_error = NAN;

		if (masked && step_has_null(group, i, NULL_ACTION))
			observed += step_reward(group, rollout, i);
		else
		{
			if (isnan(value) && !group->lenient)
				refuse_missing_value(group, rollout, i);
			td_error = step_reward(group, rollout, i) + observed + gamma * next_value - value;
			next_advantage = td_error + gamma * lambda * next_advantage;
			next_value = value;
			observed = 0;
		}
		columns[0].number[i] = value;
		columns[1].number[i] = td_error;
		columns[2].number[i] = next_advantage + value;
		columns[3].number[i] = next_advantage;
	}
}

static const Parameter gae_parameters[] = {
	GAMMA_PARAMETER, NUMBER_PARAMETER("lambda", 0, 1), FLAG_PARAMETER("masked")
};
static const EstimateColumnType gae_columns[] = {
	{"value", COLUMN_FLOAT8},
	{"td_error", COLUMN_FLOAT8},	/* NULL for an observation */
	{"return", COLUMN_FLOAT8},
	{"advantage", COLUMN_FLOAT8}
};

static void
gae_estimate(const GroupColumns *group, const RolloutFacts *facts,
			 const ParameterValue *parameters, EstimateColumn *columns)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (facts->judged[r])
			gae_rollout(group, r, parameters, columns);
		CHECK_FOR_INTERRUPTS();
	}
}

STEPADV_ESTIMATOR(gae, gae_parameters, gae_columns, gae_estimate)
