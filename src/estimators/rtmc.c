/*
 * rtmc.c
 *		rtmc: rollout-tree Monte Carlo.
 *
 * G_t is the discounted return of a step; over all judged rollouts of the group
 *
 *	Q(s,a)	= mean of G over the visits of (s,a), N(s,a) of them
 *	V(s)	= sum_a N(s,a) Q(s,a) / N(s),  N(s) = sum_a N(s,a)
 *	V'(s)	= (N(s) V(s) + prior * p) / (N(s) + prior)
 *	A		= Q(s,a) - V'(s)
 *
 * where p is what `prior_mean` says, the group's success rate or the mean return
 * of its rollouts' first steps, or `baseline`.  With visit 'first' a
 * rollout's later occurrences of the same (s,a) do not enter the table, but
 * receive its advantage.  The standard error of Q is sd(G) / sqrt(N), ddof 1.
 * (RTMC, section 4 and equation 11.)
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimator.h"
#include "estimators/normalise.h"
#include "estimators/returns.h"
#include "estimators/rtmc.h"
#include "estimators/shrink.h"
#include "sum.h"

static double
success_rate(const GroupColumns *group, const RolloutFacts *facts, double success_above)
{
	uint32		successes = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (facts->judged[r] && rollout_succeeded(group, facts, r, success_above))
			successes++;
	return facts->n_judged > 0 ? (double) successes / facts->n_judged : 0;
}

/*
 * The mean return of the judged rollouts from where they began: unlike a success
 * rate it is discounted and rewarded as the returns are that it is mixed with.
 */
static double
start_value(const GroupColumns *group, const RolloutFacts *facts, const double *returns)
{
	Sum			sum = {0};
	uint32		n = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (facts->judged[r] && group->n_rollout_steps[r] > 0)
		{
			sum_add(&sum, returns[group->first_step[r]]);
			n++;
		}
	return n > 0 ? sum_value(&sum) / n : 0;
}

double
find_prior_mean(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *baseline,
				const ParameterValue *prior_mean, const ParameterValue *success_above, const double *returns)
{
	if (!baseline->isnull)
		return baseline->number;
	if (prior_mean->choice == PRIOR_MEAN_START_VALUE)
		return start_value(group, facts, returns);
	return success_rate(group, facts, success_above->number);
}

/* N, Q and the standard error of Q for every pair, in two passes. */
static void
measure_pairs(const GroupColumns *group, const uint32 *visit, const double *target, RtmcTable *table)
{
	uint32		n_pairs = table->pairs.n;
	const int32 *pair_of = table->pairs.of_step;
	Sum		   *sum = ALLOCATE_ZEROED_ARRAY(Sum, n_pairs);

	table->pair_visits = ALLOCATE_ZEROED_ARRAY(uint32, n_pairs);
	table->pair_q = ALLOCATE_ARRAY(double, n_pairs);
	table->pair_stderr = ALLOCATE_ARRAY(double, n_pairs);
	for (uint32 i = 0; i < group->n_steps; i++)
		if (visit[i])
		{
			sum_add(&sum[pair_of[i]], target[i]);
			table->pair_visits[pair_of[i]]++;
		}
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < n_pairs; p++)
	{
		table->pair_q[p] = sum_value(&sum[p]) / table->pair_visits[p];
		sum[p] = (Sum) {0};
	}
	for (uint32 i = 0; i < group->n_steps; i++)
		if (visit[i])
		{
			double		deviation = target[i] - table->pair_q[pair_of[i]];

			sum_add(&sum[pair_of[i]], deviation * deviation);
		}
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < n_pairs; p++)
	{
		double		n = table->pair_visits[p];

		table->pair_stderr[p] = n < 2 ? NAN : sqrt(sum_value(&sum[p]) / (n - 1) / n);
	}
	pfree(sum);
}

static void
measure_states(RtmcTable *table, double prior, double p)
{
	uint32		n_states = table->states.n;
	Sum		   *sum = ALLOCATE_ZEROED_ARRAY(Sum, n_states);

	table->state_visits = ALLOCATE_ZEROED_ARRAY(uint32, n_states);
	table->state_v = ALLOCATE_ARRAY(double, n_states);
	for (uint32 i = 0; i < table->pairs.n; i++)
	{
		int32		state = table->states.of_step[table->pairs.first_step[i]];

		table->state_visits[state] += table->pair_visits[i];
		sum_add(&sum[state], table->pair_visits[i] * table->pair_q[i]);
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 s = 0; s < n_states; s++)
		table->state_v[s] = (sum_value(&sum[s]) + prior * p) / (table->state_visits[s] + prior);
	pfree(sum);
}

