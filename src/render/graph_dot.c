/*
 * graph_dot.c
 *		graph_dot: the state graph as Graphviz text.
 *
 * Rounded boxes are states (distance to the goal, visits), filled from green next
 * to the goal over yellow to orange far from it; dead ends are red with sharp
 * corners, the goal is a double circle, and where rollouts began has a thick rim.
 * Edges are actions (label, visits, graph advantage), as wide as they are
 * travelled: green where they come nearer to the goal, red where they lead to a
 * dead end or to an end that nothing is known of (a point), grey otherwise.
 * Pruning is that of dot_choose_edges.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "estimators/graph_table.h"
#include "render/dot.h"

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
	const Group *group;
	const StateGraph *graph;
	const GraphNodes *nodes;
	const GraphEdges *edges;
	bool	   *drawn;			/* by edge */
	uint32		most_visits;
	Jsonb	   *labels;
	Jsonb	   *state_labels;
	int			label_length;
	StringInfoData dot;
} Drawing;

/* Where an edge leads. */
static int32
edge_target(const Drawing *drawing, uint32 edge)
{
	return drawing->graph->next[drawing->edges->edges.first_step[edge]];
}

static int32
edge_source(const Drawing *drawing, uint32 edge)
{
	return drawing->graph->states.of_step[drawing->edges->edges.first_step[edge]];
}

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
		appendStringInfo(dot, "dead end\\nn %u\", style=filled, color=\"%s\", fillcolor=\"%s\"",
						 drawing->nodes->visits[node], DOT_FAILURE_COLOUR, DEAD_END_FILL);
	else
	{
		appendStringInfo(dot, "d %g\\nn %u\", fillcolor=\"", graph->distance[node], drawing->nodes->visits[node]);
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
		touched[edge_source(drawing, e)] = true;
		if (edge_target(drawing, e) != NO_IDENTITY)
			touched[edge_target(drawing, e)] = true;
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

static void
draw_edge(Drawing *drawing, uint32 edge)
{
	StringInfo	dot = &drawing->dot;
	uint32		step = drawing->edges->edges.first_step[edge];
	int32		source = edge_source(drawing, edge);
	int32		target = edge_target(drawing, edge);

	if (target == NO_IDENTITY)
		appendStringInfo(dot, "  e%u [shape=point, width=0.1, color=\"%s\"];\n  n%d -> e%u [label=\"",
						 edge, DOT_FAILURE_COLOUR, source, edge);
	else
		appendStringInfo(dot, "  n%d -> n%d [label=\"", source, target);
	dot_append_action(dot, drawing->labels, drawing->group, step, drawing->label_length);
	appendStringInfo(dot, "\\nn %u  A %+.3f\", color=\"%s\", penwidth=%.1f];\n",
					 drawing->edges->visits[edge], drawing->edges->advantage[edge],
					 edge_colour(drawing, source, target),
					 dot_pen_width(drawing->edges->visits[edge], drawing->most_visits));
}

Datum
stepadv_graph_dot(PG_FUNCTION_ARGS)
{
	static const Parameter known[] = {GRAPH_PARAMETERS};
	ParameterValue parameters[N_GRAPH_PARAMETERS];
	RolloutFacts facts;
	StateGraph	graph;
	GraphNodes	nodes;
	GraphEdges	edges;
	Group		group;
	Drawing		drawing = {0};
	uint32		n_drawn;
	int			min_visits;
	int			max_edges;

	if (PG_ARGISNULL(ARG_GROUP))
		PG_RETURN_NULL();
	read_parameters(fcinfo, ARG_FIRST_PARAMETER, known, lengthof(known), parameters);
	min_visits = dot_limit_argument(fcinfo, ARG_MIN_VISITS, "min_visits", 1);
	max_edges = dot_limit_argument(fcinfo, ARG_MAX_EDGES, "max_edges", 1);
	drawing.label_length = dot_limit_argument(fcinfo, ARG_LABEL_LENGTH, "label_length", 1);
	drawing.labels = PG_ARGISNULL(ARG_LABELS) ? NULL : PG_GETARG_JSONB_P(ARG_LABELS);
	drawing.state_labels = PG_ARGISNULL(ARG_STATE_LABELS) ? NULL : PG_GETARG_JSONB_P(ARG_STATE_LABELS);

	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(ARG_GROUP), &group);
	find_rollout_facts(&group, &facts);
	state_graph_build(&group, &facts, parameters[GRAPH_SUCCESS_ABOVE].number, &graph);
	graph_nodes_find(&group, &facts, &graph, &nodes);
	graph_edges_find(&group, &facts, &graph, parameters, &edges);
	drawing.group = &group;
	drawing.graph = &graph;
	drawing.nodes = &nodes;
	drawing.edges = &edges;
	drawing.drawn = ALLOCATE_ARRAY(bool, edges.edges.n);
	n_drawn = dot_choose_edges(edges.visits, edges.edges.n, min_visits, max_edges, drawing.drawn);
	drawing.most_visits = dot_most_visits(edges.visits, edges.edges.n);

	initStringInfo(&drawing.dot);
	appendStringInfo(&drawing.dot,
					 "digraph state_graph {\n"
					 "  graph [rankdir=LR, labelloc=t, fontname=\"Helvetica\", label=\"%u rollouts, %u of them reached the goal, %u of %u edges drawn\"];\n"
					 "  node [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\", fontsize=10];\n"
					 "  edge [fontname=\"Helvetica\", fontsize=9];\n",
					 facts.n_judged, nodes.rollouts[graph_goal(&graph)], n_drawn, edges.edges.n);
	draw_nodes(&drawing);
	for (uint32 e = 0; e < edges.edges.n; e++)
	{
		if (drawing.drawn[e])
			draw_edge(&drawing, e);
		CHECK_FOR_INTERRUPTS();
	}
	appendStringInfoString(&drawing.dot, "}\n");
	PG_RETURN_TEXT_P(cstring_to_text_with_len(drawing.dot.data, drawing.dot.len));
}
