/*
 * graphgpo.c
 *		graphgpo: credit by distance to the goal in the group's state graph.
 *
 * d(s) is the least cost from s to the goal over the steps of all judged rollouts, or 1 more than the largest
 * finite distance if there is no path.  The reward of a step from s to s' with cost c depends on the convention:
 *
 *	paper		success_reward * discount ^ (d(s') + c)
 *	recipe		success_reward * discount ^ d(s')
 *	progress	success_reward * discount ^ (d(s') - d(s) + 1)
 *
 *	graph_advantage	= (reward - mean) / (sd + epsilon) over the steps from the same
 *					  state; 0 for a single step, and if no rollout reached the goal
 *	advantage		= graph_weight * graph_advantage
 *					  + episode_weight * (R - mean R) / (sd R + epsilon)
 *
 * Rewards shrink by `discount` with every step from the goal, epsilon does not: with 0.1 and 1e-6, rewards seven
 * steps away differ by less than epsilon.  With epsilon_scale it is relative: to the sd of all step rewards of
 * the group, which those near the goal dominate, or to the largest step reward from the same state, which is
 * independent of the distance.  It does not apply to the episode's part.
 *
 * (GraphGPO, equation 4; the recipe is its authors' code.)
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/episode.h"
#include "estimators/estimator.h"
#include "estimators/graphgpo.h"

static void
refuse_reward(const GroupColumns *group, uint32 step)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("reward by the graph of the step with step_id " INT64_FORMAT " is out of range for type double precision",
					group->step_id[step])));
}

bool
graph_step_rewards(const GroupColumns *group, const StateGraph *graph,
				   const StepRewardOptions *options, double *step_reward)
{
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		state = graph->states.of_step[i];
		double		exponent;

		if (state == NO_IDENTITY)
			continue;
		exponent = bounded_distance(graph, graph->next[i]);
		if (options->convention == CONVENTION_PAPER)
			exponent += step_cost(group, i);
		else if (options->convention == CONVENTION_PROGRESS)
			exponent += 1 - bounded_distance(graph, state);
		step_reward[i] = options->success_reward * pow(options->discount, exponent);
		/* Possible with progress, if a step costs so much that the exponent is far below 0. */
		if (!isfinite(step_reward[i]))
		{
			if (!group->lenient)
				refuse_reward(group, i);
			return false;
		}
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return true;
}

/* By state, the epsilon to add to its sd. */
static double *
find_epsilons(const GroupColumns *group, const StateGraph *graph, const GraphAdvantageOptions *options,
			  const double *step_reward)
{
	double	   *epsilon = ALLOCATE_ZEROED_ARRAY(double, graph->n_nodes);
	double		everywhere = options->epsilon;

	if (options->epsilon_scale == EPSILON_SCALE_STATE)
	{
		for (uint32 i = 0; i < group->n_steps; i++)
		{
			int32		state = graph->states.of_step[i];

			CHECK_ONCE_IN_A_WHILE(i);
			if (state != NO_IDENTITY)
				epsilon[state] = Max(epsilon[state], options->epsilon * fabs(step_reward[i]));
		}
		return epsilon;
	}
	if (options->epsilon_scale == EPSILON_SCALE_GROUP)
	{
		int32	   *set = ALLOCATE_ARRAY(int32, group->n_steps);
		SetMoments *all;

		for (uint32 i = 0; i < group->n_steps; i++)
			set[i] = graph->states.of_step[i] == NO_IDENTITY ? NO_SET : 0;
		all = measure_sets(step_reward, NULL, set, group->n_steps, 1);
		everywhere *= all->count > 1 ? all->sd : 0;
		pfree(all);
		pfree(set);
	}
	for (uint32 v = 0; v < graph->n_nodes; v++)
		epsilon[v] = everywhere;
	return epsilon;
}

