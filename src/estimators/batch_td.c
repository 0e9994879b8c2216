/*
 * batch_td.c
 *		batch_td: the certainty-equivalence estimate from the group's own record.
 *
 * Each step of a judged rollout leads from its state to that of the next step, and the last one to the end, with
 * the outcome.  Batch TD(lambda), repeated over these steps until it converges, gives
 *
 *	V(s)	= mean of the targets of the visits of s, and of `prior` more visits with the prior's mean
 *	Q(s,a)	= mean of the targets of the visits of (s,a)
 *	A		= Q(s,a) - V(s)
 *
 * where a target is r_t + gamma V(s_(t+1)) for lambda 0, the return for lambda 1 (every-visit Monte Carlo), and in
 * general the lambda-return.  It is computed by solving the equations, not by iteration.  A truncated rollout can
 * count as ended, or lead on to the state in which it was truncated.  (Sutton 1988; Sutton and Barto, 2nd edition,
 * section 6.3; for lambda above 0 it is LSTD(lambda), Boyan 1999.)
 *
 * In a group with coarse states, the value of a state is backed by k visits of its coarse state, as histories are
 * in history_td: levels.h, values/backed.h.
 *
 * With weights 'policy', a state's value is not the mean over its visits but over its actions, weighted by the
 * policy's probabilities of those that were tried:
 *
 *	pi(a|s)	= mean of exp(logp) over the visits of (s,a), divided by its sum over the actions tried in s
 *	V(s)	= (N(s) sum_a pi(a|s) Q(s,a) + prior * prior's mean) / (N(s) + prior)
 *
 * which is the mean over visits where each weighs pi(a|s) N(s) / N(s,a).
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/batch_td.h"
#include "estimators/estimator.h"
#include "estimators/own_steps.h"
#include "estimators/q_error.h"
#include "estimators/returns.h"
#include "estimators/rtmc.h"
#include "estimators/values/bellman.h"
#include "estimators/values/neighbours.h"
#include "estimators/values/policy_weights.h"

/* Further parameters, after those of the table. */
enum
{
	NORMALISE = N_BATCH_TD_PARAMETERS
};

/* How a truncated rollout is treated, in the order of the parameter's choices. */
enum
{
	TRUNCATED_FAIL, TRUNCATED_BOOTSTRAP
};

static const Parameter batch_td_parameters[] = {
	BATCH_TD_PARAMETERS,
	NORMALISE_PARAMETER,
	HISTORY_PARAMETERS
};
static const EstimateColumnType batch_td_columns[] = {RTMC_COLUMNS};

/* In the order of the choices of the parameter weights. */
enum
{
	WEIGHTS_VISITS, WEIGHTS_POLICY
};

/* By step: the state in which its rollout was truncated. */
static int32 *
cuts_by_step(const GroupColumns *group, const int32 *cut)
{
	int32	   *next = ALLOCATE_ARRAY(int32, group->n_steps);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
			next[i] = cut[r];
	return next;
}

/* By state: can an end be reached from it?  Searches backwards from the ends, each edge once. */
static bool *
find_ending_states(const GroupColumns *group, const Identities *states, const int32 *next)
{
	bool	   *ends = ALLOCATE_ZEROED_ARRAY(bool, states->n);
	int32	   *pending = ALLOCATE_ARRAY(int32, states->n);
	uint32		n_pending = 0;
	Adjacency	before;

	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		state = states->of_step[i];

		if (state == NO_IDENTITY || next[i] != NO_IDENTITY || ends[state])
			continue;
		ends[state] = true;
		pending[n_pending++] = state;
	}
	find_neighbours(group, states->n, next, states->of_step, NULL, &before);
	for (uint32 n = 1; n_pending > 0; n++)
	{
		int32		state = pending[--n_pending];

		for (uint32 e = before.first[state]; e < before.first[state + 1]; e++)
		{
			if (ends[before.neighbour[e]])
				continue;
			ends[before.neighbour[e]] = true;
			pending[n_pending++] = before.neighbour[e];
		}
		if (n % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	free_neighbours(&before);
	pfree(pending);
	return ends;
}

/*
 * Given cuts as found by number_states_and_cuts, turn those into ends that lead to states from which no end
 * can be reached along any rollout: without discount, the values of such states are undetermined. by_return:
 * each step leads to where its rollout was truncated, not to the state of the next step.
 */
static void
drop_endless_cuts(const GroupColumns *group, const Identities *states, bool by_return, int32 *cut)
{
	int32	   *next = by_return ? cuts_by_step(group, cut) : find_next_states(group, states, cut);
	bool	   *ends = find_ending_states(group, states, next);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (cut[r] != NO_IDENTITY && !ends[cut[r]])
			cut[r] = NO_IDENTITY;
	pfree(next);
	pfree(ends);
}

/* Number the states, and find where each step leads. */
static const int32 *
find_transitions(const GroupColumns *group, const RolloutFacts *facts, const BellmanOptions *options,
				 bool bootstrap, Identities *states)
{
	int32	   *cut = NULL;

	if (bootstrap && group->truncated != NULL)
		cut = number_states_and_cuts(group, facts, states);
	else
		number_states(group, facts, states);
	if (cut != NULL && options->gamma == 1 && options->prior == 0)
		drop_endless_cuts(group, states, options->lambda == 1, cut);
	return find_next_states(group, states, cut);
}

static void
refuse_beside_levels(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s cannot be combined with coarse states", what),
			 errhint("Use k => 0 to ignore the coarse states of the group.")));
}

