/*
 * bellman.c
 *		Bellman's equations of a group, for all lambda.
 *
 * With lambda 0 the unknowns are the states:
 *
 *	(N(s) + prior) V(s) = sum of w_t [r_t + gamma V(s_(t+1))] over visits t of s + prior * prior_mean
 *
 * With lambda between 0 and 1 the targets of the steps are further unknowns:
 *
 *	(N(s) + prior) V(s) = sum of w_t G_t over visits t of s + prior * prior_mean
 *	G_t = r_t + gamma (1 - lambda) V(s_(t+1)) + gamma lambda G_(t+1)
 *
 * The solution is that of LSTD(lambda) (the sum of the TD errors after a visit, weighted by (gamma lambda)^k, is
 * G_t - V(s_t)), without its dense matrix.  Since every G_t leads to the end of its rollout, the system is regular
 * for every gamma and lambda.  With lambda 1 the targets are the returns, and no equations are solved.  N(s) is the
 * sum of the weights w_t of its visits, which are 1 unless the rollouts differ in weight.
 *
 * A rollout that was truncated in the state to which its last step led has no G_(t+1) there; for every lambda,
 * V(s_(t+1)) takes its place.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/returns.h"
#include "estimators/values/bellman.h"
#include "estimators/values/neighbours.h"
#include "estimators/values/solve_equations.h"
#include "sum.h"

static inline double
step_weight(const BellmanOptions *options, uint32 step)
{
	return options->weight ? options->weight[step] : 1;
}

/* The sum of the rewards of each state's visits. */
static Sum *
sum_rewards(const GroupColumns *group, const Identities *states, const BellmanOptions *options)
{
	Sum		   *sum = ALLOCATE_ZEROED_ARRAY(Sum, states->n);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			double		reward = step_reward(group, r, i);

			CHECK_ONCE_IN_A_WHILE(i);
			if (states->of_step[i] != NO_IDENTITY && reward != 0)
				sum_add(&sum[states->of_step[i]], step_weight(options, i) * reward);
		}
	return sum;
}

/* The leak of each state without the prior: visits that end there, and discount. */
static double *
sum_leaks(const GroupColumns *group, const Identities *states, const int32 *next, const BellmanOptions *options)
{
	double	   *ended = ALLOCATE_ZEROED_ARRAY(double, states->n);
	double	   *all = ALLOCATE_ZEROED_ARRAY(double, states->n);

	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (states->of_step[i] != NO_IDENTITY)
		{
			all[states->of_step[i]] += step_weight(options, i);
			if (next[i] == NO_IDENTITY)
				ended[states->of_step[i]] += step_weight(options, i);
		}
	}
	for (uint32 s = 0; s < states->n; s++)
	{
		CHECK_ONCE_IN_A_WHILE(s);
		all[s] = all[s] * (1 - options->gamma) + options->gamma * ended[s];
	}
	pfree(ended);
	return all;
}

uint32
merge_edges(const Adjacency *next, uint32 state, double factor, uint32 unknown, uint32 *place,
			ValueEquations *equations)
{
	uint32		begin = equations->first[unknown];
	uint32		end = begin;

	for (uint32 e = next->first[state]; e < next->first[state + 1]; e++)
	{
		int32		target = next->priced ? next->priced[e].node : next->neighbour[e];
		double		weight = next->priced ? factor * next->priced[e].cost : factor;

		/* Places in earlier equations are at most begin. */
		if (place[target] > begin)
			equations->weight[place[target] - 1] += weight;
		else
		{
			equations->target[end] = target;
			equations->weight[end] = weight;
			place[target] = ++end;
		}
	}
	return end;
}

