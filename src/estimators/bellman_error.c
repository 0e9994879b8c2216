/*
 * bellman_error.c
 *		q_error of values that satisfy Bellman's equation.
 *
 * Here the targets contain values that are estimates themselves, so that their spread says
 * little of their error.  What is new in a target, its innovation, is pooled as in
 * q_error.c; before any visit its variance is that of a return by the steps that it is the sum
 * of.  What it adds to the error of later values follows Bellman's equation too (the uncertainty
 * Bellman equation; O'Donoghue, Osband, Munos and Mnih 2018): with u the variance of V,
 *
 *	u(s)		= c(s) + w(s)^2 * mean of u over the states s' != s that visits of s led to
 *	c(s)		= (sum over a of N(s,a) * (pair(s,a) + (Q(s,a) - V(s))^2)) / N'(s)^2 * N / (N - 1/4)
 *				  + prior * b / N'(s)
 *	N'(s)		= N(s) + prior - g n(s,s),	w(s) = g (N(s) - n(s,s)) / N'(s)
 *	q_error^2	= t^2 * (pair(s,a) / (n - 1/4) + g^2 * mean of u over the states that visits of (s,a) led to)
 *
 * where an end has u 0, n(s,s) visits of s stayed there, whose own error comes back to it in full,
 * and errors of different states go together, so that that of their mean is no less than
 * their mean.  g = gamma (1 - lambda) / (1 - gamma lambda) is what a lambda-return has of later values, taken
 * for those of the next state.  The prior is a state of its own: b is half the mean square of
 * V - prior_mean.  t = 1 + 2 / rollouts, and a quarter of a visit is taken off, as values were fitted to the
 * same visits.  Where all returns are 0, q_error is what as many failures as there are rollouts
 * leave open.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/neighbours.h"
#include "estimators/q_error.h"
#include "estimators/value_equations.h"
#include "sum.h"

#define FEW_ROLLOUTS 2.0
#define FITTED_VISITS 0.25
#define PRIOR_SHARE 0.5
/* Of the outcomes' variance: what values differ from a prior by at least. */
#define LEAST_PRIOR_ERROR 0.25

/* By state, of its visits. */
typedef struct StateVisits
{
	double		all;
	double		staying;
	double		ended;
	double		squares;		/* of weights */
	double		innovation;		/* sum of the variances of what each adds */
} StateVisits;

/* The sum of discount^(2 t) over the steps of a rollout. */
static double
sum_of_squared_discounts(double discount, uint32 n_steps)
{
	if (discount == 1)
		return n_steps;
	return expm1(2.0 * n_steps * log(discount)) / expm1(2 * log(discount));
}