/* For a group with coarse states.  The returns and the options, with the prior, are set. */
static void
build_levels(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *parameters,
			 BellmanOptions *options, bool with_errors, RtmcTable *table)
{
	FineAnswers *answers = palloc0(sizeof(FineAnswers));
	Identities	fine;
	StateLevels levels = {&table->states, &fine, parameters[BATCH_TD_K].number, true};
	LevelVisits visits;
	SignVariance sign;
	double	   *weight;
	double	   *target;

	if (options->lambda > 0)
		refuse_beside_levels("lambda above 0");
	if (parameters[BATCH_TD_TRUNCATED].choice == TRUNCATED_BOOTSTRAP)
		refuse_beside_levels("truncated => 'bootstrap'");
	if (parameters[BATCH_TD_WEIGHTS].choice == WEIGHTS_POLICY)
		refuse_beside_levels("weights => 'policy'");
	number_levels(group, facts, &table->states, &fine);
	number_pairs(group, &table->states, &table->pairs);
	number_pairs(group, &fine, &answers->pairs);
	weight = weigh_visits(group, facts, &table->states, VISIT_EVERY);
	options->weight = facts->weight ? weight : NULL;
	target = backed_targets(group, &levels, find_next_states(group, &fine, NULL), options);
	rtmc_table_measure(group, target, weight, options->prior, options->prior_mean, table);
	levels_measure(group, &levels, target, weight, table, answers, &visits);
	flatten_ties(answers->advantage, answers->pairs.n,
				 target_scale(group, target, options->prior, options->prior_mean, table));
	if (!with_errors)
		return;
	bellman_errors(group, weight, target, find_next_states(group, &table->states, NULL), options, table, &sign);
	levels_errors(&levels, group->first_step[facts->n_own], &visits, &sign, options->prior, table, answers);
}

void
batch_td_table_build(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *parameters,
					 bool with_errors, RtmcTable *table)
{
	BellmanOptions options = {
		parameters[BATCH_TD_GAMMA].number, parameters[BATCH_TD_LAMBDA].number, parameters[BATCH_TD_PRIOR].number
	};
	const int32 *next;
	double	   *weight;
	double	   *target;

	table->fine = NULL;
	table->returns = ALLOCATE_ARRAY(double, group->n_steps);
	discounted_returns(group, options.gamma, table->returns);
	options.prior_mean = find_prior_mean(group, facts, &parameters[BATCH_TD_BASELINE], &parameters[BATCH_TD_PRIOR_MEAN],
										 &parameters[BATCH_TD_SUCCESS_ABOVE], table->returns);
	if (has_levels(group, &parameters[BATCH_TD_K]))
	{
		build_levels(group, facts, parameters, &options, with_errors, table);
		return;
	}
	next = find_transitions(group, facts, &options,
							parameters[BATCH_TD_TRUNCATED].choice == TRUNCATED_BOOTSTRAP, &table->states);
	number_pairs(group, &table->states, &table->pairs);
	weight = weigh_visits(group, facts, &table->states, VISIT_EVERY);
	if (parameters[BATCH_TD_WEIGHTS].choice == WEIGHTS_POLICY)
		weigh_by_policy(group, &table->states, &table->pairs, weight);
	options.weight = facts->weight || parameters[BATCH_TD_WEIGHTS].choice == WEIGHTS_POLICY ? weight : NULL;
	target = bellman_targets(group, &table->states, next, &options);
	rtmc_table_measure(group, target, weight, options.prior, options.prior_mean, table);
	flatten_ties(table->pair_advantage, table->pairs.n,
				 target_scale(group, target, options.prior, options.prior_mean, table));
	if (with_errors)
		bellman_errors(group, weight, target, next, &options, table, NULL);
}

static void
batch_td_estimate(const GroupColumns *group, const RolloutFacts *facts,
				  const ParameterValue *parameters, EstimateColumn *columns)
{
	RtmcTable	table;

	batch_td_table_build(group, facts, parameters, errors_are_asked(columns), &table);
	rtmc_table_columns(group, &table, columns);
	normalise_own_steps(group, facts, parameters[NORMALISE].choice, USUAL_EPSILON, columns[ADVANTAGE_COLUMN].number);
}

STEPADV_ESTIMATOR(batch_td, batch_td_parameters, batch_td_columns, batch_td_estimate)
