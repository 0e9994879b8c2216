/*
 * hgpo.c
 *		hgpo: hierarchy-of-groups policy optimization.
 *
 * A step is compared within groups of steps that share its state (k = 1), its state and the one before (k = 2),
 * and so on to k = history_length + 1:
 *
 *	a_k	= (G_t - mean G) / (sd G + epsilon) over the steps of the group with the
 *		  same last k states, sd with ddof 0
 *	A	= sum_k w_k a_k / sum_k w_k
 *
 * over those k for which another step shares the history and a_k is not exactly 0; A is 0 if there are none.  Two
 * public versions differ in the weights:
 *
 *	recipe		w_k = (k + 1) ^ alpha, epsilon is added to the divisor
 *	original	w_k = k ^ alpha
 *
 * and only the recipe can include the episode's advantage (ddof 1) as k = 0.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/episode.h"
#include "estimators/estimator.h"
#include "estimators/identity.h"
#include "estimators/returns.h"

enum
{
	P_GAMMA, P_HISTORY_LENGTH, P_ALPHA, P_NORMALISE, P_EPSILON, P_BASE_GROUP, P_WEIGHTING, P_CONVENTION
};

static const Parameter hgpo_parameters[] = {
	GAMMA_PARAMETER,
	INTEGER_PARAMETER("history_length", 0, 1000),
	NUMBER_PARAMETER("alpha", -INFINITY, INFINITY),
	CHOICE_PARAMETER("normalise", "std", "mean"),
	EPSILON_PARAMETER,
	FLAG_PARAMETER("base_group"),
	WEIGHTING_PARAMETER,
	CHOICE_PARAMETER("convention", "recipe", "original")
};

#define CONVENTION_RECIPE 0

static const EstimateColumnType hgpo_columns[] = {
	{"return", COLUMN_FLOAT8},
	{"n_state", COLUMN_INT4},
	{"n_levels", COLUMN_INT4},
	{"advantage", COLUMN_FLOAT8}
};

/* Weighted sums over the levels so far. */
typedef struct WeightedLevels
{
	double	   *sum;			/* of w_k a_k, by step */
	double	   *weight;			/* of w_k */
	int32	   *n_levels;		/* levels that were added */
} WeightedLevels;

static void
add_level(const GroupColumns *group, const Identities *level, const double *advantage, double weight,
		  WeightedLevels *levels)
{
	for (uint32 i = 0; i < group->n_steps; i++)
		if (level->of_step[i] != NO_IDENTITY && advantage[i] != 0)
		{
			levels->sum[i] += weight * advantage[i];
			levels->weight[i] += weight;
			levels->n_levels[i]++;
		}
	CHECK_FOR_INTERRUPTS();
}

/*
 * Leave out steps whose history no other step shares: longer ones are not shared either.  False if no step is
 * left.
 */
static bool
keep_shared(const GroupColumns *group, Identities *level)
{
	uint32	   *count = count_visits(group, level, NULL);
	bool		any = false;

	for (uint32 i = 0; i < group->n_steps; i++)
		if (level->of_step[i] != NO_IDENTITY)
		{
			if (count[level->of_step[i]] > 1)
				any = true;
			else
				level->of_step[i] = NO_IDENTITY;
		}
	pfree(count);
	return any;
}

static void
free_identities(Identities *identities)
{
	pfree(identities->of_step);
	pfree(identities->first_step);
}

/* The base group, k = 0: the episode's advantage for every step. */
static void
add_base_group(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *parameters,
			   const Identities *states, double *advantage, WeightedLevels *levels)
{
	NormaliseOptions options = {
		parameters[P_NORMALISE].choice, parameters[P_EPSILON].number, SINGLETON_ZERO
	};

	if (parameters[P_CONVENTION].choice != CONVENTION_RECIPE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("convention \"original\" has no base group"),
				 errhint("Use convention => 'recipe', or base_group => false.")));
	episode_advantages(group, facts, parameters[P_WEIGHTING].choice == WEIGHTING_STEP, &options, advantage, NULL);
	add_level(group, states, advantage, 1, levels);
}

static void
add_history_groups(const GroupColumns *group, const ParameterValue *parameters, const Identities *states,
				   const double *returns, double *advantage, WeightedLevels *levels)
{
	NormaliseOptions options = {
		parameters[P_NORMALISE].choice == NORMALISE_STD ? NORMALISE_POPULATION : NORMALISE_MEAN,
		parameters[P_EPSILON].number, SINGLETON_ZERO
	};
	int			most = (int) parameters[P_HISTORY_LENGTH].number + 1;
	Identities	level = *states;

	level.of_step = ALLOCATE_ARRAY(int32, group->n_steps);
	memcpy(level.of_step, states->of_step, group->n_steps * sizeof(int32));
	level.first_step = ALLOCATE_ARRAY(uint32, 1);
	for (int k = 1; keep_shared(group, &level); k++)
	{
		Identities	longer;

		normalise(returns, NULL, level.of_step, group->n_steps, level.n, &options, advantage, NULL);
		add_level(group, &level, advantage,
				  pow(parameters[P_CONVENTION].choice == CONVENTION_RECIPE ? k + 1 : k, parameters[P_ALPHA].number),
				  levels);
		if (k == most)
			break;
		number_extensions(group, &level, states, &longer);
		free_identities(&level);
		level = longer;
	}
	free_identities(&level);
}

static void
hgpo_estimate(const GroupColumns *group, const RolloutFacts *facts,
			  const ParameterValue *parameters, EstimateColumn *columns)
{
	double	   *returns = columns[0].number;
	double	   *advantage = columns[3].number;
	double		epsilon = parameters[P_CONVENTION].choice == CONVENTION_RECIPE ? parameters[P_EPSILON].number : 0;
	WeightedLevels levels = {
		ALLOCATE_ZEROED_ARRAY(double, group->n_steps),
		ALLOCATE_ZEROED_ARRAY(double, group->n_steps),
		columns[2].count
	};
	Identities	states;
	uint32	   *visits;

	memset(levels.n_levels, 0, group->n_steps * sizeof(int32));
	discounted_returns(group, parameters[P_GAMMA].number, returns);
	number_states(group, facts, &states);
	visits = count_visits(group, &states, NULL);
	if (parameters[P_BASE_GROUP].flag)
		add_base_group(group, facts, parameters, &states, advantage, &levels);
	add_history_groups(group, parameters, &states, returns, advantage, &levels);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		if (states.of_step[i] == NO_IDENTITY)
			continue;
		columns[1].count[i] = visits[states.of_step[i]];
		advantage[i] = levels.n_levels[i] == 0 ? 0 : levels.sum[i] / (levels.weight[i] + epsilon);
	}
}

STEPADV_ESTIMATOR(hgpo, hgpo_parameters, hgpo_columns, hgpo_estimate)
