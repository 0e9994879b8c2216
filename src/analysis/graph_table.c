/*
 * graph_table.c
 *		graph_nodes, graph_edges, contribution: the state graph as rows.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/normalise.h"
#include "analysis/graph_table.h"
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

void
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
		/* Its steps' states, and then the node it ended in, if any. */
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

/* Whether a step was taken in this node: its states.first_step is then one. */
static bool
node_has_step(const StateGraph *graph, int32 node)
{
	return node != graph_goal(graph) && graph->states.of_step[graph->states.first_step[node]] == node;
}

/* The identity of a node; false if it has none: the goal, a NULL state, no node. */
static bool
node_state(const GroupColumns *group, const StateGraph *graph, int32 node, int64 *state)
{
	uint32		step;

	*state = 0;
	if (node == NO_IDENTITY || node == graph_goal(graph))
		return false;
	step = graph->states.first_step[node];
	if (!node_has_step(graph, node))
	{
		*state = group->next_state[step];
		return true;
	}
	*state = group->state[step];
	return !step_has_null(group, step, NULL_STATE);
}

/* Nodes as result columns; GOAL is a row only where somebody reached it. */
static uint32
n_node_rows(const StateGraph *graph)
{
	return graph->has_goal ? graph->n_nodes : graph->n_nodes - 1;
}

typedef struct IdentityColumn
{
	int64	   *value;
	bool	   *null;
} IdentityColumn;

static IdentityColumn
allocate_identities(uint32 n)
{
	return (IdentityColumn) {ALLOCATE_ARRAY(int64, n), ALLOCATE_ZEROED_ARRAY(bool, n)};
}

static IdentityColumn
node_states(const GroupColumns *group, const StateGraph *graph)
{
	IdentityColumn states = allocate_identities(graph->n_nodes);

	for (uint32 v = 0; v < graph->n_nodes; v++)
	{
		CHECK_FOR_INTERRUPTS();
		states.null[v] = !node_state(group, graph, v, &states.value[v]);
	}
	return states;
}

static double *
known_distances(const StateGraph *graph)
{
	double	   *distance = ALLOCATE_ARRAY(double, graph->n_nodes);

	for (uint32 v = 0; v < graph->n_nodes; v++)
		distance[v] = known_distance(graph, v);
	return distance;
}

/* What all functions of this file begin with. */
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

