/*
 * graphgpo.c
 *		graphgpo: credit by distance to the goal in the group's state graph.
 *
 * d(s) is the least cost from s to the goal over the steps of all judged
 * rollouts together, or 1 more than the largest where there is no way.  A step
 * from s to s' at cost c is rewarded, by convention,
 *
 *	paper		success_reward * discount ^ (d(s') + c)
 *	recipe		success_reward * discount ^ d(s')
 *	progress	success_reward * discount ^ (d(s') - d(s) + 1)
 *
 *	graph_advantage	= (reward - mean) / (sd + epsilon) over the steps that leave
 *					  the same state; 0 for the only one, and where nobody
 *					  reached the goal
 *	advantage		= graph_weight * graph_advantage
 *					  + episode_weight * (R - mean R) / (sd R + epsilon)
 *
 * (GraphGPO, equation 4; the recipe is its authors' code.)
 */
#include "postgres.h"

#include "miscadmin.h"

#include "estimator.h"
#include "estimators/episode.h"
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
		/* By `progress`, where a step costs so much that the exponent is far below 0. */
		if (!isfinite(step_reward[i]))
		{
			if (!group->forgiving)
				refuse_reward(group, i);
			return false;
		}
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	return true;
}

void
graph_advantages(const GroupColumns *group, const StateGraph *graph, double epsilon,
				 const double *step_reward, double *advantage)
{
	NormaliseOptions options = {NORMALISE_STD, epsilon, SINGLETON_ZERO};

	/* Without a goal, rewards differ by costs only, which says nothing of steps. */
	if (graph->has_goal)
		normalise(step_reward, NULL, graph->states.of_step, group->n_steps, graph->n_nodes, &options,
				  advantage, NULL);
	else
		memset(advantage, 0, group->n_steps * sizeof(double));
}

enum
{
	P_DISCOUNT, P_SUCCESS_REWARD, P_GRAPH_WEIGHT, P_EPISODE_WEIGHT, P_EPSILON, P_CONVENTION, P_WEIGHTING,
	P_SUCCESS_ABOVE
};

static const Parameter graphgpo_parameters[] = {
	DISCOUNT_PARAMETER,
	SUCCESS_REWARD_PARAMETER,
	NUMBER_PARAMETER("graph_weight", -INFINITY, INFINITY),
	NUMBER_PARAMETER("episode_weight", -INFINITY, INFINITY),
	EPSILON_PARAMETER,
	CONVENTION_PARAMETER,
	WEIGHTING_PARAMETER,
	SUCCESS_ABOVE_PARAMETER
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
	NormaliseOptions options = {NORMALISE_STD, parameters[P_EPSILON].number, SINGLETON_ZERO};
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
		graph_advantages(group, &graph, parameters[P_EPSILON].number, step_reward, by_graph);
	else
		fill_unknown(by_graph, group->n_steps);
	episode_advantages(group, facts, parameters[P_WEIGHTING].choice == WEIGHTING_STEP, &options, episode, NULL);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		state = graph.states.of_step[i];

		if (state == NO_IDENTITY)
			continue;
		columns[0].number[i] = known_distance(&graph, state);
		columns[1].number[i] = known_distance(&graph, graph.next[i]);
		columns[3].count[i] = visits[state];
		columns[6].number[i] = graph_weight * by_graph[i] + episode_weight * episode[i];
	}
}

STEPADV_ESTIMATOR_READING(graphgpo, graphgpo_parameters, graphgpo_columns, graphgpo_estimate, DEFECT_COST)
