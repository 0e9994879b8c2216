/*
 * bellman_error.c
 *		q_error of values that satisfy Bellman's equation.
 *
 * Here targets contain values, which are estimates themselves, so the spread of targets says little about their
 * error.  The new part of a target, its innovation, is pooled as in q_error.c (with f 1).  Its prior variance is that
 * of a return divided among the steps of which the return is the sum.  Its effect on the error of later values also
 * follows Bellman's equation (the uncertainty Bellman equation; O'Donoghue, Osband, Munos and Mnih 2018): with u the
 * variance of V,
 *
 *	u(s)		= c(s) + w(s)^2 * mean of u over the states s' != s that visits of s led to
 *	c(s)		= sum over a of N(s,a) * (pair(s,a) + (Q(s,a) - V(s))^2) / N'(s)^2
 *	N'(s)		= N(s) + prior - g n(s,s),	w(s) = g (N(s) - n(s,s)) / N'(s)
 *
 * where an end has u 0, and n(s,s) visits of s stayed in s, so that the error of s returns to it in full.  Errors of
 * different states are taken to be equal in sign, so that the variance of their mean is at least the mean of their
 * variances.  g = gamma (1 - lambda) / (1 - gamma lambda) is the share of later values in a lambda-return, all taken
 * to be that of the next state.  A prior makes V less uncertain but biased.  The bias, the difference to V without
 * prior, solves another Bellman equation:
 *
 *	b(s)		= (prior * (prior_mean - V(s)) + g * sum of b over the states that visits of s led to) / N(s)
 *
 * The error of Q includes both, and the move of q if shrunken towards its state (q_error.c):
 *
 *	q_error^2	= t^2 * (pair(s,a) / (n + 3/4) + (c / (n + c) * (q - mean(s)))^2
 *				  + g^2 * mean of u + (g * mean of b)^2),	t = 1 + 1.8 / rollouts, c = 3
 *
 * with means over the states that visits of (s,a) led to.  If all returns are 0, q_error is what as many failures as
 * there are rollouts leave open.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/q_error.h"
#include "estimators/values/neighbours.h"
#include "estimators/values/solve_equations.h"

#define FEW_ROLLOUTS 1.8
#define BOUNDED_VISITS 0.75
/* Visits that the mean of its state counts in the posterior mean of a pair. */
#define STATE_VISITS 3.0

/* By state: sums of the weights of visits. */
typedef struct StateVisits
{
	double		all;
	double		staying;
	double		ended;
	double		innovation;		/* sum of the variances of innovations, by squared weight */
} StateVisits;

/* The sum of discount^(2 t) over the steps of a rollout. */
static double
sum_of_squared_discounts(double discount, uint32 n_steps)
{
	if (discount == 1)
		return n_steps;
	return expm1(2.0 * n_steps * log(discount)) / expm1(2 * log(discount));
}

/* The variance of an innovation as a fraction of a return's, if all steps of a rollout have the same variance. */
static double
innovation_share(const GroupColumns *group, const Identities *states, const BellmanOptions *options)
{
	double		target = 0;
	double		all = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		n_steps = group->first_step[r + 1] - group->first_step[r];

		CHECK_ONCE_IN_A_WHILE(r);
		if (n_steps == 0 || states->of_step[group->first_step[r]] == NO_IDENTITY)
			continue;
		target += sum_of_squared_discounts(options->gamma * options->lambda, n_steps);
		all += sum_of_squared_discounts(options->gamma, n_steps);
	}
	return all > 0 ? target / all : 1;
}

static StateVisits *
measure_visits(const GroupColumns *group, const double *weight, const int32 *next, const PairSpread *spread,
			   const double *variance, double unit, const RtmcTable *table)
{
	const int32 *state_of = table->states.of_step;
	StateVisits *visits = ALLOCATE_ZEROED_ARRAY(StateVisits, table->states.n);

	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (weight[i] > 0)
		{
			StateVisits *state = &visits[state_of[i]];

			state->all += weight[i];
			if (next[i] == NO_IDENTITY)
				state->ended += weight[i];
			else if (next[i] == state_of[i])
				state->staying += weight[i];
		}
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		int32		state = state_of[table->pairs.first_step[p]];
		double		a = (table->pair_q[p] - table->state_v[state]) / unit;

		visits[state].innovation += table->pair_weight[p] * table->pair_weight[p] / spread[p].visits *
			(variance[p] + a * a);
	}
	return visits;
}