/* What nobody asks for is not computed: of large graphs distances may be all that is wanted. */
Datum
stepadv_graph_nodes(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(success_above_parameters)];
	RolloutFacts facts;
	StateGraph	graph;
	GraphNodes	nodes = {0};
	GroupColumns group;
	IdentityColumn states;
	IdentityColumn steps;
	bool	   *on_cycle = NULL;
	bool	   *is_goal;
	bool	   *dead_end;

	read_parameters(fcinfo, 1, success_above_parameters, lengthof(success_above_parameters), parameters);
	open_graph(fcinfo, parameters[0].number, &group, &facts, &graph);
	if (column_is_asked(fcinfo, NODE_VISITS) || column_is_asked(fcinfo, NODE_ROLLOUTS) ||
		column_is_asked(fcinfo, NODE_IS_START))
		graph_nodes_find(&group, &facts, &graph, &nodes);
	if (column_is_asked(fcinfo, NODE_ON_CYCLE))
		on_cycle = find_cycles(&group, &graph);
	states = node_states(&group, &graph);
	steps = allocate_identities(graph.n_nodes);
	is_goal = ALLOCATE_ARRAY(bool, graph.n_nodes);
	dead_end = ALLOCATE_ARRAY(bool, graph.n_nodes);
	for (uint32 v = 0; v < graph.n_nodes; v++)
	{
		CHECK_FOR_INTERRUPTS();
		is_goal[v] = (int32) v == graph_goal(&graph);
		dead_end[v] = isinf(graph.distance[v]);
		steps.null[v] = !node_has_step(&graph, v);
		steps.value[v] = steps.null[v] ? 0 : group.step_id[graph.states.first_step[v]];
	}

	{
		const ResultColumn columns[N_NODE_COLUMNS] = {
			[NODE_STATE] = {"state", COLUMN_INT8, states.value, states.null},
			[NODE_VISITS] = {"visits", COLUMN_INT4, nodes.visits},
			[NODE_ROLLOUTS] = {"rollouts", COLUMN_INT4, nodes.rollouts},
			[NODE_DISTANCE] = {"distance", COLUMN_FLOAT8, known_distances(&graph)},
			[NODE_IS_GOAL] = {"is_goal", COLUMN_BOOL, is_goal},
			[NODE_IS_START] = {"is_start", COLUMN_BOOL, nodes.is_start},
			[NODE_DEAD_END] = {"dead_end", COLUMN_BOOL, dead_end},
			[NODE_ON_CYCLE] = {"on_cycle", COLUMN_BOOL, on_cycle},
			[NODE_STEP_ID] = {"step_id", COLUMN_INT8, steps.value, steps.null}
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

/* Steps with the same state, action and node they led to are one edge. */
typedef struct GraphEdges
{
	Identities	edges;
	uint32	   *visits;			/* steps on it */
	uint32	   *rollouts;
	double	   *cost;			/* least of its steps */
	double	   *step_reward;	/* of graphgpo, mean over the steps */
	double	   *advantage;		/* graph advantage, likewise */
} GraphEdges;

/* Named is the first step on an edge whose steps have more together than a number holds. */
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

/* What graphgpo gives the steps on each edge. */
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
graph_edges_find(const GroupColumns *group, const RolloutFacts *facts, const StateGraph *graph,
				 const ParameterValue *parameters, GraphEdges *edges)
{
	Identities	pairs;
	uint32		n;
	uint32	   *last_rollout;

	number_pairs(group, &graph->states, &pairs);
	number_transitions(group, &pairs, graph->next, &edges->edges);
	n = edges->edges.n;
	edges->visits = count_visits(group, &edges->edges, NULL);
	edges->rollouts = ALLOCATE_ZEROED_ARRAY(uint32, n);
	edges->cost = ALLOCATE_ARRAY(double, n);
	last_rollout = ALLOCATE_ZEROED_ARRAY(uint32, n);
	for (uint32 e = 0; e < n; e++)
		edges->cost[e] = INFINITY;
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			int32		edge = edges->edges.of_step[i];

			if (edge == NO_IDENTITY)
				continue;
			if (last_rollout[edge] != r + 1)
				edges->rollouts[edge]++;
			last_rollout[edge] = r + 1;
			edges->cost[edge] = Min(edges->cost[edge], step_cost(group, i));
		}
		CHECK_FOR_INTERRUPTS();
	}
	pfree(last_rollout);
	find_edge_rewards(group, graph, parameters, edges);
}

static const Parameter graph_parameters[] = {
	DISCOUNT_PARAMETER, SUCCESS_REWARD_PARAMETER, EPSILON_PARAMETER, CONVENTION_PARAMETER,
	SUCCESS_ABOVE_PARAMETER, NORMALISE_PARAMETER, EPSILON_OF_PARAMETER
};

