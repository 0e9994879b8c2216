/*
 * gigpo.c
 *		gigpo: group-in-group policy optimization.
 *
 *	E_i	= (R_i - mean R) / (sd R + epsilon) over the judged rollouts
 *	S_t	= (G_t - mean G) / (sd G + epsilon) over the group's steps in the state
 *		  of step t, G the discounted return; 0 for a state with one visit
 *	A	= E_i + step_weight * S_t
 *
 * A single rollout has E = 0 or, with singleton 'raw', R / (1 + epsilon), as with mean 0 and sd 1 (verl's code).
 *
 * With visit 'first', only a rollout's first step in a state enters the statistics of that state.  Later ones are
 * normalized with these statistics.
 */
#include "postgres.h"

#include "arrays.h"
#include "estimators/episode.h"
#include "estimators/estimator.h"
#include "estimators/identity.h"
#include "estimators/returns.h"

enum
{
	P_GAMMA, P_STEP_WEIGHT, P_NORMALISE, P_EPSILON, P_WEIGHTING, P_VISIT, P_SINGLETON
};

static const Parameter gigpo_parameters[] = {
	GAMMA_PARAMETER,
	NUMBER_PARAMETER("step_weight", -INFINITY, INFINITY),
	NORMALISE_PARAMETER,
	EPSILON_PARAMETER,
	WEIGHTING_PARAMETER,
	VISIT_PARAMETER,
	SINGLETON_PARAMETER
};

static const EstimateColumnType gigpo_columns[] = {
	{"return", COLUMN_FLOAT8},
	{"n_state", COLUMN_INT4},
	{"episode_advantage", COLUMN_FLOAT8},
	{"step_advantage", COLUMN_FLOAT8},
	{"advantage", COLUMN_FLOAT8}
};

static void
gigpo_estimate(const GroupColumns *group, const RolloutFacts *facts,
			   const ParameterValue *parameters, EstimateColumn *columns)
{
	NormaliseOptions options = {parameters[P_NORMALISE].choice, parameters[P_EPSILON].number, SINGLETON_ZERO};
	NormaliseOptions episode_options = {options.normalisation, options.epsilon, parameters[P_SINGLETON].choice};
	double		step_weight = parameters[P_STEP_WEIGHT].number;
	double	   *returns = columns[0].number;
	int32	   *n_state = columns[1].count;
	double	   *episode = columns[2].number;
	double	   *step = columns[3].number;
	double	   *advantage = columns[4].number;
	Identities	states;
	uint32	   *visit;
	uint32	   *visits;

	discounted_returns(group, parameters[P_GAMMA].number, returns);
	number_states(group, facts, &states);
	visit = find_visits(group, &states, parameters[P_VISIT].choice);
	visits = count_visits(group, &states, visit);
	normalise(returns, visit, states.of_step, group->n_steps, states.n, &options, step, NULL);
	episode_advantages(group, facts, parameters[P_WEIGHTING].choice == WEIGHTING_STEP, &episode_options, episode, NULL);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (states.of_step[i] == NO_IDENTITY)
			continue;
		n_state[i] = visits[states.of_step[i]];
		/* Also without normalization: a single step cannot be compared. */
		if (n_state[i] == 1)
			step[i] = 0;
		advantage[i] = episode[i] + step_weight * step[i];
	}
}

STEPADV_ESTIMATOR(gigpo, gigpo_parameters, gigpo_columns, gigpo_estimate)
