/*
 * graph_table.c
 *		graph_nodes, graph_edges, contribution: the state graph as rows.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/normalise.h"
#include "analysis/identity_fields.h"
#include "estimators/graph.h"
#include "estimators/graphgpo.h"
#include "group/facts.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_graph_nodes);
PG_FUNCTION_INFO_V1(stepadv_graph_edges);
PG_FUNCTION_INFO_V1(stepadv_contribution);

/* ----------
 * Nodes
 * ----------
 */

/* By node. */
typedef struct GraphNodes
{
	uint32	   *visits;			/* by steps, and by ends of rollouts */
	uint32	   *rollouts;		/* that visited it */
	bool	   *is_start;		/* a rollout began in it */
} GraphNodes;

static void
graph_nodes_find(const GroupColumns *group, const RolloutFacts *facts, const StateGraph *graph, GraphNodes *nodes)
{
	uint32		n = graph->n_nodes;
	uint32	   *last_rollout = ALLOCATE_ZEROED_ARRAY(uint32, n);

	nodes->visits = ALLOCATE_ZEROED_ARRAY(uint32, n);
	nodes->rollouts = ALLOCATE_ZEROED_ARRAY(uint32, n);
	nodes->is_start = ALLOCATE_ZEROED_ARRAY(bool, n);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (!facts->judged[r] || group->n_rollout_steps[r] == 0)
			continue;
		nodes->is_start[graph->states.of_step[group->first_step[r]]] = true;
		/* The states of its steps, then the node in which it ended, if known. */
		for (uint32 i = group->first_step[r]; i <= group->first_step[r + 1]; i++)
		{
			int32		node = i < group->first_step[r + 1] ? graph->states.of_step[i] : graph->end[r];

			if (node == NO_IDENTITY)
				continue;
			nodes->visits[node]++;
			if (last_rollout[node] != r + 1)
				nodes->rollouts[node]++;
			last_rollout[node] = r + 1;
		}
		CHECK_FOR_INTERRUPTS();
	}
	pfree(last_rollout);
}

/* Whether a step was taken in this node, such as states.first_step. */
static bool
node_has_step(const StateGraph *graph, int32 node)
{
	return node != graph_goal(graph) && graph->states.of_step[graph->states.first_step[node]] == node;
}

/* The state of a node; NULL for the goal, a NULL state or no node. */
static NullableInt8
node_state(const GroupColumns *group, const StateGraph *graph, int32 node)
{
	if (node == NO_IDENTITY || node == graph_goal(graph))
		return (NullableInt8) {0, true};
	if (!node_has_step(graph, node))
		return (NullableInt8) {group->next_state[graph->states.first_step[node]], false};
	return state_field(group, graph->states.first_step[node]);
}

/* The number of result rows; the goal, which is the last node, has one only if a rollout reached it. */
static uint32
n_node_rows(const StateGraph *graph)
{
	return graph->has_goal ? graph->n_nodes : graph->n_nodes - 1;
}

/* Shared by all functions of this file. */
static void
open_graph(FunctionCallInfo fcinfo, double success_above, GroupColumns *group, RolloutFacts *facts, StateGraph *graph)
{
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), group, NULL);
	find_rollout_facts(group, facts);
	leave_out_defects(group, DEFECT_COST, facts);
	state_graph_build(group, facts, success_above, graph);
}

static const Parameter success_above_parameters[] = {SUCCESS_ABOVE_PARAMETER};

/* The columns of graph_nodes, in the order of its result. */
enum
{
	NODE_STATE, NODE_VISITS, NODE_ROLLOUTS, NODE_DISTANCE, NODE_IS_GOAL, NODE_IS_START, NODE_DEAD_END, NODE_ON_CYCLE,
	NODE_STEP_ID,
	N_NODE_COLUMNS
};

typedef struct NodeRow
{
	NullableInt8 state;
	double		distance;
	bool		is_goal;
	bool		is_dead_end;
	NullableInt8 step_id;
} NodeRow;

static NodeRow *
describe_nodes(const GroupColumns *group, const StateGraph *graph)
{
	NodeRow    *rows = ALLOCATE_ARRAY(NodeRow, graph->n_nodes);

	for (uint32 v = 0; v < graph->n_nodes; v++)
	{
		bool		has_step = node_has_step(graph, v);

		CHECK_FOR_INTERRUPTS();
		rows[v] = (NodeRow) {
			.state = node_state(group, graph, v), .distance = known_distance(graph, v),
			.is_goal = (int32) v == graph_goal(graph), .is_dead_end = isinf(graph->distance[v]),
			.step_id = {has_step ? group->step_id[graph->states.first_step[v]] : 0, !has_step}
		};
	}
	return rows;
}