Datum
stepadv_graph_edges(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[N_GRAPH_PARAMETERS];
	RolloutFacts facts;
	StateGraph	graph;
	GraphEdges	edges;
	GroupColumns group;
	IdentityColumn states;
	IdentityColumn actions;
	IdentityColumn next_states;
	int64	   *step_id;
	double	   *distance;
	double	   *next_distance;

	read_parameters(fcinfo, 1, graph_parameters, lengthof(graph_parameters), parameters);
	open_graph(fcinfo, parameters[GRAPH_SUCCESS_ABOVE].number, &group, &facts, &graph);
	graph_edges_find(&group, &facts, &graph, parameters, &edges);

	states = allocate_identities(edges.edges.n);
	actions = allocate_identities(edges.edges.n);
	next_states = allocate_identities(edges.edges.n);
	step_id = ALLOCATE_ARRAY(int64, edges.edges.n);
	distance = ALLOCATE_ARRAY(double, edges.edges.n);
	next_distance = ALLOCATE_ARRAY(double, edges.edges.n);
	for (uint32 e = 0; e < edges.edges.n; e++)
	{
		uint32		step = edges.edges.first_step[e];
		int32		state = graph.states.of_step[step];

		CHECK_FOR_INTERRUPTS();
		states.null[e] = !node_state(&group, &graph, state, &states.value[e]);
		actions.null[e] = step_has_null(&group, step, NULL_ACTION);
		actions.value[e] = group.action[step];
		next_states.null[e] = !node_state(&group, &graph, graph.next[step], &next_states.value[e]);
		distance[e] = known_distance(&graph, state);
		next_distance[e] = known_distance(&graph, graph.next[step]);
		step_id[e] = group.step_id[step];
	}

	{
		ResultColumn columns[] = {
			{"state", COLUMN_INT8, states.value, states.null},
			{"action", COLUMN_INT8, actions.value, actions.null},
			{"next_state", COLUMN_INT8, next_states.value, next_states.null},
			{"visits", COLUMN_INT4, edges.visits, NULL},
			{"rollouts", COLUMN_INT4, edges.rollouts, NULL},
			{"cost", COLUMN_FLOAT8, edges.cost, NULL},
			{"distance", COLUMN_FLOAT8, distance, NULL},
			{"next_distance", COLUMN_FLOAT8, next_distance, NULL},
			{"step_reward", COLUMN_FLOAT8, edges.step_reward, NULL},
			{"graph_advantage", COLUMN_FLOAT8, edges.advantage, NULL},
			{"step_id", COLUMN_INT8, step_id, NULL},
		};

		RETURN_COLUMNS(columns, edges.edges.n);
	}
}

/* ----------
 * Contribution
 * ----------
 */

/*
 * A row per rollout.  Nothing is known about contributions to a goal that
 * nobody reached, nor of a rollout that is not judged: NULL.
 */
Datum
stepadv_contribution(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(success_above_parameters)];
	RolloutFacts facts;
	StateGraph	graph;
	GroupColumns group;
	int32	   *contributing;
	double	   *share;
	bool	   *success;
	bool	   *unjudged;
	bool	   *unknown;

	read_parameters(fcinfo, 1, success_above_parameters, lengthof(success_above_parameters), parameters);
	open_graph(fcinfo, parameters[0].number, &group, &facts, &graph);
	contributing = ALLOCATE_ZEROED_ARRAY(int32, group.n_rollouts);
	share = ALLOCATE_ARRAY(double, group.n_rollouts);
	success = ALLOCATE_ARRAY(bool, group.n_rollouts);
	unjudged = ALLOCATE_ARRAY(bool, group.n_rollouts);
	unknown = ALLOCATE_ARRAY(bool, group.n_rollouts);
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		unjudged[r] = !facts.judged[r];
		unknown[r] = unjudged[r] || !graph.has_goal;
		success[r] = rollout_succeeded(&group, &facts, r, parameters[0].number);
		share[r] = NAN;
		if (unknown[r] || group.n_rollout_steps[r] == 0)
			continue;
		for (uint32 i = group.first_step[r]; i < group.first_step[r + 1]; i++)
			if (graph.next[i] != NO_IDENTITY &&
				graph.distance[graph.next[i]] < graph.distance[graph.states.of_step[i]])
				contributing[r]++;
		share[r] = (double) contributing[r] / group.n_rollout_steps[r];
		CHECK_FOR_INTERRUPTS();
	}

	{
		ResultColumn columns[] = {
			{"rollout_id", COLUMN_INT8, group.rollout_id, NULL},
			{"n_steps", COLUMN_INT4, group.n_rollout_steps, NULL},
			{"n_contributing", COLUMN_INT4, contributing, unknown},
			{"share", COLUMN_FLOAT8, share, NULL},
			{"success", COLUMN_BOOL, success, unjudged},
		};

		RETURN_COLUMNS(columns, group.n_rollouts);
	}
}
