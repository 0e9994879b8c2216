/*
 * q_error.c
 *		q_error and confidence: errors of Q and A that hold for few visits too.
 *
 * The standard error of a mean of two or three outcomes that happened to be alike is 0, and
 * of one there is none.  So the variance of a pair's targets is drawn to that of its state's,
 * and that to the group's, as with a scaled inverse chi-square prior of so many visits
 * (Gelman et al., Bayesian Data Analysis, 3rd edition, section 2.6):
 *
 *	group	= (SS of all pairs + k0 * outcomes) / (sum of (n - 1) over all pairs + k0)
 *	state	= (k1 * group + SS of its pairs) / (k1 + sum of (n - 1) over its pairs)
 *	pair	= (k2 * state + SS of the pair) / (k2 + n - 1)
 *
 * where SS are sums of squared deviations from q, n visits, and `outcomes` the variance of
 * the rollouts' returns with half a rollout added at the least and half at the most return
 * that there was or could be, 0 among them: for returns of 0 and 1 that is the Beta(1/2, 1/2)
 * prior of Jeffreys, by which eight failures in eight are not certain to fail the ninth time.
 * With monte_carlo_errors
 *
 *	q_error	= t * sqrt(pair / (n + 1/4)),	t = 1 + 1.2 / rollouts
 *
 * t is the quotient of the .975 quantiles of Student's distribution and the normal one, to
 * first order (1 + (z^2 + 1) / 4 df): all variances come from so many rollouts.  The quarter of a
 * visit is for returns that lie between bounds: of one outcome of 0 or 1 the error
 * is less often large than the standard deviation says.  Where all returns
 * are 0 nothing shows how much they vary, and q_error is what n failures leave open: with m and s
 * the mean and standard deviation of Beta(1/2, n + 1/2), sqrt(s^2 + m^2).
 *
 * The confidence is that of A = Q(s,a) - V(s), in which Q(s,a) itself has a share:
 *
 *	variance	= (1 - N(s,a) / N')^2 * var Q(s,a) + sum over other actions b of (N(s,b) / N')^2 * var Q(s,b)
 *	confidence	= Phi(|A| / sqrt(variance)),	N' = N(s) + prior, var Q = pair / n
 *
 * and 0.5 where A is 0.  How far later values are wrong is not in it: they are common to both.
 * Constants were chosen on the decision problems of `make credit`, which also says how well they do.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/q_error.h"
#include "sum.h"

const Pooling interval_pooling = {8, 16, 16};
const Pooling sign_pooling = {2, 4, 4};

#define FEW_ROLLOUTS 1.2
#define BOUNDED_VISITS 0.25

void
measure_outcomes(const GroupColumns *group, const Identities *states, const double *weight, const double *returns,
				 Outcomes *outcomes)
{
	double		least = 0;
	double		most = 0;
	double		all = 0;
	double		squares = 0;
	double		mean;
	Sum			sum = {0};
	Sum			deviations = {0};

	for (uint32 i = 0; i < group->n_steps; i++)
		if (states->of_step[i] != NO_IDENTITY)
		{
			least = Min(least, returns[i]);
			most = Max(most, returns[i]);
		}
	outcomes->alike = !(most > least);
	outcomes->unit = outcomes->alike ? 1 : most - least;
	CHECK_FOR_INTERRUPTS();
	/* The first step of a rollout is a visit in any case. */
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		first = group->first_step[r];

		if (first == group->first_step[r + 1] || states->of_step[first] == NO_IDENTITY)
			continue;
		all += weight[first];
		squares += weight[first] * weight[first];
		sum_add(&sum, weight[first] * ((returns[first] - least) / outcomes->unit));
	}
	mean = (sum_value(&sum) + 0.5) / (all + 1);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		first = group->first_step[r];
		double		deviation;

		if (first == group->first_step[r + 1] || states->of_step[first] == NO_IDENTITY)
			continue;
		deviation = (returns[first] - least) / outcomes->unit - mean;
		sum_add(&deviations, weight[first] * deviation * deviation);
	}
	outcomes->variance = (sum_value(&deviations) + (mean * mean + (1 - mean) * (1 - mean)) / 2) / (all + 1);
	outcomes->rollouts = all > 0 ? all * all / squares : 1;
}

double
error_of_failures(double n)
{
	double		m = 0.5 / (n + 1);

	return sqrt(m * (1 - m) / (n + 2) + m * m);
}