void
graph_advantages(const GroupColumns *group, const StateGraph *graph, const GraphAdvantageOptions *options,
				 const double *step_reward, double *advantage)
{
	double	   *epsilon = find_epsilons(group, graph, options, step_reward);
	NormaliseOptions of_states = {options->normalisation, 0, SINGLETON_ZERO, epsilon};
	uint32	   *visits;

	/* Without a goal, rewards differ only by costs, which do not rank steps. */
	if (!graph->has_goal)
		memset(advantage, 0, group->n_steps * sizeof(double));
	else
		normalise(step_reward, NULL, graph->states.of_step, group->n_steps, graph->n_nodes, &of_states, advantage, NULL);
	/* Also without normalization: a single step cannot be compared. */
	if (options->normalisation == NORMALISE_NONE)
	{
		visits = count_visits(group, &graph->states, NULL);
		for (uint32 i = 0; i < group->n_steps; i++)
		{
			CHECK_ONCE_IN_A_WHILE(i);
			if (graph->states.of_step[i] != NO_IDENTITY && visits[graph->states.of_step[i]] == 1)
				advantage[i] = 0;
		}
		pfree(visits);
	}
	pfree(epsilon);
}

enum
{
	P_DISCOUNT, P_SUCCESS_REWARD, P_GRAPH_WEIGHT, P_EPISODE_WEIGHT, P_EPSILON, P_CONVENTION, P_WEIGHTING,
	P_SUCCESS_ABOVE, P_NORMALISE, P_EPSILON_OF
};

static const Parameter graphgpo_parameters[] = {
	DISCOUNT_PARAMETER,
	SUCCESS_REWARD_PARAMETER,
	NUMBER_PARAMETER("graph_weight", -INFINITY, INFINITY),
	NUMBER_PARAMETER("episode_weight", -INFINITY, INFINITY),
	EPSILON_PARAMETER,
	CONVENTION_PARAMETER,
	WEIGHTING_PARAMETER,
	SUCCESS_ABOVE_PARAMETER,
	NORMALISE_PARAMETER,
	EPSILON_SCALE_PARAMETER
};

static const EstimateColumnType graphgpo_columns[] = {
	{"distance", COLUMN_FLOAT8},
	{"next_distance", COLUMN_FLOAT8},
	{"step_reward", COLUMN_FLOAT8},
	{"n_state", COLUMN_INT4},
	{"episode_advantage", COLUMN_FLOAT8},
	{"graph_advantage", COLUMN_FLOAT8},
	{"advantage", COLUMN_FLOAT8}
};

static void
graphgpo_estimate(const GroupColumns *group, const RolloutFacts *facts,
				  const ParameterValue *parameters, EstimateColumn *columns)
{
	NormaliseOptions episode_options = {
		parameters[P_NORMALISE].choice, parameters[P_EPSILON].number, SINGLETON_ZERO
	};
	GraphAdvantageOptions graph_options = {
		parameters[P_NORMALISE].choice, parameters[P_EPSILON].number, parameters[P_EPSILON_OF].choice
	};
	StepRewardOptions reward_options = {
		parameters[P_DISCOUNT].number, parameters[P_SUCCESS_REWARD].number, parameters[P_CONVENTION].choice
	};
	double		graph_weight = parameters[P_GRAPH_WEIGHT].number;
	double		episode_weight = parameters[P_EPISODE_WEIGHT].number;
	double	   *step_reward = columns[2].number;
	double	   *episode = columns[4].number;
	double	   *by_graph = columns[5].number;
	StateGraph	graph;
	uint32	   *visits;

	state_graph_build(group, facts, parameters[P_SUCCESS_ABOVE].number, &graph);
	visits = count_visits(group, &graph.states, NULL);
	if (graph_step_rewards(group, &graph, &reward_options, step_reward))
		graph_advantages(group, &graph, &graph_options, step_reward, by_graph);
	else
		fill_unknown(by_graph, group->n_steps);
	episode_advantages(group, facts, parameters[P_WEIGHTING].choice == WEIGHTING_STEP, &episode_options, episode, NULL);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		state = graph.states.of_step[i];

		if (state == NO_IDENTITY)
			continue;
		CHECK_ONCE_IN_A_WHILE(i);
		columns[0].number[i] = known_distance(&graph, state);
		columns[1].number[i] = known_distance(&graph, graph.next[i]);
		columns[3].count[i] = visits[state];
		columns[6].number[i] = graph_weight * by_graph[i] + episode_weight * episode[i];
	}
}

STEPADV_ESTIMATOR_READING(graphgpo, graphgpo_parameters, graphgpo_columns, graphgpo_estimate, DEFECT_COST)
