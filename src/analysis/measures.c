/*
 * measures.c
 *		rollout_measures: how rollouts went about their task, whatever
 *		came of it: their length, what they did again, how far they began from the
 *		goal and what they went beyond that.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "analysis/measures.h"
#include "estimators/graph.h"
#include "estimators/identity.h"
#include "group/facts.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_rollout_measures);

/* The columns of rollout_measures, in the order of its result. */
enum
{
	SHAPE_ROLLOUT_ID,
	SHAPE_N_STEPS,
	SHAPE_SUCCESS,
	SHAPE_COST,
	SHAPE_N_REPEATS,
	SHAPE_DISTANCE,
	SHAPE_EXCESS,
	N_SHAPE
};

static const Parameter shape_parameters[] = {SUCCESS_ABOVE_PARAMETER};

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

static int32 *
count_repeats(const GroupColumns *group, const RolloutFacts *facts)
{
	int32	   *n_repeats = ALLOCATE_ZEROED_ARRAY(int32, group->n_rollouts);
	uint32	   *first = first_times(group, facts);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
			n_repeats[r] += !first[i];
	return n_repeats;
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

/* rollout_measures(rollouts, success_above): unread columns are not computed. */
Datum
stepadv_rollout_measures(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(shape_parameters)];
	RolloutFacts facts;
	GroupColumns group;
	bool	   *success;
	bool	   *unjudged;
	int32	   *n_repeats = NULL;
	double	   *cost;
	double	   *distance;
	double	   *excess;

	read_parameters(fcinfo, 1, shape_parameters, lengthof(shape_parameters), parameters);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	success = ALLOCATE_ARRAY(bool, group.n_rollouts);
	unjudged = ALLOCATE_ARRAY(bool, group.n_rollouts);
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		unjudged[r] = !facts.judged[r];
		success[r] = rollout_succeeded(&group, &facts, r, parameters[0].number);
	}
	if (column_is_asked(fcinfo, SHAPE_N_REPEATS))
		n_repeats = count_repeats(&group, &facts);
	cost = sum_costs(&group);
	distance = excess = cost;
	if (column_is_asked(fcinfo, SHAPE_DISTANCE) || column_is_asked(fcinfo, SHAPE_EXCESS))
	{
		distance = start_distances(&group, &facts, parameters[0].number);
		excess = ALLOCATE_ARRAY(double, group.n_rollouts);
		for (uint32 r = 0; r < group.n_rollouts; r++)
			excess[r] = cost[r] - distance[r];
	}

	{
		const ResultColumn columns[N_SHAPE] = {
			[SHAPE_ROLLOUT_ID] = {"rollout_id", COLUMN_INT8, group.rollout_id},
			[SHAPE_N_STEPS] = {"n_steps", COLUMN_INT4, group.n_rollout_steps},
			[SHAPE_SUCCESS] = {"success", COLUMN_BOOL, success, unjudged},
			[SHAPE_COST] = {"cost", COLUMN_FLOAT8, cost},
			[SHAPE_N_REPEATS] = {"n_repeats", COLUMN_INT4, n_repeats},
			[SHAPE_DISTANCE] = {"distance", COLUMN_FLOAT8, distance},
			[SHAPE_EXCESS] = {"excess", COLUMN_FLOAT8, excess}
		};

		RETURN_COLUMNS(columns, group.n_rollouts);
	}
}