/* The variances u, by state. */
static double *
solve_variances(const Adjacency *targets, const StateVisits *visits, uint32 n_states, const BellmanOptions *options,
				double g)
{
	uint32	   *place = ALLOCATE_ZEROED_ARRAY(uint32, n_states);
	double	   *u = ALLOCATE_ARRAY(double, n_states);
	ValueEquations equations;

	allocate_value_equations(n_states, targets->first[n_states], &equations);
	equations.first[0] = 0;
	for (uint32 s = 0; s < n_states; s++)
	{
		const StateVisits *state = &visits[s];
		double		leaving = state->all - state->staying;
		double		n = state->all + options->prior - g * state->staying;
		double		w = g * leaving / n;
		double		per_visit = leaving > 0 ? w * w / leaving : 0;

		equations.constant[s] = state->innovation / n / n;
		equations.leak[s] = (1 + w) * ((options->prior + (1 - g) * state->all) / n) + per_visit * state->ended;
		equations.first[s + 1] = per_visit > 0 ?
			merge_edges(targets, s, per_visit, s, place, &equations) : equations.first[s];
		if (s % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	pfree(place);
	solve_value_equations(&equations, u);
	free_value_equations(&equations);
	return u;
}

/*
 * The biases b, by state.  Without discount and prior, states from which truncated rollouts reach no end have
 * no V.  With bounded, the prior is therefore included here too.
 */
static double *
solve_biases(const Adjacency *targets, const StateVisits *visits, const RtmcTable *table, const BellmanOptions *options,
			 double g, double unit, bool bounded)
{
	uint32		n_states = table->states.n;
	uint32	   *place = ALLOCATE_ZEROED_ARRAY(uint32, n_states);
	double	   *b = ALLOCATE_ARRAY(double, n_states);
	ValueEquations equations;

	allocate_value_equations(n_states, targets->first[n_states], &equations);
	equations.first[0] = 0;
	for (uint32 s = 0; s < n_states; s++)
	{
		equations.constant[s] = options->prior * ((options->prior_mean - table->state_v[s]) / unit);
		equations.leak[s] = visits[s].all * (1 - g) + g * visits[s].ended + (bounded ? options->prior : 0);
		equations.first[s + 1] = g > 0 ?
			merge_edges(targets, s, g, s, place, &equations) : equations.first[s];
		if (s % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	pfree(place);
	solve_value_equations(&equations, b);
	free_value_equations(&equations);
	return b;
}

/* Does the last step of any rollout lead on? */
static bool
leads_on(const GroupColumns *group, const int32 *next)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (group->first_step[r] < group->first_step[r + 1] && next[group->first_step[r + 1] - 1] != NO_IDENTITY)
			return true;
	return false;
}

/* By pair, the mean of a quantity by state over the states that its visits led to. */
static double *
mean_of_next(const GroupColumns *group, const double *weight, const int32 *next, const double *of_state,
			 const RtmcTable *table)
{
	double	   *mean = ALLOCATE_ZEROED_ARRAY(double, table->pairs.n);

	for (uint32 i = 0; i < group->n_steps; i++)
		if (weight[i] > 0 && next[i] != NO_IDENTITY)
			mean[table->pairs.of_step[i]] += weight[i] * of_state[next[i]];
	for (uint32 p = 0; p < table->pairs.n; p++)
		mean[p] /= table->pair_weight[p];
	return mean;
}

/* By pair, in units: the squared error of Q due to errors of later values. */
static double *
square_later_errors(const GroupColumns *group, const double *weight, const int32 *next, const StateVisits *visits,
					const BellmanOptions *options, double g, double unit, const RtmcTable *table)
{
	Adjacency	targets;
	double	   *of_state;
	double	   *square;

	find_neighbours(group, table->states.n, table->states.of_step, next, options->weight, &targets);
	of_state = solve_variances(&targets, visits, table->states.n, options, g);
	square = mean_of_next(group, weight, next, of_state, table);
	pfree(of_state);
	for (uint32 p = 0; p < table->pairs.n; p++)
		square[p] *= g * g;
	if (options->prior > 0)
	{
		double	   *bias;

		of_state = solve_biases(&targets, visits, table, options, g, unit, g == 1 && leads_on(group, next));
		bias = mean_of_next(group, weight, next, of_state, table);
		pfree(of_state);
		for (uint32 p = 0; p < table->pairs.n; p++)
			square[p] += g * bias[p] * g * bias[p];
		pfree(bias);
	}
	free_neighbours(&targets);
	return square;
}

void
bellman_errors(const GroupColumns *group, const double *weight, const double *target, const int32 *next,
			   const BellmanOptions *options, RtmcTable *table, SignVariance *sign)
{
	SignVariance own;
	double		g = options->lambda == 1 ? 0 :
		options->gamma * (1 - options->lambda) / (1 - options->gamma * options->lambda);
	Outcomes	outcomes;
	PairSpread *spread;
	StateVisits *visits;
	double	   *variance;
	double	   *distance;
	double	   *later;
	double		before;
	double		t;

	measure_outcomes(group, &table->states, weight, table->returns, &outcomes);
	spread = measure_spreads(group, weight, target, outcomes.unit, table);
	before = outcomes.variance * innovation_share(group, &table->states, options);
	variance = pool_variances(table, spread, NULL, before, &interval_pooling);
	visits = measure_visits(group, weight, next, spread, variance, outcomes.unit, table);
	later = square_later_errors(group, weight, next, visits, options, g, outcomes.unit, table);
	distance = measure_distances(table, spread, &outcomes);
	t = 1 + FEW_ROLLOUTS / outcomes.rollouts;
	table->pair_error = ALLOCATE_ARRAY(double, table->pairs.n);
	for (uint32 p = 0; p < table->pairs.n; p++)
	{
		CHECK_ONCE_IN_A_WHILE(p);
		table->pair_error[p] = outcomes.alike ? error_of_failures(outcomes.rollouts) :
			error_in_range(outcomes.unit * t * sqrt(variance[p] / (spread[p].visits + BOUNDED_VISITS) + later[p] +
													shrinkage_square(distance[p], spread[p].visits, STATE_VISITS)));
	}
	pfree(distance);
	pfree(later);
	pfree(visits);
	pfree(variance);
	own = (SignVariance) {outcomes, spread, pool_variances(table, spread, NULL, before, &sign_pooling)};
	measure_confidence(&own, options->prior, table);
	give_sign_variance(&own, sign);
}
