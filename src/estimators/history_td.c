/*
 * history_td.c
 *		history_td: batch TD over histories, backed by states.
 *
 * A step has two states: the coarse one x is its state; the fine one y, its history, adds the set of distinct pairs
 * of state and action earlier in its rollout, in any order.  With targets r + gamma V(next y), and r at the last
 * step, over all visits in judged rollouts:
 *
 *	V(x)	= mean of the targets of x, and of `prior` more visits with the mean return of first steps
 *	V(y)	= mean of the targets of y, and of k more visits with V(x)
 *
 * The set has actions whose effect the next observation does not show, such as taking a key, so that their value is
 * not lost.  If no two rollouts did the same, this is TD(lambda) over the states with lambda = 1 / (1 + k).  If k
 * is given, advantages are also backed by k visits of the state:
 *
 *	A(x,a)	= mean of the targets of (x,a) - V(x)
 *	A		= (N(y,a) (mean of the targets of (y,a) - V(y)) + k A(x,a)) / (N(y,a) + k)
 *
 * This distributes what the state does not show over all its visits, and ten steps before an outcome its effect has
 * vanished.  Agents learn fastest (make learn) from another combination of the same values, with k = .15.  The
 * targets T are corrected by a share of what the rollout received beyond its target h = 5 steps later, and the mean
 * over the visits of (x,a), which is noisy with single histories, by a share w of B(x,a), from batch TD over states:
 *
 *	T'_t	= T_t + .2 gamma^h (G_(t+h) - T_(t+h))
 *	A		= mean of the targets of (y,a) - V(x) + w (B(x,a) - A(x,a))
 *
 * with q = V(x) + A and v = V(x).  Errors are those for w = 0.  A NULL state is a state of its own; a NULL action is
 * an action of its own, which is not in the set.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/estimator.h"
#include "estimators/levels.h"
#include "estimators/own_steps.h"
#include "estimators/returns.h"

enum
{
	GAMMA, K, PRIOR, NORMALISE
};

static const Parameter history_td_parameters[] = {
	GAMMA_PARAMETER,
	NULLABLE_NUMBER_PARAMETER("k", 0, INFINITY),
	NUMBER_PARAMETER("prior", 0, INFINITY),
	NORMALISE_PARAMETER,
	HISTORY_PARAMETERS
};
static const EstimateColumnType history_td_columns[] = {RTMC_COLUMNS};

/* If k is not given. */
#define DEFAULT_K 0.15
#define RETURN_SHARE 0.2
/* The number of steps after which TD alone no longer propagates an outcome. */
#define STEPS_IN_SIGHT 5
#define BELIEF 0.4

/* Correct the targets by a share of what each rollout received beyond its target some steps later. */
static void
add_returns(const GroupColumns *group, const Identities *states, const double *returns, double gamma, double *target)
{
	double		factor = RETURN_SHARE * pow(gamma, STEPS_IN_SIGHT);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		CHECK_ONCE_IN_A_WHILE(r);
		/* In ascending order, so that corrections use uncorrected targets. */
		for (uint32 i = group->first_step[r]; i + STEPS_IN_SIGHT < group->first_step[r + 1]; i++)
			if (states->of_step[i] != NO_IDENTITY)
				target[i] += factor * (returns[i + STEPS_IN_SIGHT] - target[i + STEPS_IN_SIGHT]);
	}
}

/* Move the mean advantage of each action in a state towards that of batch TD over states. */
static void
believe_states(const GroupColumns *group, const double *weight, const BellmanOptions *options, const RtmcTable *table,
			   FineAnswers *answers)
{
	RtmcTable	believed = *table;
	const int32 *next = find_next_states(group, &table->states, NULL);

	rtmc_table_measure(group, bellman_targets(group, &table->states, next, options), weight, options->prior,
					   options->prior_mean, &believed);
	for (uint32 p = 0; p < answers->pairs.n; p++)
	{
		int32		pair = table->pairs.of_step[answers->pairs.first_step[p]];
		double		moved = BELIEF * (believed.pair_advantage[pair] - table->pair_advantage[pair]);

		CHECK_ONCE_IN_A_WHILE(p);
		answers->advantage[p] += moved;
		answers->q[p] += moved;
	}
}

static void
history_td_estimate(const GroupColumns *group, const RolloutFacts *facts,
					const ParameterValue *parameters, EstimateColumn *columns)
{
	BellmanOptions options = {parameters[GAMMA].number, 0, parameters[PRIOR].number};
	const ParameterValue *k = &parameters[K];
	RtmcTable	table = {NULL};
	FineAnswers answers = {{0}};
	Identities	fine;
	StateLevels levels = {&table.states, &fine, k->isnull ? DEFAULT_K : k->number, !k->isnull};
	LevelVisits visits;
	double	   *weight;
	double	   *target;

	table.returns = ALLOCATE_ARRAY(double, group->n_steps);
	discounted_returns(group, options.gamma, table.returns);
	options.prior_mean = start_value(group, facts, table.returns);
	number_states(group, facts, &table.states);
	number_pairs(group, &table.states, &table.pairs);
	number_histories(group, &table.states, &table.pairs, &fine);
	number_pairs(group, &fine, &answers.pairs);
	weight = weigh_visits(group, facts, &table.states, VISIT_EVERY);
	options.weight = facts->weight ? weight : NULL;
	target = backed_targets(group, &levels, find_next_states(group, &fine, NULL), &options);
	if (k->isnull)
		add_returns(group, &table.states, table.returns, options.gamma, target);
	rtmc_table_measure(group, target, weight, options.prior, options.prior_mean, &table);
	levels_measure(group, &levels, target, weight, &table, &answers, &visits);
	if (k->isnull)
		believe_states(group, weight, &options, &table, &answers);
	flatten_ties(answers.advantage, answers.pairs.n,
				 target_scale(group, target, options.prior, options.prior_mean, &table));
	if (errors_are_asked(columns))
	{
		SignVariance sign;

		bellman_errors(group, weight, target, find_next_states(group, &table.states, NULL), &options, &table, &sign);
		levels_errors(&levels, group->first_step[facts->n_own], &visits, &sign, options.prior, &table, &answers);
	}
	rtmc_table_columns(group, &table, columns);
	normalise_own_steps(group, facts, parameters[NORMALISE].choice, USUAL_EPSILON, columns[ADVANTAGE_COLUMN].number);
}

STEPADV_ESTIMATOR(history_td, history_td_parameters, history_td_columns, history_td_estimate)