/* The equations for lambda 0. */
static void
state_equations(const GroupColumns *group, const Identities *states, const int32 *next,
				const BellmanOptions *options, ValueEquations *equations)
{
	double	   *leak = sum_leaks(group, states, next, options);
	uint32	   *place = ALLOCATE_ZEROED_ARRAY(uint32, states->n);
	Sum		   *rewards = sum_rewards(group, states, options);
	Adjacency	targets;

	find_neighbours(group, states->n, states->of_step, next, options->weight, &targets);
	allocate_value_equations(states->n, targets.first[states->n], equations);
	equations->first[0] = 0;
	for (uint32 s = 0; s < states->n; s++)
	{
		equations->leak[s] = options->prior + leak[s];
		sum_add(&rewards[s], options->prior * options->prior_mean);
		equations->constant[s] = sum_value(&rewards[s]);
		equations->first[s + 1] = options->gamma == 0 ? 0 :
			merge_edges(&targets, s, options->gamma, s, place, equations);
		if (s % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	free_neighbours(&targets);
	pfree(leak);
	pfree(place);
	pfree(rewards);
}

/* The equations for lambda above 0.  Unknown states->n + i is the target of step i. */
static void
step_equations(const GroupColumns *group, const Identities *states, const int32 *next,
			   const BellmanOptions *options, ValueEquations *equations)
{
	uint32		n_states = states->n;
	int32	   *step = ALLOCATE_ARRAY(int32, group->n_steps);
	double		to_state = options->gamma * (1 - options->lambda);
	double		to_step = options->gamma * options->lambda;
	Adjacency	visits;
	uint32		end;

	for (uint32 i = 0; i < group->n_steps; i++)
		step[i] = (int32) (n_states + i);
	find_neighbours(group, n_states, states->of_step, step, NULL, &visits);
	end = visits.first[n_states];
	allocate_value_equations(n_states + group->n_steps, (Size) end + 2 * (Size) group->n_steps, equations);
	memcpy(equations->first, visits.first, n_states * sizeof(uint32));
	memcpy(equations->target, visits.neighbour, end * sizeof(int32));
	for (uint32 e = 0; e < end; e++)
		equations->weight[e] = step_weight(options, (uint32) visits.neighbour[e] - n_states);
	for (uint32 s = 0; s < n_states; s++)
	{
		equations->leak[s] = options->prior;
		equations->constant[s] = options->prior * options->prior_mean;
	}
	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			uint32		unknown = n_states + i;
			bool		is_last = i + 1 == group->first_step[r + 1];
			double		weight = is_last ? options->gamma : to_state;

			equations->first[unknown] = end;
			equations->leak[unknown] = 1 - options->gamma;
			equations->constant[unknown] = step_reward(group, r, i);
			if (next[i] == NO_IDENTITY)
				equations->leak[unknown] += weight;
			else if (weight > 0)
			{
				equations->target[end] = next[i];
				equations->weight[end++] = weight;
			}
			if (!is_last)
			{
				equations->target[end] = (int32) unknown + 1;
				equations->weight[end++] = to_step;
			}
			if (i % 4096 == 0)
				CHECK_FOR_INTERRUPTS();
		}
	equations->first[equations->n] = end;
	free_neighbours(&visits);
	pfree(step);
}

/* The state in which a rollout was truncated; NO_IDENTITY: it ended. */
static inline int32
cut_state(const GroupColumns *group, const int32 *next, uint32 rollout)
{
	return group->n_rollout_steps[rollout] > 0 ? next[group->first_step[rollout + 1] - 1] : NO_IDENTITY;
}

static bool
has_cuts(const GroupColumns *group, const int32 *next)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (cut_state(group, next, r) != NO_IDENTITY)
			return true;
	return false;
}

/* The values of the states, or NULL if no target needs them. */
static double *
state_values(const GroupColumns *group, const Identities *states, const int32 *next, const BellmanOptions *options)
{
	ValueEquations equations;
	double	   *value;

	if (options->gamma == 0 || (options->lambda == 1 && !has_cuts(group, next)))
		return NULL;
	if (options->lambda == 0)
		state_equations(group, states, next, options, &equations);
	else
		step_equations(group, states, next, options, &equations);
	value = ALLOCATE_ARRAY(double, equations.n);
	solve_value_equations(&equations, value);
	free_value_equations(&equations);
	return value;
}

double *
bellman_targets(const GroupColumns *group, const Identities *states, const int32 *next, const BellmanOptions *options)
{
	double	   *target = ALLOCATE_ARRAY(double, group->n_steps);
	double	   *value = state_values(group, states, next, options);
	double		lambda = options->lambda;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		int32		cut = cut_state(group, next, r);
		double		after = value == NULL || cut == NO_IDENTITY ? 0 : value[cut];	/* target of the next step */

		for (uint32 i = group->first_step[r + 1]; i-- > group->first_step[r];)
		{
			double		next_value = value == NULL || next[i] == NO_IDENTITY ? 0 : value[next[i]];

			if (states->of_step[i] == NO_IDENTITY)
				continue;
			target[i] = step_reward(group, r, i) +
				options->gamma * (lambda == 1 ? after : (1 - lambda) * next_value + lambda * after);
			after = target[i];
		}
		CHECK_FOR_INTERRUPTS();
	}
	if (value != NULL)
		pfree(value);
	return target;
}