/* Columns that are not read are not computed: for large graphs, a query may read only distances. */
Datum
stepadv_graph_nodes(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(success_above_parameters)];
	RolloutFacts facts;
	StateGraph	graph;
	GraphNodes	nodes = {0};
	GroupColumns group;
	NodeRow    *rows;
	bool	   *on_cycle = NULL;

	read_parameters(fcinfo, 1, success_above_parameters, lengthof(success_above_parameters), parameters);
	open_graph(fcinfo, parameters[0].number, &group, &facts, &graph);
	if (column_is_asked(fcinfo, NODE_VISITS) || column_is_asked(fcinfo, NODE_ROLLOUTS) ||
		column_is_asked(fcinfo, NODE_IS_START))
		graph_nodes_find(&group, &facts, &graph, &nodes);
	if (column_is_asked(fcinfo, NODE_ON_CYCLE))
		on_cycle = find_cycles(&group, &graph);
	rows = describe_nodes(&group, &graph);

	{
		const ResultColumn columns[N_NODE_COLUMNS] = {
			[NODE_STATE] = NULLABLE_FIELD_COLUMN(rows, state),
			[NODE_VISITS] = {"n_visits", COLUMN_INT4, nodes.visits},
			[NODE_ROLLOUTS] = {"n_rollouts", COLUMN_INT4, nodes.rollouts},
			[NODE_DISTANCE] = FIELD_COLUMN(rows, distance),
			[NODE_IS_GOAL] = FIELD_COLUMN(rows, is_goal),
			[NODE_IS_START] = {"is_start", COLUMN_BOOL, nodes.is_start},
			[NODE_DEAD_END] = FIELD_COLUMN(rows, is_dead_end),
			[NODE_ON_CYCLE] = {"on_cycle", COLUMN_BOOL, on_cycle},
			[NODE_STEP_ID] = NULLABLE_FIELD_COLUMN(rows, step_id)
		};

		RETURN_COLUMNS(columns, n_node_rows(&graph));
	}
}

/* ----------
 * Edges
 * ----------
 */

enum
{
	GRAPH_DISCOUNT, GRAPH_SUCCESS_REWARD, GRAPH_EPSILON, GRAPH_CONVENTION, GRAPH_SUCCESS_ABOVE,
	GRAPH_NORMALISE, GRAPH_EPSILON_OF,
	N_GRAPH_PARAMETERS
};

/* Steps with the same state, action and next node form an edge. */
typedef struct GraphEdges
{
	Identities	edges;
	uint32	   *visits;			/* steps on it */
	uint32	   *rollouts;
	double	   *cost;			/* least of its steps */
	double	   *step_reward;	/* of graphgpo, mean over the steps */
	double	   *advantage;		/* graph advantage, likewise */
} GraphEdges;

/* The error names the first step on an edge whose sum overflows. */
static void
refuse_sum(const GroupColumns *group, const GraphEdges *edges, const SetMoments *moments)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			int32		edge = edges->edges.of_step[i];

			if (edge != NO_IDENTITY && isinf(moments[edge].sum.high))
				refuse_overflow(group, r, i);
		}
}

/* The mean of x over the steps on each edge. */
static double *
edge_means(const GroupColumns *group, const GraphEdges *edges, const double *x)
{
	SetMoments *moments = measure_sets(x, NULL, edges->edges.of_step, group->n_steps, edges->edges.n);
	double	   *mean = ALLOCATE_ARRAY(double, edges->edges.n);

	for (uint32 e = 0; e < edges->edges.n; e++)
	{
		if (isinf(moments[e].sum.high))
			refuse_sum(group, edges, moments);
		mean[e] = moments[e].mean;
	}
	pfree(moments);
	return mean;
}

/* The means of graphgpo's results over the steps on each edge. */
static void
find_edge_rewards(const GroupColumns *group, const StateGraph *graph, const ParameterValue *parameters,
				  GraphEdges *edges)
{
	StepRewardOptions options = {
		parameters[GRAPH_DISCOUNT].number, parameters[GRAPH_SUCCESS_REWARD].number,
		parameters[GRAPH_CONVENTION].choice
	};
	GraphAdvantageOptions advantage_options = {
		parameters[GRAPH_NORMALISE].choice, parameters[GRAPH_EPSILON].number, parameters[GRAPH_EPSILON_OF].choice
	};
	double	   *step_reward = ALLOCATE_ARRAY(double, group->n_steps);
	double	   *advantage = ALLOCATE_ARRAY(double, group->n_steps);

	if (graph_step_rewards(group, graph, &options, step_reward))
	{
		graph_advantages(group, graph, &advantage_options, step_reward, advantage);
		edges->step_reward = edge_means(group, edges, step_reward);
		edges->advantage = edge_means(group, edges, advantage);
	}
	else
	{
		edges->step_reward = ALLOCATE_ARRAY(double, edges->edges.n);
		edges->advantage = ALLOCATE_ARRAY(double, edges->edges.n);
		fill_unknown(edges->step_reward, edges->edges.n);
		fill_unknown(edges->advantage, edges->edges.n);
	}
	pfree(step_reward);
	pfree(advantage);
}

