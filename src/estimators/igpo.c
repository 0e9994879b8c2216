/*
 * igpo.c
 *		igpo: turn rewards, such as information gain, and the outcome, normalized over the group and summed along
 *		the rollout.
 *
 * IGPO (Wang et al. 2025, arXiv 2510.14967) rewards each turn but the last with the gain in the policy's
 * probability of the right answer, and the last turn with the outcome.  Let x be the turn reward of a step that is
 * not its rollout's last, or the return R for the last step.  Over all x of the group (pool 'joint'), or over turn
 * rewards and returns separately ('separate'),
 *
 *	y	= (x - mean) / (sqrt(variance + 1e-8) + epsilon), variance with ddof 0
 *	A_t	= y_t + gamma * A_{t+1}
 *
 * A step whose turn reward is NULL belongs to the next one that has one: A passes it undiscounted.  The last
 * step's own turn reward is not used.  The public code treats a turn reward of 0 as missing; for that, pass NULL.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/estimator.h"
#include "estimators/normalise.h"

enum
{
	IGPO_GAMMA, IGPO_POOL, IGPO_NORMALISE, IGPO_EPSILON
};

#define POOL_SEPARATE 1

static const Parameter igpo_parameters[] = {
	GAMMA_PARAMETER, CHOICE_PARAMETER("pool", "joint", "separate"), NORMALISE_PARAMETER, EPSILON_PARAMETER
};

static const EstimateColumnType igpo_columns[] = {
	{"normalised_reward", COLUMN_FLOAT8},	/* NULL if there is none */
	{"advantage", COLUMN_FLOAT8}
};

/* The square root of what the public code adds to the variance. */
#define LEAST_SD 1e-4

/* The members and their sets: the turn reward of each step, followed by the return of each rollout. */
static int32 *
collect_rewards(const GroupColumns *group, const RolloutFacts *facts, bool separate, double *x)
{
	int32	   *set = ALLOCATE_ARRAY(int32, group->n_steps + group->n_rollouts);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		end = group->first_step[r + 1];

		for (uint32 i = group->first_step[r]; i < end; i++)
		{
			x[i] = i + 1 == end ? NAN : step_turn_reward(group, i);
			set[i] = facts->judged[r] && !isnan(x[i]) ? 0 : NO_SET;
		}
		x[group->n_steps + r] = facts->total[r];
		set[group->n_steps + r] = !facts->judged[r] ? NO_SET : separate ? 1 : 0;
		CHECK_FOR_INTERRUPTS();
	}
	return set;
}

/* For each set, what must be added to its sd with ddof 0 to get the divisor. */
static void
find_epsilons(const double *x, const int32 *set, uint32 n, double epsilon, double epsilon_of_set[2])
{
	SetMoments *sets = measure_sets(x, NULL, set, n, 2);

	for (int k = 0; k < 2; k++)
	{
		double		sd = sets[k].count < 2 ? 0 : sets[k].sd * sqrt((double) (sets[k].count - 1) / sets[k].count);

		epsilon_of_set[k] = hypot(sd, LEAST_SD) - sd + epsilon;
	}
	pfree(sets);
}

static void
add_up(const GroupColumns *group, uint32 rollout, double gamma, const double *y, EstimateColumn *columns)
{
	uint32		end = group->first_step[rollout + 1];
	double		next = 0;

	for (uint32 i = end; i-- > group->first_step[rollout];)
	{
		double		reward = i + 1 == end ? y[group->n_steps + rollout] : y[i];

		if (!isnan(reward))
			next = reward + gamma * next;
		columns[0].number[i] = reward;
		columns[1].number[i] = next;
	}
}

static void
igpo_estimate(const GroupColumns *group, const RolloutFacts *facts,
			  const ParameterValue *parameters, EstimateColumn *columns)
{
	uint32		n = group->n_steps + group->n_rollouts;
	double	   *x = ALLOCATE_ARRAY(double, n);
	int32	   *set = collect_rewards(group, facts, parameters[IGPO_POOL].choice == POOL_SEPARATE, x);
	double		epsilon_of_set[2];
	NormaliseOptions options = {parameters[IGPO_NORMALISE].choice, 0, SINGLETON_ZERO, epsilon_of_set};

	if (options.normalisation == NORMALISE_STD)
		options.normalisation = NORMALISE_POPULATION;
	find_epsilons(x, set, n, parameters[IGPO_EPSILON].number, epsilon_of_set);
	normalise(x, NULL, set, n, 2, &options, x, NULL);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (facts->judged[r])
			add_up(group, r, parameters[IGPO_GAMMA].number, x, columns);
		CHECK_FOR_INTERRUPTS();
	}
}

STEPADV_ESTIMATOR_READING(igpo, igpo_parameters, igpo_columns, igpo_estimate, DEFECT_TURN_REWARD)
