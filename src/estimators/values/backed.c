/*
 * backed.c
 *		Bellman's equations of fine states that are backed by coarse states.
 *
 * The unknowns are the fine states, followed by the coarse ones.  Where speed matters, coarse states are few,
 * and if fine states are histories, the edges between them are nearly acyclic: see bordered.c.
 */
#include "postgres.h"

#include "arrays.h"
#include "estimators/returns.h"
#include "estimators/values/backed.h"
#include "estimators/values/bordered.h"
#include "estimators/values/solve_equations.h"
#include "sum.h"

/* Sums over the visits of a state: by fine state, followed by coarse state. */
typedef struct Visits
{
	Sum		   *reward;
	double	   *leak;
	int32	   *coarse;			/* by fine state */
} Visits;

static void
sum_visits(const GroupColumns *group, const StateLevels *levels, const int32 *next, const BellmanOptions *options,
		   Visits *visits)
{
	uint32		n_fine = levels->fine->n;
	uint32		n = n_fine + levels->coarse->n;

	visits->reward = ALLOCATE_ZEROED_ARRAY(Sum, n);
	visits->leak = ALLOCATE_ZEROED_ARRAY(double, n);
	visits->coarse = ALLOCATE_ARRAY(int32, n_fine);
	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			double		reward = step_reward(group, r, i);
			double		weight = options->weight ? options->weight[i] : 1;
			int32		fine = levels->fine->of_step[i];
			int32		coarse = levels->coarse->of_step[i];
			double		leak = next[i] == NO_IDENTITY ? weight : weight * (1 - options->gamma);

			CHECK_ONCE_IN_A_WHILE(i);
			if (fine == NO_IDENTITY)
				continue;
			visits->coarse[fine] = coarse;
			visits->leak[fine] += leak;
			visits->leak[n_fine + coarse] += leak;
			if (reward != 0)
			{
				sum_add(&visits->reward[fine], weight * reward);
				sum_add(&visits->reward[n_fine + coarse], weight * reward);
			}
		}
}

static void
free_visits(Visits *visits)
{
	pfree(visits->reward);
	pfree(visits->leak);
	pfree(visits->coarse);
}

static void
backed_equations(const GroupColumns *group, const StateLevels *levels, const int32 *next,
				 const BellmanOptions *options, ValueEquations *equations)
{
	uint32		n_fine = levels->fine->n;
	uint32		n = n_fine + levels->coarse->n;
	uint32	   *place = ALLOCATE_ZEROED_ARRAY(uint32, n_fine);
	Adjacency	from_fine;
	Adjacency	from_coarse;
	Visits		visits;

	sum_visits(group, levels, next, options, &visits);
	find_neighbours(group, n_fine, levels->fine->of_step, next, options->weight, &from_fine);
	find_neighbours(group, levels->coarse->n, levels->coarse->of_step, next, options->weight, &from_coarse);
	allocate_value_equations(n, (Size) from_fine.first[n_fine] + from_coarse.first[levels->coarse->n] + n_fine,
							 equations);
	equations->first[0] = 0;
	for (uint32 i = 0; i < n; i++)
	{
		bool		is_fine = i < n_fine;
		uint32		end = equations->first[i];

		CHECK_ONCE_IN_A_WHILE(i);
		if (!is_fine)
			sum_add(&visits.reward[i], options->prior * options->prior_mean);
		equations->constant[i] = sum_value(&visits.reward[i]);
		equations->leak[i] = visits.leak[i] + (is_fine ? 0 : options->prior);
		if (options->gamma > 0)
			end = merge_edges(is_fine ? &from_fine : &from_coarse, is_fine ? i : i - n_fine, options->gamma, i, place,
							  equations);
		if (is_fine && levels->k > 0)
		{
			equations->target[end] = (int32) n_fine + visits.coarse[i];
			equations->weight[end++] = levels->k;
		}
		equations->first[i + 1] = end;
	}
	free_neighbours(&from_fine);
	free_neighbours(&from_coarse);
	free_visits(&visits);
	pfree(place);
}

double *
backed_targets(const GroupColumns *group, const StateLevels *levels, const int32 *next, const BellmanOptions *options)
{
	double	   *target = ALLOCATE_ARRAY(double, group->n_steps);
	ValueEquations equations;
	double	   *value;

	backed_equations(group, levels, next, options, &equations);
	value = ALLOCATE_ARRAY(double, equations.n);
	if (border_is_narrow(&equations, levels->coarse->n))
		solve_bordered_equations(&equations, levels->coarse->n, value);
	else
		solve_value_equations(&equations, value);
	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			CHECK_ONCE_IN_A_WHILE(i);
			if (levels->fine->of_step[i] != NO_IDENTITY)
				target[i] = step_reward(group, r, i) + (next[i] == NO_IDENTITY ? 0 : options->gamma * value[next[i]]);
		}
	free_value_equations(&equations);
	pfree(value);
	return target;
}
