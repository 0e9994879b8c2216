/*
 * graph_summary.c
 *		graph_summary: the state graph of a group in one row.
 *
 * Over the states of graph_nodes, the goal apart: which share was visited once, by
 * one rollout (RTMC, section 6.2), leads nowhere (dead ends: no walk to the goal, GraphGPO's unreachable
 * nodes), was in no rollout that succeeded; how far from the goal they are; by number of step how
 * many rollouts came so far and how often the states that they were in then were visited; and the share
 * of steps whose graph advantage (graphgpo) is not 0.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "arrays.h"
#include "analysis/graph_table.h"
#include "estimators/graphgpo.h"
#include "group/facts.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_graph_summary);

enum
{
	P_SUCCESS_ABOVE, P_MAX_BINS
};

static const Parameter graph_summary_parameters[] = {
	SUCCESS_ABOVE_PARAMETER,
	INTEGER_PARAMETER("max_bins", 1, 10000)
};

typedef struct GraphSummary
{
	int32		n_rollouts;		/* judged */
	int32		n_successes;
	int32		n_steps;
	int32		n_states;
	double		singleton_share;
	double		one_rollout_share;
	double		dead_end_share;
	double		unreached_share;
	double		nonzero_share;
	double		farthest;
	ArrayType  *distance_histogram;
	ArrayType  *rollouts_by_depth;
	ArrayType  *visits_by_depth;
} GraphSummary;

static ArrayType *
array_of_counts(const int32 *counts, int n)
{
	Datum	   *elements = ALLOCATE_ARRAY(Datum, n);

	for (int i = 0; i < n; i++)
		elements[i] = Int32GetDatum(counts[i]);
	return construct_array(elements, n, INT4OID, sizeof(int32), true, TYPALIGN_INT);
}

static ArrayType *
array_of_means(const double *sums, const int32 *counts, int n)
{
	Datum	   *elements = ALLOCATE_ARRAY(Datum, n);

	for (int i = 0; i < n; i++)
		elements[i] = Float8GetDatum(sums[i] / counts[i]);
	return construct_array(elements, n, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE);
}

/* Entry d: states with a distance above d - 1 up to d, whatever rounding made of it; the last: and all beyond. */
static void
summarise_distances(const StateGraph *graph, int max_bins, GraphSummary *summary)
{
	int32	   *counts = ALLOCATE_ZEROED_ARRAY(int32, max_bins);
	int			n = 0;

	summary->farthest = NAN;
	for (uint32 v = 0; v < graph->states.n; v++)
	{
		double		distance = graph->distance[v];
		int			bin;

		if (isinf(distance))
			continue;
		bin = (int) Min(Max(ceil(distance * (1 - 1e-12)), 1), max_bins);
		counts[bin - 1]++;
		n = Max(n, bin);
		if (!(distance <= summary->farthest))
			summary->farthest = distance;
	}
	summary->distance_histogram = array_of_counts(counts, n);
	pfree(counts);
}

static void
summarise_states(const GroupColumns *group, const StateGraph *graph, const GraphNodes *nodes, GraphSummary *summary)
{
	const bool *successful = find_successful_nodes(group, graph);
	uint32		singletons = 0;
	uint32		of_one_rollout = 0;
	uint32		dead_ends = 0;
	uint32		unreached = 0;
	double		n = graph->states.n;	/* of none 0 / 0, that is NULL */

	for (uint32 v = 0; v < graph->states.n; v++)
	{
		singletons += nodes->visits[v] == 1;
		of_one_rollout += nodes->rollouts[v] == 1;
		dead_ends += isinf(graph->distance[v]) != 0;
		unreached += !successful[v];
	}
	summary->n_states = graph->states.n;
	summary->singleton_share = singletons / n;
	summary->one_rollout_share = of_one_rollout / n;
	summary->dead_end_share = dead_ends / n;
	summary->unreached_share = unreached / n;
}

