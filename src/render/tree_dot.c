/*
 * tree_dot.c
 *		rtmc_tree_dot: the rollout tree as Graphviz text, in the manner of the
 *		RTMC paper's figure.
 *
 * Circles are states (V' and visits), edges are actions (label, visits,
 * advantage), as wide as they are travelled.  Colour is outcome: green where
 * rollouts end in success, red in failure, grey where they were cut off, in
 * between where a state or an edge leads to both.  Pruning keeps the most
 * travelled edges; of edges as travelled, those that come first, so that what is
 * drawn of a tree hangs together.
 */
#include "postgres.h"

#include <inttypes.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "compat.h"
#include "estimators/tree.h"
#include "render/dot.h"

PG_FUNCTION_INFO_V1(stepadv_rtmc_tree_dot);

enum
{
	ARG_GROUP, ARG_LABELS, ARG_CUT_OFF, ARG_MIN_VISITS, ARG_MAX_EDGES, ARG_LABEL_LENGTH,
	ARG_FIRST_PARAMETER
};

static const Parameter tree_dot_parameters[] = {RTMC_PARAMETERS};

typedef struct Drawing
{
	const Group *group;
	const RolloutTree *tree;
	const int32 *next_state;	/* by edge */
	bool	   *drawn;			/* by edge */
	uint32		n_drawn;
	uint32		most_visits;
	Jsonb	   *labels;
	int			label_length;
	StringInfoData dot;
} Drawing;

/* Which rollouts the caller says were cut off. */
static bool *
read_cut_off(FunctionCallInfo fcinfo, const Group *group)
{
	bool	   *cut_off = ALLOCATE_ZEROED_ARRAY(bool, group->n_rollouts);
	Datum	   *ids;
	bool	   *nulls;
	int			n;

	if (PG_ARGISNULL(ARG_CUT_OFF))
		return cut_off;
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(ARG_CUT_OFF), INT8OID, 8, FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
					  &ids, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		uint32		low = 0;
		uint32		high = group->n_rollouts;

		if (nulls[i])
			continue;
		/* rollout_id is sorted */
		while (low < high)
		{
			uint32		middle = low + (high - low) / 2;

			if (group->rollout_id[middle] < DatumGetInt64(ids[i]))
				low = middle + 1;
			else
				high = middle;
		}
		if (low < group->n_rollouts && group->rollout_id[low] == DatumGetInt64(ids[i]))
			cut_off[low] = true;
	}
	return cut_off;
}

/* ----------
 * Pruning
 * ----------
 */

typedef struct RankedEdge
{
	uint32		visits;
	uint32		edge;
} RankedEdge;

static int
compare_ranked(const void *a, const void *b)
{
	const RankedEdge *left = a;
	const RankedEdge *right = b;

	if (left->visits != right->visits)
		return left->visits > right->visits ? -1 : 1;
	return left->edge < right->edge ? -1 : 1;
}

static void
choose_edges(Drawing *drawing, uint32 min_visits, uint32 max_edges)
{
	const RolloutTree *tree = drawing->tree;
	uint32		n_edges = tree->edges.n;
	RankedEdge *ranked = ALLOCATE_ARRAY(RankedEdge, n_edges);

	for (uint32 e = 0; e < n_edges; e++)
		ranked[e] = (RankedEdge) {tree->visits[e], e};
	qsort(ranked, n_edges, sizeof(RankedEdge), compare_ranked);
	drawing->drawn = ALLOCATE_ZEROED_ARRAY(bool, n_edges);
	drawing->most_visits = n_edges > 0 ? ranked[0].visits : 0;
	for (uint32 i = 0; i < n_edges && i < max_edges && ranked[i].visits >= min_visits; i++)
	{
		drawing->drawn[ranked[i].edge] = true;
		drawing->n_drawn++;
	}
	pfree(ranked);
}

/* ----------
 * Drawing
 * ----------
 */

static void
append_outcome_colour(StringInfo dot, uint32 visits, uint32 successes, uint32 cut_off)
{
	if (cut_off == visits)
		appendStringInfoString(dot, DOT_CUT_OFF_COLOUR);
	else
		dot_append_outcome_colour(dot, (double) successes / visits);
}

/* States that an edge drawn touches, each with the outcomes of its edges. */
static void
draw_states(Drawing *drawing)
{
	const RolloutTree *tree = drawing->tree;
	uint32		n_states = tree->table.states.n;
	uint32	   *visits = ALLOCATE_ZEROED_ARRAY(uint32, n_states);
	uint32	   *successes = ALLOCATE_ZEROED_ARRAY(uint32, n_states);
	uint32	   *cut_off = ALLOCATE_ZEROED_ARRAY(uint32, n_states);
	bool	   *touched = ALLOCATE_ZEROED_ARRAY(bool, n_states);
	bool	   *starts = ALLOCATE_ZEROED_ARRAY(bool, n_states);

	for (uint32 e = 0; e < tree->edges.n; e++)
	{
		int32		state = edge_state(tree, e);

		visits[state] += tree->visits[e];
		successes[state] += tree->successes[e];
		cut_off[state] += tree->cut_off[e];
		if (!drawing->drawn[e])
			continue;
		touched[state] = true;
		if (drawing->next_state[e] != NO_IDENTITY)
			touched[drawing->next_state[e]] = true;
	}
	for (uint32 r = 0; r < drawing->group->n_rollouts; r++)
	{
		uint32		first = drawing->group->first_step[r];

		if (first < drawing->group->first_step[r + 1] && tree->table.states.of_step[first] != NO_IDENTITY)
			starts[tree->table.states.of_step[first]] = true;
	}
	for (uint32 s = 0; s < n_states; s++)
	{
		if (!touched[s])
			continue;
		appendStringInfo(&drawing->dot, "  s%u [label=\"V %.2f\\nn %u\", color=\"", s,
						 tree->table.state_v[s], tree->table.state_visits[s]);
		append_outcome_colour(&drawing->dot, visits[s], successes[s], cut_off[s]);
		appendStringInfo(&drawing->dot, "\"%s];\n", starts[s] ? ", penwidth=3" : "");
		CHECK_FOR_INTERRUPTS();
	}
}

