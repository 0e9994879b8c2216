/*
 * q_error.c
 *		q_error and confidence: errors of Q and A that are valid for few visits too.
 *
 * The standard error of a mean of two or three equal outcomes is 0, and that of one outcome is not defined.  So the
 * variance of a pair's visits is pooled with others, as with scaled inverse chi-square priors of the given numbers
 * of visits (Gelman et al., Bayesian Data Analysis, 3rd edition, section 2.6):
 *
 *	group	= (SS of all pairs + k0 * outcomes) / (sum of (n - 1) over all pairs + k0)
 *	state	= (k1 * group + SS of its pairs) / (k1 + sum of (n - 1) over its pairs)
 *	pair	= (k2 * state + SS of the pair) / (k2 + n - 1)
 *
 * where SS are sums of squared deviations from q, n is the number of visits, and `outcomes` is the variance of the
 * rollouts' returns, with half a rollout added at the least and half at the greatest of the returns and 0.  For
 * returns of 0 and 1 this is Jeffreys' prior Beta(1/2, 1/2): after eight failures of eight, a ninth is not certain.
 *
 * Returns lie between bounds, and vary least near them.  So monte_carlo_errors does not pool variances but their
 * quotients by
 *
 *	f(s,a)	= 2/3 m (1 - m) + 1/3 m0 (1 - m0)
 *
 * as in a quasi-binomial model (McCullagh and Nelder, Generalized Linear Models, 2nd edition, section 4.5).  m0 is
 * the mean of the outcomes, as a fraction of the range of returns.  m is the mean of the pair with one more visit,
 * of its state, to which one visit of the outcomes was added.  Nor is q the posterior mean: that is shrunken towards
 * mean(s), the mean of the state with one visit of the outcomes.  The interval is centered on q, so the error is the
 * second moment around q:
 *
 *	q_error^2	= t^2 * (pair * f / (n + 1) + (c / (n + c) * (q - mean(s)))^2),	t = 1 + 2 / rollouts, c = 9
 *
 * t approximates the quotient of the .975 quantiles of Student's and the normal distribution
 * (1 + (z^2 + 1) / 4 df), since all variances come from that many rollouts.  If all returns are 0, their variance is
 * unknown, and q_error is what n failures leave open: with m and s the mean and standard deviation of
 * Beta(1/2, n + 1/2), sqrt(s^2 + m^2).
 *
 * The confidence is that of A = Q(s,a) - V(s), where V(s) includes Q(s,a):
 *
 *	variance	= (1 - N(s,a) / N')^2 * var Q(s,a) + sum over other actions b of (N(s,b) / N')^2 * var Q(s,b)
 *	confidence	= P(|A| / sqrt(variance)),	N' = N(s) + prior, var Q = pair / n
 *
 * and 0.5 if A is 0.  Here f is 1, and P is Student's distribution function with as many degrees of freedom as there
 * are rollouts, by approximation 26.7.8 in Abramowitz and Stegun.  Errors of later values are not included: they are
 * common to both terms.  The constants were chosen on the decision problems of `make credit`, which also measures
 * the quality of the results.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/q_error.h"
#include "sum.h"

const Pooling interval_pooling = {1, 5, 128};
const Pooling sign_pooling = {2, 4, 4};

#define FEW_ROLLOUTS 2.0
#define BOUNDED_VISITS 1.0
/* Visits that the mean of its state counts in the posterior mean of a pair. */
#define STATE_VISITS 9.0
/* The same in the mean that determines its variance; and the part of the variance independent of that mean. */
#define VARYING_VISITS 1.0
#define STEADY_SHARE (1.0 / 3)
/* Visits that the outcomes count in the mean of a state. */
#define OUTCOME_VISITS 1.0

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
	outcomes->least = least;
	outcomes->unit = outcomes->alike ? 1 : most - least;
	CHECK_FOR_INTERRUPTS();
	/* The first step of a rollout is a visit with either kind of visit. */
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
	outcomes->mean = mean;
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
	double	   *weights = ALLOCATE_ZEROED_ARRAY(double, n_pairs);	/* sums of squared weights */

	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (weight[i] > 0)
		{
			double		deviation = (target[i] - table->pair_q[pair_of[i]]) / unit;

			sum_add(&squares[pair_of[i]], weight[i] * deviation * deviation);
			weights[pair_of[i]] += weight[i] * weight[i];
		}
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < n_pairs; p++)
	{
		double		all = table->pair_weight[p];

		CHECK_ONCE_IN_A_WHILE(p);
		/* Despite rounding, at least one. */
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
pool_variances(const RtmcTable *table, const PairSpread *spread, const double *scale, double outcome_variance,
			   const Pooling *pooling)
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
		double		of_pair = spread[p].squares / (scale ? scale[p] : 1);

		CHECK_ONCE_IN_A_WHILE(p);
		sum_add(&squares[state], of_pair);
		freedom[state] += spread[p].visits - 1;
		sum_add(&all_squares, of_pair);
		all_freedom += spread[p].visits - 1;
	}
	CHECK_FOR_INTERRUPTS();
	of_group = (sum_value(&all_squares) + pooling->outcomes * outcome_variance) / (all_freedom + pooling->outcomes);
	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		int32		state = state_of_pair(table, p);
		double		of_state = (pooling->group * of_group + sum_value(&squares[state])) / (pooling->group + freedom[state]);

		CHECK_ONCE_IN_A_WHILE(p);
		variance[p] = (pooling->state * of_state * (scale ? scale[p] : 1) + spread[p].squares) /
			(pooling->state + spread[p].visits - 1);
	}
	pfree(squares);
	pfree(freedom);
	return variance;
}

