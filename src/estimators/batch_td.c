/*
 * batch_td.c
 *		batch_td: the certainty-equivalence estimate of the group's own record.
 *
 * Each step of a judged rollout leads from its state to that of the next step, the
 * last one to the end with all that the rollout still gets.  Batch TD(lambda),
 * repeated over these steps until nothing changes, gives
 *
 *	V(s)	= mean of the targets of the visits of s, and of `prior` more of the prior's mean
 *	Q(s,a)	= mean of the targets of the visits of (s,a)
 *	A		= Q(s,a) - V(s)
 *
 * where a target is r_t + gamma V(s_(t+1)) for lambda 0, the return for lambda 1 (every-visit
 * Monte Carlo), and in general the lambda-return; it is found by solving the equations, not by
 * repeating.  A rollout that was cut off can count as ended there, or lead on to the
 * state that it was cut off in.  (Sutton 1988; Sutton and Barto, 2nd edition, section 6.3; for lambda
 * above 0 it is LSTD(lambda), Boyan 1999.)
 */
#include "postgres.h"

#include "arrays.h"
#include "estimator.h"
#include "estimators/batch_td.h"
#include "estimators/own_steps.h"
#include "estimators/q_error.h"
#include "estimators/returns.h"
#include "estimators/rtmc.h"
#include "estimators/shrink.h"
#include "estimators/values/bellman.h"
#include "estimators/values/cuts.h"

/* Behind those that make the table. */
enum
{
	NORMALISE = N_BATCH_TD_PARAMETERS, HISTORY, DECAY, SHRINK
};

/* What becomes of a rollout that was cut off, in the order of the parameter's choices. */
enum
{
	TRUNCATED_FAIL, TRUNCATED_BOOTSTRAP
};

static const Parameter batch_td_parameters[] = {
	BATCH_TD_PARAMETERS,
	NORMALISE_PARAMETER,
	HISTORY_PARAMETERS,
	CHOICE_PARAMETER("shrink", SHRINK_CHOICES)
};
static const EstimateColumnType batch_td_columns[] = {RTMC_COLUMNS};

/* Numbers the states, and says where each step leads. */
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
	next = find_transitions(group, facts, &options,
							parameters[BATCH_TD_TRUNCATED].choice == TRUNCATED_BOOTSTRAP, &table->states);
	number_pairs(group, &table->states, &table->pairs);
	weight = weigh_visits(group, facts, &table->states, VISIT_EVERY);
	options.weight = facts->weight ? weight : NULL;
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
	if (parameters[SHRINK].choice == SHRINK_CHECK)
		shrink_advantages(group, facts, batch_td_estimate, batch_td_columns, lengthof(batch_td_columns),
						  parameters, lengthof(batch_td_parameters), SHRINK, columns);
	normalise_own_steps(group, facts, parameters[NORMALISE].choice, columns[ADVANTAGE_COLUMN].number);
}

STEPADV_ESTIMATOR(batch_td, batch_td_parameters, batch_td_columns, batch_td_estimate)
