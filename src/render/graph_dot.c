/*
 * graph_dot.c
 *		graph_dot: the state graph as Graphviz text.
 *
 * Rounded boxes are states (distance to the goal, visits), filled from green next
 * to the goal over yellow to orange far from it; dead ends are red with sharp
 * corners, the goal is a double circle, and where rollouts began has a thick rim.
 * Edges are actions (label, visits, graph advantage or that of any other method,
 * whose values of the states are shown, too), as wide as they are travelled: green where they come nearer to the goal, red where they lead to a
 * dead end or to an end that nothing is known of (a point), grey otherwise.
 * Pruning is that of dot_choose_edges.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "arrays.h"
#include "compat.h"
#include "analysis/graph_table.h"
#include "group/facts.h"
#include "parameters.h"
#include "render/dot.h"
#include "render/estimates.h"

PG_FUNCTION_INFO_V1(stepadv_graph_dot);

enum
{
	ARG_GROUP, ARG_LABELS, ARG_STATE_LABELS, ARG_MIN_VISITS, ARG_MAX_EDGES, ARG_LABEL_LENGTH,
	ARG_FIRST_PARAMETER
};

#define NEUTRAL_COLOUR	"#8c8c8c"
#define DEAD_END_FILL	"#f6d5d1"

typedef struct Drawing
{
	const GroupColumns *group;
	const StateGraph *graph;
	const GraphNodes *nodes;
	const GraphEdges *edges;
	DotEstimates shown;			/* in the place of graphgpo's */
	int32	   *source;			/* by edge: the nodes it leads from and to */
	int32	   *target;
	bool	   *drawn;			/* by edge */
	uint32		most_visits;
	Jsonb	   *labels;
	Jsonb	   *state_labels;
	int			label_length;
	StringInfoData dot;
} Drawing;

static bool
is_dead_end(const Drawing *drawing, int32 node)
{
	return node == NO_IDENTITY || isinf(drawing->graph->distance[node]);
}

/* Hue 1/3 is green, 1/12 orange; pale enough to write on. */
static void
append_distance_colour(Drawing *drawing, int32 node)
{
	double		share = drawing->graph->distance[node] / drawing->graph->beyond;

	appendStringInfo(&drawing->dot, "%.3f 0.45 0.95", 1.0 / 3 - share / 4);
}

static void
draw_node(Drawing *drawing, int32 node)
{
	const StateGraph *graph = drawing->graph;
	StringInfo	dot = &drawing->dot;

	if (node == graph_goal(graph))
	{
		appendStringInfo(dot,
						 "  n%d [shape=doublecircle, style=filled, fontcolor=white, fillcolor=\"%s\", label=\"GOAL\\nn %u\"];\n",
						 node, DOT_SUCCESS_COLOUR, drawing->nodes->visits[node]);
		return;
	}
	appendStringInfo(dot, "  n%d [label=\"", node);
	if (node_has_step(graph, node) &&
		dot_append_label(dot, drawing->state_labels, drawing->group->step_id[graph->states.first_step[node]],
						 drawing->label_length))
		appendStringInfoString(dot, "\\n");
	if (is_dead_end(drawing, node))
		appendStringInfoString(dot, "dead end");
	else
		appendStringInfo(dot, "d %g", graph->distance[node]);
	if (drawing->shown.given && !isnan(drawing->shown.v[node]))
		appendStringInfo(dot, "\\nV %.2f", drawing->shown.v[node]);
	appendStringInfo(dot, "\\nn %u\", ", drawing->nodes->visits[node]);
	if (is_dead_end(drawing, node))
		appendStringInfo(dot, "style=filled, color=\"%s\", fillcolor=\"%s\"", DOT_FAILURE_COLOUR, DEAD_END_FILL);
	else
	{
		appendStringInfoString(dot, "fillcolor=\"");
		append_distance_colour(drawing, node);
		appendStringInfoChar(dot, '"');
	}
	appendStringInfo(dot, "%s];\n", drawing->nodes->is_start[node] ? ", penwidth=3" : "");
}

