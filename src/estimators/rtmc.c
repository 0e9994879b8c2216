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

/* What states with few visits are drawn to. */
static double
find_prior_mean(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *parameters,
				const double *returns)
{
	if (!parameters[RTMC_BASELINE].isnull)
		return parameters[RTMC_BASELINE].number;
	if (parameters[RTMC_PRIOR_MEAN].choice == PRIOR_MEAN_START_VALUE)
		return start_value(group, facts, returns);
	return success_rate(group, facts, parameters[RTMC_SUCCESS_ABOVE].number);
}

/* N, Q and the standard error of Q for every pair, in two passes. */
static void
measure_pairs(const GroupColumns *group, const uint32 *visit, RtmcTable *table)
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
			sum_add(&sum[pair_of[i]], table->returns[i]);
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
			double		deviation = table->returns[i] - table->pair_q[pair_of[i]];

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
measure_advantages(const GroupColumns *group, bool normalise, RtmcTable *table)
{
	const Identities *pairs = &table->pairs;

	table->pair_advantage = ALLOCATE_ARRAY(double, pairs->n);
	for (uint32 p = 0; p < pairs->n; p++)
		table->pair_advantage[p] = table->pair_q[p] -
			table->state_v[table->states.of_step[pairs->first_step[p]]];
	if (normalise)
	{
		double		sd = advantage_sd(group, pairs, table->pair_advantage);

		for (uint32 p = 0; p < pairs->n; p++)
			table->pair_advantage[p] /= sd;
	}
}

void
rtmc_table_build(const GroupColumns *group, const RolloutFacts *facts,
				 const ParameterValue *parameters, RtmcTable *table)
{
	uint32	   *visit;

	table->returns = ALLOCATE_ARRAY(double, group->n_steps);
	discounted_returns(group, parameters[RTMC_GAMMA].number, table->returns);
	number_states(group, facts, &table->states);
	number_pairs(group, &table->states, &table->pairs);
	visit = find_visits(group, &table->pairs, parameters[RTMC_VISIT].choice);
	measure_pairs(group, visit, table);
	measure_states(table, parameters[RTMC_PRIOR].number, find_prior_mean(group, facts, parameters, table->returns));
	measure_advantages(group, parameters[RTMC_NORMALISE].flag, table);
	pfree(visit);
}

static const Parameter rtmc_parameters[] = {RTMC_PARAMETERS};
static const EstimateColumnType rtmc_columns[] = {
	{"return", COLUMN_FLOAT8},
	{"n_state", COLUMN_INT4},
	{"n_action", COLUMN_INT4},
	{"q", COLUMN_FLOAT8},
	{"v", COLUMN_FLOAT8},
	{"stderr", COLUMN_FLOAT8},
	{"advantage", COLUMN_FLOAT8}
};

static void
rtmc_estimate(const GroupColumns *group, const RolloutFacts *facts,
			  const ParameterValue *parameters, EstimateColumn *columns)
{
	RtmcTable	table;

	rtmc_table_build(group, facts, parameters, &table);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		state = table.states.of_step[i];
		int32		pair = table.pairs.of_step[i];

		if (state == NO_IDENTITY)
			continue;
		columns[0].number[i] = table.returns[i];
		columns[1].count[i] = table.state_visits[state];
		columns[2].count[i] = table.pair_visits[pair];
		columns[3].number[i] = table.pair_q[pair];
		columns[4].number[i] = table.state_v[state];
		columns[5].number[i] = table.pair_stderr[pair];
		columns[6].number[i] = table.pair_advantage[pair];
	}
}

STEPADV_ESTIMATOR(rtmc, rtmc_parameters, rtmc_columns, rtmc_estimate)