static void
graph_edges_find(const GroupColumns *group, const StateGraph *graph, const ParameterValue *parameters,
				 GraphEdges *edges)
{
	Identities	pairs;

	number_pairs(group, &graph->states, &pairs);
	number_transitions(group, &pairs, graph->next, &edges->edges);
	edges->visits = count_visits(group, &edges->edges, NULL);
	edges->rollouts = count_visits(group, &edges->edges, find_visits(group, &edges->edges, VISIT_FIRST));
	edges->cost = ALLOCATE_ARRAY(double, edges->edges.n);
	for (uint32 e = 0; e < edges->edges.n; e++)
		edges->cost[e] = INFINITY;
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		edge = edges->edges.of_step[i];

		CHECK_ONCE_IN_A_WHILE(i);
		if (edge != NO_IDENTITY)
			edges->cost[edge] = Min(edges->cost[edge], step_cost(group, i));
	}
	find_edge_rewards(group, graph, parameters, edges);
}

static const Parameter graph_parameters[] = {
	DISCOUNT_PARAMETER, SUCCESS_REWARD_PARAMETER, EPSILON_PARAMETER, CONVENTION_PARAMETER,
	SUCCESS_ABOVE_PARAMETER, NORMALISE_PARAMETER, EPSILON_SCALE_PARAMETER
};

typedef struct EdgeRow
{
	NullableInt8 state;
	NullableInt8 action;
	NullableInt8 next_state;
	double		distance;
	double		next_distance;
	int64		step_id;
} EdgeRow;

Datum
stepadv_graph_edges(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[N_GRAPH_PARAMETERS];
	RolloutFacts facts;
	StateGraph	graph;
	GraphEdges	edges;
	GroupColumns group;
	EdgeRow    *rows;

	read_parameters(fcinfo, 1, graph_parameters, lengthof(graph_parameters), parameters);
	open_graph(fcinfo, parameters[GRAPH_SUCCESS_ABOVE].number, &group, &facts, &graph);
	graph_edges_find(&group, &graph, parameters, &edges);
	rows = ALLOCATE_ARRAY(EdgeRow, edges.edges.n);
	for (uint32 e = 0; e < edges.edges.n; e++)
	{
		uint32		step = edges.edges.first_step[e];
		int32		state = graph.states.of_step[step];

		CHECK_FOR_INTERRUPTS();
		rows[e] = (EdgeRow) {
			.state = node_state(&group, &graph, state), .action = action_field(&group, step),
			.next_state = node_state(&group, &graph, graph.next[step]), .distance = known_distance(&graph, state),
			.next_distance = known_distance(&graph, graph.next[step]), .step_id = group.step_id[step]
		};
	}

	{
		ResultColumn columns[] = {
			NULLABLE_FIELD_COLUMN(rows, state),
			NULLABLE_FIELD_COLUMN(rows, action),
			NULLABLE_FIELD_COLUMN(rows, next_state),
			{"n_visits", COLUMN_INT4, edges.visits},
			{"n_rollouts", COLUMN_INT4, edges.rollouts},
			{"cost", COLUMN_FLOAT8, edges.cost},
			FIELD_COLUMN(rows, distance),
			FIELD_COLUMN(rows, next_distance),
			{"step_reward", COLUMN_FLOAT8, edges.step_reward},
			{"graph_advantage", COLUMN_FLOAT8, edges.advantage},
			FIELD_COLUMN(rows, step_id),
		};

		RETURN_COLUMNS(columns, edges.edges.n);
	}
}

/* ----------
 * Contribution
 * ----------
 */

typedef struct ContributionRow
{
	NullableInt4 n_contributing;
	double		share;
	bool		success;
	bool		unjudged;
} ContributionRow;

/*
 * A row per rollout.  n_contributing is NULL if no rollout reached the goal, or
 * the rollout is not judged.
 */
Datum
stepadv_contribution(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(success_above_parameters)];
	RolloutFacts facts;
	StateGraph	graph;
	GroupColumns group;
	ContributionRow *rows;

	read_parameters(fcinfo, 1, success_above_parameters, lengthof(success_above_parameters), parameters);
	open_graph(fcinfo, parameters[0].number, &group, &facts, &graph);
	rows = ALLOCATE_ARRAY(ContributionRow, group.n_rollouts);
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		ContributionRow *row = &rows[r];

		*row = (ContributionRow) {
			.n_contributing = {0, !facts.judged[r] || !graph.has_goal}, .share = NAN,
			.success = rollout_succeeded(&group, &facts, r, parameters[0].number), .unjudged = !facts.judged[r]
		};
		if (row->n_contributing.isnull || group.n_rollout_steps[r] == 0)
			continue;
		for (uint32 i = group.first_step[r]; i < group.first_step[r + 1]; i++)
			if (graph.next[i] != NO_IDENTITY &&
				graph.distance[graph.next[i]] < graph.distance[graph.states.of_step[i]])
				row->n_contributing.value++;
		row->share = (double) row->n_contributing.value / group.n_rollout_steps[r];
		CHECK_FOR_INTERRUPTS();
	}

	{
		ResultColumn columns[] = {
			{"rollout_id", COLUMN_INT8, group.rollout_id},
			{"n_steps", COLUMN_INT4, group.n_rollout_steps},
			NULLABLE_FIELD_COLUMN(rows, n_contributing),
			FIELD_COLUMN(rows, share),
			{"success", COLUMN_BOOL, &rows->success, &rows->unjudged, sizeof(*rows)},
		};

		RETURN_COLUMNS(columns, group.n_rollouts);
	}
}