/*
 * What normalise divides advantages by: their standard deviation (ddof 0) over
 * the steps of the group, unless it is next to nothing.
 */
static double
advantage_sd(const GroupColumns *group, const Identities *pairs, const double *pair_advantage)
{
	uint32	   *steps = ALLOCATE_ZEROED_ARRAY(uint32, pairs->n);
	SetMoments *all;
	double		sd;

	for (uint32 i = 0; i < group->n_steps; i++)
		if (pairs->of_step[i] != NO_IDENTITY)
			steps[pairs->of_step[i]]++;
	all = measure_sets(pair_advantage, steps, NULL, pairs->n, 1);
	sd = all->count < 2 ? 0 : all->sd * sqrt((all->count - 1.0) / all->count);
	return sd > 1e-8 ? sd : 1;
}

static void
normalise_advantages(const GroupColumns *group, RtmcTable *table)
{
	double		sd = advantage_sd(group, &table->pairs, table->pair_advantage);

	for (uint32 p = 0; p < table->pairs.n; p++)
		table->pair_advantage[p] /= sd;
}

static void
measure_advantages(RtmcTable *table)
{
	const Identities *pairs = &table->pairs;

	table->pair_advantage = ALLOCATE_ARRAY(double, pairs->n);
	for (uint32 p = 0; p < pairs->n; p++)
		table->pair_advantage[p] = table->pair_q[p] -
			table->state_v[table->states.of_step[pairs->first_step[p]]];
}

void
rtmc_table_measure(const GroupColumns *group, const double *target, Visit which, double prior, double prior_mean,
				   RtmcTable *table)
{
	uint32	   *visit = find_visits(group, &table->pairs, which);

	measure_pairs(group, visit, target, table);
	measure_states(table, prior, prior_mean);
	measure_advantages(table);
	pfree(visit);
}

void
rtmc_table_build(const GroupColumns *group, const RolloutFacts *facts,
				 const ParameterValue *parameters, RtmcTable *table)
{
	table->returns = ALLOCATE_ARRAY(double, group->n_steps);
	discounted_returns(group, parameters[RTMC_GAMMA].number, table->returns);
	number_states(group, facts, &table->states);
	number_pairs(group, &table->states, &table->pairs);
	rtmc_table_measure(group, table->returns, parameters[RTMC_VISIT].choice, parameters[RTMC_PRIOR].number,
					   find_prior_mean(group, facts, &parameters[RTMC_BASELINE], &parameters[RTMC_PRIOR_MEAN],
									   &parameters[RTMC_SUCCESS_ABOVE], table->returns), table);
	if (parameters[RTMC_NORMALISE].flag)
		normalise_advantages(group, table);
}

void
rtmc_table_columns(const GroupColumns *group, const RtmcTable *table, EstimateColumn *columns)
{
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		state = table->states.of_step[i];
		int32		pair = table->pairs.of_step[i];

		if (state == NO_IDENTITY)
			continue;
		columns[0].number[i] = table->returns[i];
		columns[1].count[i] = table->state_visits[state];
		columns[2].count[i] = table->pair_visits[pair];
		columns[3].number[i] = table->pair_q[pair];
		columns[4].number[i] = table->state_v[state];
		columns[5].number[i] = table->pair_stderr[pair];
		columns[6].number[i] = table->pair_advantage[pair];
	}
}

static const Parameter rtmc_parameters[] = {RTMC_PARAMETERS, NEWER_CHOICE_PARAMETER("shrink", SHRINK_CHOICES)};
static const EstimateColumnType rtmc_columns[] = {RTMC_COLUMNS};

static void
rtmc_estimate(const GroupColumns *group, const RolloutFacts *facts,
			  const ParameterValue *parameters, EstimateColumn *columns)
{
	RtmcTable	table;

	rtmc_table_build(group, facts, parameters, &table);
	rtmc_table_columns(group, &table, columns);
	if (parameters[N_RTMC_PARAMETERS].choice == SHRINK_CHECK)
		shrink_advantages(group, facts, rtmc_estimate, rtmc_columns, lengthof(rtmc_columns),
						  parameters, lengthof(rtmc_parameters), N_RTMC_PARAMETERS, columns);
}

STEPADV_ESTIMATOR(rtmc, rtmc_parameters, rtmc_columns, rtmc_estimate)