/* The nodes that an edge drawn touches. */
static void
draw_nodes(Drawing *drawing)
{
	bool	   *touched = ALLOCATE_ZEROED_ARRAY(bool, drawing->graph->n_nodes);

	for (uint32 e = 0; e < drawing->edges->edges.n; e++)
	{
		if (!drawing->drawn[e])
			continue;
		touched[drawing->source[e]] = true;
		if (drawing->target[e] != NO_IDENTITY)
			touched[drawing->target[e]] = true;
	}
	for (uint32 v = 0; v < drawing->graph->n_nodes; v++)
	{
		if (touched[v])
			draw_node(drawing, v);
		CHECK_FOR_INTERRUPTS();
	}
}

static const char *
edge_colour(const Drawing *drawing, int32 source, int32 target)
{
	if (is_dead_end(drawing, target))
		return DOT_FAILURE_COLOUR;
	return drawing->graph->distance[target] < drawing->graph->distance[source] ? DOT_SUCCESS_COLOUR : NEUTRAL_COLOUR;
}

/* What was done, how often, and its advantage. */
static void
append_action(Drawing *drawing, uint32 edge)
{
	dot_append_action(&drawing->dot, drawing->labels, drawing->group, drawing->edges->edges.first_step[edge],
					  drawing->label_length);
	dot_append_advantage(&drawing->dot, drawing->edges->visits[edge],
						 drawing->shown.given ? drawing->shown.advantage[edge] : drawing->edges->advantage[edge]);
}

static void
append_edge_style(Drawing *drawing, uint32 edge, uint32 visits)
{
	appendStringInfo(&drawing->dot, "\", color=\"%s\", penwidth=%.1f];\n",
					 edge_colour(drawing, drawing->source[edge], drawing->target[edge]),
					 dot_pen_width(visits, drawing->most_visits));
}

static void
draw_edge(Drawing *drawing, uint32 edge)
{
	StringInfo	dot = &drawing->dot;

	if (drawing->target[edge] == NO_IDENTITY)
		appendStringInfo(dot, "  e%u [shape=point, width=0.1, color=\"%s\"];\n  n%d -> e%u [label=\"",
						 edge, DOT_FAILURE_COLOUR, drawing->source[edge], edge);
	else
		appendStringInfo(dot, "  n%d -> n%d [label=\"", drawing->source[edge], drawing->target[edge]);
	append_action(drawing, edge);
	append_edge_style(drawing, edge, drawing->edges->visits[edge]);
}

/* Actions that leave a state as it is: one loop that lists them. */
static void
draw_loops(Drawing *drawing, const int32 *first_loop, const int32 *next_loop)
{
	for (uint32 v = 0; v < drawing->graph->n_nodes; v++)
	{
		uint32		visits = 0;

		if (first_loop[v] == NO_IDENTITY)
			continue;
		appendStringInfo(&drawing->dot, "  n%u -> n%u [label=\"", v, v);
		for (int32 e = first_loop[v]; e != NO_IDENTITY; e = next_loop[e])
		{
			append_action(drawing, e);
			appendStringInfoString(&drawing->dot, "\\n");
			visits += drawing->edges->visits[e];
		}
		append_edge_style(drawing, first_loop[v], visits);
	}
}

/* The most visits of what is drawn as one. */
static uint32
find_most_visits(const Drawing *drawing, const int32 *first_loop, const int32 *next_loop)
{
	uint32		most = 0;

	for (uint32 e = 0; e < drawing->edges->edges.n; e++)
		most = Max(most, drawing->edges->visits[e]);
	for (uint32 v = 0; v < drawing->graph->n_nodes; v++)
	{
		uint32		visits = 0;

		for (int32 e = first_loop[v]; e != NO_IDENTITY; e = next_loop[e])
			visits += drawing->edges->visits[e];
		most = Max(most, visits);
	}
	return most;
}