double *
measure_distances(const RtmcTable *table, const PairSpread *spread, const Outcomes *outcomes)
{
	double	   *distance = ALLOCATE_ARRAY(double, table->pairs.n);
	double	   *visits = ALLOCATE_ZEROED_ARRAY(double, table->states.n);

	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		CHECK_ONCE_IN_A_WHILE(p);
		visits[state_of_pair(table, p)] += spread[p].visits;
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		int32		state = state_of_pair(table, p);
		/* Priors may be outside the range of returns. */
		double		v = Min(Max((table->state_v[state] - outcomes->least) / outcomes->unit, 0), 1);
		double		mean = (visits[state] * v + OUTCOME_VISITS * outcomes->mean) / (visits[state] + OUTCOME_VISITS);

		CHECK_ONCE_IN_A_WHILE(p);
		distance[p] = mean - (table->pair_q[p] - outcomes->least) / outcomes->unit;
	}
	pfree(visits);
	return distance;
}

/* By pair: the largest variance of a bounded return with this mean, mixed with that of the outcomes. */
static double *
measure_scales(const RtmcTable *table, const PairSpread *spread, const double *distance, const Outcomes *outcomes)
{
	double	   *scale = ALLOCATE_ARRAY(double, table->pairs.n);
	double		steady = outcomes->mean * (1 - outcomes->mean);

	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		double		mean = (table->pair_q[p] - outcomes->least) / outcomes->unit +
			distance[p] * (VARYING_VISITS / (spread[p].visits + VARYING_VISITS));

		CHECK_ONCE_IN_A_WHILE(p);
		scale[p] = (1 - STEADY_SHARE) * Max(mean * (1 - mean), 0) + STEADY_SHARE * steady;
	}
	return scale;
}

/*
 * Student's distribution function for x >= 0, by a normal deviate with nearly the same probability (Abramowitz
 * and Stegun, 26.7.8).
 */
static double
student(double x, double freedom)
{
	double		z = x * (1 - 0.25 / freedom) / sqrt(1 + x * x / (2 * freedom));

	return 0.5 * erfc(-z / sqrt(2));
}

double
sign_confidence(double advantage, double variance, const Outcomes *outcomes)
{
	return advantage == 0 ? 0.5 : student(fabs(advantage) / outcomes->unit / sqrt(variance), outcomes->rollouts);
}

void
measure_confidence(const SignVariance *sign, double prior, RtmcTable *table)
{
	const PairSpread *spread = sign->spread;
	const double *variance = sign->variance;
	uint32		n_states = table->states.n;
	double	   *weight = ALLOCATE_ZEROED_ARRAY(double, n_states);
	Sum		   *shares = ALLOCATE_ZEROED_ARRAY(Sum, n_states); /* of V's variance, unscaled */

	table->pair_confidence = ALLOCATE_ARRAY(double, table->pairs.n);
	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		int32		state = state_of_pair(table, p);
		double		n = table->pair_weight[p];

		CHECK_ONCE_IN_A_WHILE(p);
		weight[state] += n;
		sum_add(&shares[state], n * n * variance[p] / spread[p].visits);
	}
	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		int32		state = state_of_pair(table, p);
		double		n = table->pair_weight[p];
		double		all = weight[state] + prior;
		double		of_q = variance[p] / spread[p].visits;
		double		others = sum_value(&shares[state]) - n * n * of_q;
		double		of_a = ((all - n) * (all - n) * of_q + Max(others, 0)) / all / all;

		CHECK_ONCE_IN_A_WHILE(p);
		/* Compute A again: pair_advantage may be normalized. */
		table->pair_confidence[p] = table->pair_advantage[p] == 0 ? 0.5 :
			sign_confidence(table->pair_q[p] - table->state_v[state], of_a, &sign->outcomes);
	}
	pfree(weight);
	pfree(shares);
}

void
give_sign_variance(const SignVariance *own, SignVariance *sign)
{
	if (sign != NULL)
		*sign = *own;
	else
	{
		pfree(own->spread);
		pfree(own->variance);
	}
}

void
monte_carlo_errors(const GroupColumns *group, const double *weight, double prior, RtmcTable *table, SignVariance *sign)
{
	SignVariance own;
	Outcomes	outcomes;
	PairSpread *spread;
	double	   *distance;
	double	   *scale;
	double	   *variance;
	double		t;

	measure_outcomes(group, &table->states, weight, table->returns, &outcomes);
	spread = measure_spreads(group, weight, table->returns, outcomes.unit, table);
	distance = measure_distances(table, spread, &outcomes);
	scale = measure_scales(table, spread, distance, &outcomes);
	variance = pool_variances(table, spread, scale, outcomes.variance / (outcomes.mean * (1 - outcomes.mean)),
							  &interval_pooling);
	t = 1 + FEW_ROLLOUTS / outcomes.rollouts;
	table->pair_error = ALLOCATE_ARRAY(double, table->pairs.n);
	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		CHECK_ONCE_IN_A_WHILE(p);
		table->pair_error[p] = outcomes.alike ? error_of_failures(spread[p].visits) :
			error_in_range(outcomes.unit * t * sqrt(variance[p] / (spread[p].visits + BOUNDED_VISITS) +
													shrinkage_square(distance[p], spread[p].visits, STATE_VISITS)));
	}
	pfree(variance);
	pfree(scale);
	pfree(distance);
	own = (SignVariance) {outcomes, spread, pool_variances(table, spread, NULL, outcomes.variance, &sign_pooling)};
	measure_confidence(&own, prior, table);
	give_sign_variance(&own, sign);
}
