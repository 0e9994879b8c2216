/*
 * measures.c
 *		Measures of rollouts, regardless of their outcomes: repeated steps, costs, and distances
 *		of their first states from the goal.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "analysis/measures.h"
#include "estimators/graph.h"
#include "estimators/identity.h"
#include "group/facts.h"

uint32 *
first_times(const GroupColumns *group, const RolloutFacts *facts)
{
	RolloutFacts all = *facts;
	Identities	states;
	Identities	pairs;

	all.judged = ALLOCATE_ARRAY(bool, group->n_rollouts);
	memset(all.judged, true, group->n_rollouts);
	number_states(group, &all, &states);
	number_pairs(group, &states, &pairs);
	return find_visits(group, &pairs, VISIT_FIRST);
}

double *
sum_costs(const GroupColumns *group)
{
	double	   *cost = ALLOCATE_ARRAY(double, group->n_rollouts);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		cost[r] = 0;
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
			cost[r] += group->cost == NULL || isnan(group->cost[i]) ? 1 : group->cost[i];
		CHECK_FOR_INTERRUPTS();
	}
	return cost;
}

double *
start_distances(const GroupColumns *group, RolloutFacts *facts, double success_above)
{
	double	   *distance = ALLOCATE_ARRAY(double, group->n_rollouts);
	StateGraph	graph;

	leave_out_defects(group, DEFECT_COST, facts);
	state_graph_build(group, facts, success_above, &graph);
	for (uint32 r = 0; r < group->n_rollouts; r++)
		distance[r] = !facts->judged[r] || group->n_rollout_steps[r] == 0 ? NAN :
			known_distance(&graph, graph.states.of_step[group->first_step[r]]);
	return distance;
}