/* What an innovation's variance is of a return's, if all steps of a rollout have the same. */
static double
innovation_share(const GroupColumns *group, const Identities *states, const BellmanOptions *options)
{
	double		target = 0;
	double		all = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		n_steps = group->first_step[r + 1] - group->first_step[r];

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
		if (weight[i] > 0)
		{
			StateVisits *state = &visits[state_of[i]];

			state->all += weight[i];
			state->squares += weight[i] * weight[i];
			if (next[i] == NO_IDENTITY)
				state->ended += weight[i];
			else if (next[i] == state_of[i])
				state->staying += weight[i];
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

/* b: how far, in squares, the prior's mean is from what values are. */
static double
prior_error(const RtmcTable *table, const StateVisits *visits, double outcome_variance, double unit, double prior_mean)
{
	Sum			squares = {0};
	double		all = 0;

	for (uint32 s = 0; s < table->states.n; s++)
	{
		double		deviation = (table->state_v[s] - prior_mean) / unit;

		sum_add(&squares, visits[s].all * deviation * deviation);
		all += visits[s].all;
	}
	return PRIOR_SHARE * Max(sum_value(&squares) / all, LEAST_PRIOR_ERROR * outcome_variance);
}

/* u, by state. */
static double *
solve_variances(const GroupColumns *group, const RtmcTable *table, const int32 *next, const StateVisits *visits,
				const BellmanOptions *options, double g, double prior_square)
{
	uint32		n_states = table->states.n;
	uint32	   *place = ALLOCATE_ZEROED_ARRAY(uint32, n_states);
	double	   *u = ALLOCATE_ARRAY(double, n_states);
	Adjacency	targets;
	ValueEquations equations;

	find_neighbours(group, n_states, table->states.of_step, next, options->weight, &targets);
	allocate_value_equations(n_states, targets.first[n_states], &equations);
	equations.first[0] = 0;
	for (uint32 s = 0; s < n_states; s++)
	{
		const StateVisits *state = &visits[s];
		double		leaving = state->all - state->staying;
		double		n = state->all + options->prior - g * state->staying;
		double		w = g * leaving / n;
		double		worth = state->all * state->all / state->squares;
		double		per_visit = leaving > 0 ? w * w / leaving : 0;

		equations.constant[s] = state->innovation / n / n * (worth / (worth - FITTED_VISITS)) +
			options->prior * prior_square / n;
		equations.leak[s] = (1 + w) * ((options->prior + (1 - g) * state->all) / n) + per_visit * state->ended;
		equations.first[s + 1] = per_visit > 0 ?
			merge_edges(&targets, (int32) s, per_visit, place, &equations) : equations.first[s];
		if (s % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	free_neighbours(&targets);
	pfree(place);
	solve_value_equations(&equations, u);
	free_value_equations(&equations);
	return u;
}

/* By pair, the mean of u over the states that its visits led to. */
static double *
mean_of_next(const GroupColumns *group, const double *weight, const int32 *next, const double *u,
			 const RtmcTable *table)
{
	double	   *mean = ALLOCATE_ZEROED_ARRAY(double, table->pairs.n);

	for (uint32 i = 0; i < group->n_steps; i++)
		if (weight[i] > 0 && next[i] != NO_IDENTITY)
			mean[table->pairs.of_step[i]] += weight[i] * u[next[i]];
	for (uint32 p = 0; p < table->pairs.n; p++)
		mean[p] /= table->pair_weight[p];
	return mean;
}

void
bellman_errors(const GroupColumns *group, const double *weight, const double *target, const int32 *next,
			   const BellmanOptions *options, RtmcTable *table)
{
	double		later = options->lambda == 1 ? 0 :
		options->gamma * (1 - options->lambda) / (1 - options->gamma * options->lambda);
	Outcomes	outcomes;
	PairSpread *spread;
	StateVisits *visits;
	double	   *variance;
	double	   *u;
	double	   *mean;
	double		before;
	double		t;

	measure_outcomes(group, &table->states, weight, table->returns, &outcomes);
	spread = measure_spreads(group, weight, target, outcomes.unit, table);
	before = outcomes.variance * innovation_share(group, &table->states, options);
	variance = pool_variances(table, spread, before, &interval_pooling);
	visits = measure_visits(group, weight, next, spread, variance, outcomes.unit, table);
	u = solve_variances(group, table, next, visits, options, later,
						prior_error(table, visits, outcomes.variance, outcomes.unit, options->prior_mean));
	mean = mean_of_next(group, weight, next, u, table);
	t = 1 + FEW_ROLLOUTS / outcomes.rollouts;
	table->pair_error = ALLOCATE_ARRAY(double, table->pairs.n);
	for (uint32 p = 0; p < table->pairs.n; p++)
		table->pair_error[p] = outcomes.alike ? error_of_failures(outcomes.rollouts) :
			error_in_range(outcomes.unit * t * sqrt(variance[p] / (spread[p].visits - FITTED_VISITS) + later * later * mean[p]));
	pfree(mean);
	pfree(u);
	pfree(visits);
	pfree(variance);
	variance = pool_variances(table, spread, before, &sign_pooling);
	measure_confidence(spread, variance, outcomes.unit, options->prior, table);
	pfree(variance);
	pfree(spread);
}