static void
draw_edge(Drawing *drawing, uint32 edge, const char *target, uint32 visits, uint32 successes, uint32 cut_off)
{
	const RolloutTree *tree = drawing->tree;
	StringInfo	dot = &drawing->dot;
	uint32		step = tree->edges.first_step[edge];

	appendStringInfo(dot, "  s%d -> %s [label=\"", edge_state(tree, edge), target);
	if (!dot_append_label(dot, drawing->labels, drawing->group->step_id[step], drawing->label_length))
	{
		if (step_has_null(drawing->group, step, NULL_ACTION))
			appendStringInfoString(dot, "?");
		else
			appendStringInfo(dot, "%016" PRIx64, (uint64) drawing->group->action[step]);
	}
	appendStringInfo(dot, "\\nn %u  A %+.3f\", color=\"", visits,
					 tree->table.pair_advantage[edge_pair(tree, edge)]);
	append_outcome_colour(dot, visits, successes, cut_off);
	appendStringInfo(dot, "\", penwidth=%.1f];\n", dot_pen_width(visits, drawing->most_visits));
}

/* Where rollouts end: a leaf for each outcome that occurs there. */
static void
draw_leaf(Drawing *drawing, uint32 edge, char kind, const char *word, const char *colour, uint32 count,
		  uint32 successes, uint32 cut_off)
{
	char		name[32];

	if (count == 0)
		return;
	snprintf(name, sizeof(name), "%c%u", kind, edge);
	appendStringInfo(&drawing->dot,
					 "  %s [shape=box, style=\"filled,rounded\", fontcolor=white, color=\"%s\", label=\"%s %u\"];\n",
					 name, colour, word, count);
	draw_edge(drawing, edge, name, count, successes, cut_off);
}

static void
draw_edges(Drawing *drawing)
{
	const RolloutTree *tree = drawing->tree;

	for (uint32 e = 0; e < tree->edges.n; e++)
	{
		uint32		visits = tree->visits[e];
		uint32		successes = tree->successes[e];
		uint32		cut_off = tree->cut_off[e];

		if (!drawing->drawn[e])
			continue;
		if (drawing->next_state[e] != NO_IDENTITY)
		{
			char		name[32];

			snprintf(name, sizeof(name), "s%d", drawing->next_state[e]);
			draw_edge(drawing, e, name, visits, successes, cut_off);
		}
		else
		{
			uint32		failures = visits - successes - cut_off;

			draw_leaf(drawing, e, 'y', "success", DOT_SUCCESS_COLOUR, successes, successes, 0);
			draw_leaf(drawing, e, 'n', "failure", DOT_FAILURE_COLOUR, failures, 0, 0);
			draw_leaf(drawing, e, 'c', "cut off", DOT_CUT_OFF_COLOUR, cut_off, 0, cut_off);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

Datum
stepadv_rtmc_tree_dot(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[N_RTMC_PARAMETERS];
	RolloutFacts facts;
	RolloutTree tree;
	Group		group;
	Drawing		drawing = {0};
	int			min_visits;
	int			max_edges;

	if (PG_ARGISNULL(ARG_GROUP))
		PG_RETURN_NULL();
	read_parameters(fcinfo, ARG_FIRST_PARAMETER, tree_dot_parameters, lengthof(tree_dot_parameters), parameters);
	min_visits = dot_limit_argument(fcinfo, ARG_MIN_VISITS, "min_visits", 1);
	max_edges = dot_limit_argument(fcinfo, ARG_MAX_EDGES, "max_edges", 1);
	drawing.label_length = dot_limit_argument(fcinfo, ARG_LABEL_LENGTH, "label_length", 1);
	drawing.labels = PG_ARGISNULL(ARG_LABELS) ? NULL : PG_GETARG_JSONB_P(ARG_LABELS);

	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(ARG_GROUP), &group);
	find_rollout_facts(&group, &facts);
	rollout_tree_build(&group, &facts, parameters, read_cut_off(fcinfo, &group), &tree);
	drawing.group = &group;
	drawing.tree = &tree;
	drawing.next_state = edge_next_states(&group, &tree);
	choose_edges(&drawing, min_visits, max_edges);

	initStringInfo(&drawing.dot);
	appendStringInfo(&drawing.dot,
					 "digraph rollout_tree {\n"
					 "  graph [rankdir=LR, labelloc=t, fontname=\"Helvetica\", label=\"%u rollouts, %u of %u edges drawn\"];\n"
					 "  node [shape=circle, fontname=\"Helvetica\", fontsize=10];\n"
					 "  edge [fontname=\"Helvetica\", fontsize=9];\n",
					 facts.n_judged, drawing.n_drawn, tree.edges.n);
	draw_states(&drawing);
	draw_edges(&drawing);
	appendStringInfoString(&drawing.dot, "}\n");
	PG_RETURN_TEXT_P(cstring_to_text_with_len(drawing.dot.data, drawing.dot.len));
}