PairSpread *
measure_spreads(const GroupColumns *group, const double *weight, const double *target, double unit,
				const RtmcTable *table)
{
	uint32		n_pairs = table->pairs.n;
	const int32 *pair_of = table->pairs.of_step;
	PairSpread *spread = ALLOCATE_ARRAY(PairSpread, n_pairs);
	Sum		   *squares = ALLOCATE_ZEROED_ARRAY(Sum, n_pairs);
	double	   *weights = ALLOCATE_ZEROED_ARRAY(double, n_pairs);	/* squared */

	for (uint32 i = 0; i < group->n_steps; i++)
		if (weight[i] > 0)
		{
			double		deviation = (target[i] - table->pair_q[pair_of[i]]) / unit;

			sum_add(&squares[pair_of[i]], weight[i] * deviation * deviation);
			weights[pair_of[i]] += weight[i] * weight[i];
		}
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < n_pairs; p++)
	{
		double		all = table->pair_weight[p];

		/* Rounding must not make it less than one. */
		spread[p].visits = Max(all * all / weights[p], 1);
		spread[p].squares = sum_value(&squares[p]) / all * spread[p].visits;
	}
	pfree(squares);
	pfree(weights);
	return spread;
}

static inline int32
state_of_pair(const RtmcTable *table, uint32 pair)
{
	return table->states.of_step[table->pairs.first_step[pair]];
}

double *
pool_variances(const RtmcTable *table, const PairSpread *spread, double outcome_variance, const Pooling *pooling)
{
	double	   *variance = ALLOCATE_ARRAY(double, table->pairs.n);
	Sum		   *squares = ALLOCATE_ZEROED_ARRAY(Sum, table->states.n);
	double	   *freedom = ALLOCATE_ZEROED_ARRAY(double, table->states.n);
	Sum			all_squares = {0};
	double		all_freedom = 0;
	double		of_group;

	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		int32		state = state_of_pair(table, p);

		sum_add(&squares[state], spread[p].squares);
		freedom[state] += spread[p].visits - 1;
		sum_add(&all_squares, spread[p].squares);
		all_freedom += spread[p].visits - 1;
	}
	CHECK_FOR_INTERRUPTS();
	of_group = (sum_value(&all_squares) + pooling->outcomes * outcome_variance) / (all_freedom + pooling->outcomes);
	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		int32		state = state_of_pair(table, p);
		double		of_state = (pooling->group * of_group + sum_value(&squares[state])) / (pooling->group + freedom[state]);

		variance[p] = (pooling->state * of_state + spread[p].squares) / (pooling->state + spread[p].visits - 1);
	}
	pfree(squares);
	pfree(freedom);
	return variance;
}

void
measure_confidence(const PairSpread *spread, const double *variance, double unit, double prior, RtmcTable *table)
{
	uint32		n_states = table->states.n;
	double	   *weight = ALLOCATE_ZEROED_ARRAY(double, n_states);
	Sum		   *shares = ALLOCATE_ZEROED_ARRAY(Sum, n_states); /* of V's variance */

	table->pair_confidence = ALLOCATE_ARRAY(double, table->pairs.n);
	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		int32		state = state_of_pair(table, p);
		double		n = table->pair_weight[p];

		weight[state] += n;
		sum_add(&shares[state], n * n * variance[p] / spread[p].visits);
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		int32		state = state_of_pair(table, p);
		double		n = table->pair_weight[p];
		double		all = weight[state] + prior;
		double		of_q = variance[p] / spread[p].visits;
		double		others = sum_value(&shares[state]) - n * n * of_q;
		double		of_a = ((all - n) * (all - n) * of_q + Max(others, 0)) / all / all;
		double		a = fabs(table->pair_q[p] - table->state_v[state]) / unit;

		table->pair_confidence[p] = table->pair_advantage[p] == 0 ? 0.5 : 0.5 * erfc(-a / sqrt(2 * of_a));
	}
	pfree(weight);
	pfree(shares);
}

void
monte_carlo_errors(const GroupColumns *group, const double *weight, double prior, RtmcTable *table)
{
	Outcomes	outcomes;
	PairSpread *spread;
	double	   *variance;
	double		t;

	measure_outcomes(group, &table->states, weight, table->returns, &outcomes);
	spread = measure_spreads(group, weight, table->returns, outcomes.unit, table);
	variance = pool_variances(table, spread, outcomes.variance, &interval_pooling);
	t = 1 + FEW_ROLLOUTS / outcomes.rollouts;
	table->pair_error = ALLOCATE_ARRAY(double, table->pairs.n);
	for (uint32 p = 0; p < table->pairs.n; p++)
		table->pair_error[p] = outcomes.alike ? error_of_failures(spread[p].visits) :
			error_in_range(outcomes.unit * t * sqrt(variance[p] / (spread[p].visits + BOUNDED_VISITS)));
	pfree(variance);
	variance = pool_variances(table, spread, outcomes.variance, &sign_pooling);
	measure_confidence(spread, variance, outcomes.unit, prior, table);
	pfree(variance);
	pfree(spread);
}
