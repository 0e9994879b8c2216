/*
 * baselines.c
 *		reinforce, rloo, grpo: trajectory-level advantages, one per rollout, repeated on its steps; and GRPO
 *		over step rewards.
 *
 * R_i is the undiscounted return of rollout i.
 *
 *	reinforce	R_i; with to_go: the discounted return from the step on
 *	rloo		R_i - mean of the other rollouts' R; with weighting 'step': mean over the other steps of the
 *				group, each with its rollout's R, as in verl-agent's trainer
 *	grpo		(R_i - mean R) / (sd R + epsilon), sd with ddof 1
 *	grpo, rloo (step_rewards => true)
 *				the same over the discounted returns of steps, pooled over the group or over steps of equal rank
 */
#include "postgres.h"

#include "arrays.h"
#include "estimators/episode.h"
#include "estimators/estimator.h"
#include "estimators/normalise.h"
#include "estimators/returns.h"

static const Parameter reinforce_parameters[] = {GAMMA_PARAMETER, FLAG_PARAMETER("to_go")};
static const EstimateColumnType reinforce_columns[] = {
	{"return", COLUMN_FLOAT8},
	{"advantage", COLUMN_FLOAT8}
};

static void
reinforce_estimate(const GroupColumns *group, const RolloutFacts *facts,
				   const ParameterValue *parameters, EstimateColumn *columns)
{
	double	   *returns = columns[0].number;
	double	   *advantage = columns[1].number;

	discounted_returns(group, parameters[0].number, returns);
	if (parameters[1].flag)
		memcpy(advantage, returns, group->n_steps * sizeof(double));
	else
		broadcast_to_steps(group, facts->total, advantage);
}

STEPADV_ESTIMATOR(reinforce, reinforce_parameters, reinforce_columns, reinforce_estimate)

/* return, baseline and advantage by rollout, repeated on its steps. */
static void
rollout_advantages(const GroupColumns *group, const RolloutFacts *facts, bool by_step,
				   const NormaliseOptions *options, EstimateColumn *columns)
{
	broadcast_to_steps(group, facts->total, columns[0].number);
	episode_advantages(group, facts, by_step, options, columns[2].number, columns[1].number);
}

static const EstimateColumnType baseline_columns[] = {
	{"return", COLUMN_FLOAT8},
	{"baseline", COLUMN_FLOAT8},
	{"advantage", COLUMN_FLOAT8}
};
#define POOL_STEP 1

/* Normalise the returns of steps over the whole group, or over steps of the same rank. */
static void
normalise_steps(const GroupColumns *group, const RolloutFacts *facts, double gamma, bool by_rank,
				const NormaliseOptions *options, EstimateColumn *columns)
{
	int32	   *set = ALLOCATE_ARRAY(int32, group->n_steps);
	uint32		n_sets = 1;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (by_rank)
			n_sets = Max(n_sets, group->n_rollout_steps[r]);
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
			set[i] = !facts->judged[r] ? NO_SET : by_rank ? (int32) (i - group->first_step[r]) : 0;
	}
	discounted_returns(group, gamma, columns[0].number);
	normalise(columns[0].number, NULL, set, group->n_steps, n_sets, options,
			  columns[2].number, columns[1].number);
}

static const Parameter rloo_parameters[] = {
	SINGLETON_PARAMETER, FLAG_PARAMETER("step_rewards"), GAMMA_PARAMETER,
	CHOICE_PARAMETER("pool", "group", "step"), WEIGHTING_PARAMETER
};

static void
rloo_estimate(const GroupColumns *group, const RolloutFacts *facts,
			  const ParameterValue *parameters, EstimateColumn *columns)
{
	NormaliseOptions options = {NORMALISE_LEAVE_ONE_OUT, 0, parameters[0].choice};

	if (parameters[1].flag)
		normalise_steps(group, facts, parameters[2].number, parameters[3].choice == POOL_STEP, &options, columns);
	else
		rollout_advantages(group, facts, parameters[4].choice == WEIGHTING_STEP, &options, columns);
}

STEPADV_ESTIMATOR(rloo, rloo_parameters, baseline_columns, rloo_estimate)

static const Parameter grpo_parameters[] = {
	NORMALISE_PARAMETER, EPSILON_PARAMETER, SINGLETON_PARAMETER, WEIGHTING_PARAMETER,
	FLAG_PARAMETER("step_rewards"), GAMMA_PARAMETER, CHOICE_PARAMETER("pool", "group", "step")
};

static void
grpo_estimate(const GroupColumns *group, const RolloutFacts *facts,
			  const ParameterValue *parameters, EstimateColumn *columns)
{
	NormaliseOptions options = {parameters[0].choice, parameters[1].number, parameters[2].choice};

	if (parameters[4].flag)
		normalise_steps(group, facts, parameters[5].number, parameters[6].choice == POOL_STEP, &options, columns);
	else
		rollout_advantages(group, facts, parameters[3].choice == WEIGHTING_STEP, &options, columns);
}

STEPADV_ESTIMATOR(grpo, grpo_parameters, baseline_columns, grpo_estimate)