static void
summarise_depths(const GroupColumns *group, const RolloutFacts *facts, const StateGraph *graph, const GraphNodes *nodes,
				 int max_bins, GraphSummary *summary)
{
	int32	   *rollouts = ALLOCATE_ZEROED_ARRAY(int32, max_bins);
	double	   *visits = ALLOCATE_ZEROED_ARRAY(double, max_bins);	/* sums of counts are exact */
	int			n = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (!facts->judged[r])
			continue;
		summary->n_rollouts++;
		summary->n_successes += graph->end[r] == graph_goal(graph);
		summary->n_steps += group->n_rollout_steps[r];
		for (uint32 t = 0; t < group->n_rollout_steps[r] && t < max_bins; t++)
		{
			rollouts[t]++;
			visits[t] += nodes->visits[graph->states.of_step[group->first_step[r] + t]];
			n = Max(n, t + 1);
		}
		CHECK_FOR_INTERRUPTS();
	}
	summary->rollouts_by_depth = array_of_counts(rollouts, n);
	summary->visits_by_depth = array_of_means(visits, rollouts, n);
	pfree(rollouts);
	pfree(visits);
}

/* Of graphgpo with its defaults: whether an advantage is 0 depends on none of them but the costs. */
static double
find_nonzero_share(const GroupColumns *group, const StateGraph *graph, uint32 n_steps)
{
	StepRewardOptions of_rewards = {0.1, 10, CONVENTION_PAPER};
	GraphAdvantageOptions of_advantages = {NORMALISE_STD, 1e-6, EPSILON_ABSOLUTE};
	double	   *reward = ALLOCATE_ARRAY(double, group->n_steps);
	double	   *advantage = ALLOCATE_ARRAY(double, group->n_steps);
	uint32		nonzero = 0;

	if (!graph_step_rewards(group, graph, &of_rewards, reward))
		return NAN;
	graph_advantages(group, graph, &of_advantages, reward, advantage);
	for (uint32 i = 0; i < group->n_steps; i++)
		nonzero += graph->states.of_step[i] != NO_IDENTITY && advantage[i] != 0;
	pfree(reward);
	pfree(advantage);
	return (double) nonzero / n_steps;
}

Datum
stepadv_graph_summary(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(graph_summary_parameters)];
	GraphSummary *summary = palloc0(sizeof(GraphSummary));
	GroupColumns group;
	RolloutFacts facts;
	StateGraph	graph;
	GraphNodes	nodes;
	int			max_bins;

	read_parameters(fcinfo, 1, graph_summary_parameters, lengthof(graph_summary_parameters), parameters);
	max_bins = (int) parameters[P_MAX_BINS].number;
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	leave_out_defects(&group, DEFECT_COST, &facts);
	state_graph_build(&group, &facts, parameters[P_SUCCESS_ABOVE].number, &graph);
	graph_nodes_find(&group, &facts, &graph, &nodes);
	summarise_distances(&graph, max_bins, summary);
	summarise_states(&group, &graph, &nodes, summary);
	summarise_depths(&group, &facts, &graph, &nodes, max_bins, summary);
	summary->nonzero_share = find_nonzero_share(&group, &graph, summary->n_steps);

	{
		ResultColumn columns[] = {
			{"n_rollouts", COLUMN_INT4, &summary->n_rollouts, NULL},
			{"n_successes", COLUMN_INT4, &summary->n_successes, NULL},
			{"n_steps", COLUMN_INT4, &summary->n_steps, NULL},
			{"n_states", COLUMN_INT4, &summary->n_states, NULL},
			{"singleton_share", COLUMN_FLOAT8, &summary->singleton_share, NULL},
			{"one_rollout_share", COLUMN_FLOAT8, &summary->one_rollout_share, NULL},
			{"dead_end_share", COLUMN_FLOAT8, &summary->dead_end_share, NULL},
			{"unreached_share", COLUMN_FLOAT8, &summary->unreached_share, NULL},
			{"nonzero_share", COLUMN_FLOAT8, &summary->nonzero_share, NULL},
			{"farthest", COLUMN_FLOAT8, &summary->farthest, NULL},
			{"distance_histogram", COLUMN_INT4_ARRAY, &summary->distance_histogram, NULL},
			{"rollouts_by_depth", COLUMN_INT4_ARRAY, &summary->rollouts_by_depth, NULL},
			{"visits_by_depth", COLUMN_FLOAT8_ARRAY, &summary->visits_by_depth, NULL},
		};

		RETURN_COLUMNS(columns, 1);
	}
}