static void
draw_edges(Drawing *drawing)
{
	uint32		n_edges = drawing->edges->edges.n;
	uint32		n_nodes = drawing->graph->n_nodes;
	int32	   *first_loop = ALLOCATE_ARRAY(int32, n_nodes);
	int32	   *next_loop = ALLOCATE_ARRAY(int32, n_edges);

	dot_list_loops(drawing->source, drawing->target, drawing->drawn, n_edges, n_nodes, first_loop, next_loop);
	drawing->most_visits = find_most_visits(drawing, first_loop, next_loop);
	for (uint32 e = 0; e < n_edges; e++)
	{
		if (drawing->drawn[e] && drawing->source[e] != drawing->target[e])
			draw_edge(drawing, e);
		CHECK_FOR_INTERRUPTS();
	}
	draw_loops(drawing, first_loop, next_loop);
}

static const Parameter graph_dot_parameters[] = {GRAPH_PARAMETERS, ESTIMATES_PARAMETER};

enum
{
	GRAPH_ESTIMATES = N_GRAPH_PARAMETERS
};

Datum
stepadv_graph_dot(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(graph_dot_parameters)];
	RolloutFacts facts;
	StateGraph	graph;
	GraphNodes	nodes;
	GraphEdges	edges;
	GroupColumns group;
	Drawing		drawing = {0};
	uint32		n_drawn;
	int			min_visits;
	int			max_edges;

	if (PG_ARGISNULL(ARG_GROUP))
		PG_RETURN_NULL();
	read_parameters(fcinfo, ARG_FIRST_PARAMETER, graph_dot_parameters, lengthof(graph_dot_parameters), parameters);
	min_visits = dot_limit_argument(fcinfo, ARG_MIN_VISITS, "min_visits", 1);
	max_edges = dot_limit_argument(fcinfo, ARG_MAX_EDGES, "max_edges", 1);
	drawing.label_length = dot_limit_argument(fcinfo, ARG_LABEL_LENGTH, "label_length", 1);
	drawing.labels = PG_ARGISNULL(ARG_LABELS) ? NULL : PG_GETARG_JSONB_P(ARG_LABELS);
	drawing.state_labels = PG_ARGISNULL(ARG_STATE_LABELS) ? NULL : PG_GETARG_JSONB_P(ARG_STATE_LABELS);

	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(ARG_GROUP), &group, NULL);
	find_rollout_facts(&group, &facts);
	leave_out_defects(&group, DEFECT_COST, &facts);
	state_graph_build(&group, &facts, parameters[GRAPH_SUCCESS_ABOVE].number, &graph);
	graph_nodes_find(&group, &facts, &graph, &nodes);
	graph_edges_find(&group, &facts, &graph, parameters, &edges);
	dot_read_estimates(&parameters[GRAPH_ESTIMATES], &group, &edges.edges, &graph.states, &drawing.shown);
	drawing.group = &group;
	drawing.graph = &graph;
	drawing.nodes = &nodes;
	drawing.edges = &edges;
	drawing.source = ALLOCATE_ARRAY(int32, edges.edges.n);
	drawing.target = ALLOCATE_ARRAY(int32, edges.edges.n);
	for (uint32 e = 0; e < edges.edges.n; e++)
	{
		drawing.source[e] = graph.states.of_step[edges.edges.first_step[e]];
		drawing.target[e] = graph.next[edges.edges.first_step[e]];
	}
	drawing.drawn = ALLOCATE_ARRAY(bool, edges.edges.n);
	n_drawn = dot_choose_edges(edges.visits, edges.edges.n, min_visits, max_edges, drawing.drawn);

	initStringInfo(&drawing.dot);
	appendStringInfo(&drawing.dot,
					 "digraph state_graph {\n"
					 "  graph [rankdir=LR, labelloc=t, fontname=\"Helvetica\", label=\"%u rollouts, %u of them reached the goal, %u of %u edges drawn\"];\n"
					 "  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10];\n"
					 "  edge [fontname=\"Helvetica\", fontsize=9];\n",
					 facts.n_judged, nodes.rollouts[graph_goal(&graph)], n_drawn, edges.edges.n);
	draw_nodes(&drawing);
	draw_edges(&drawing);
	appendStringInfoString(&drawing.dot, "}\n");
	PG_RETURN_TEXT_P(dot_text(&drawing.dot));
}
