/*
 * tree_dot.c
 *		rtmc_tree_dot: the rollout tree as Graphviz text, in the manner of the
 *		RTMC paper's figure.
 *
 * Circles are states (V' and visits), edges are actions (label, visits,
 * advantage), as wide as they are travelled; V' and advantage are rtmc's, or what
 * the caller says that another method makes of them.  Colour is outcome: green where
 * rollouts end in success, red in failure, grey where they were cut off, in
 * between where a state or an edge leads to both.  Pruning keeps the most
 * travelled edges; of edges as travelled, those that come first, so that what is
 * drawn of a tree hangs together.  Where asked for, what one rollout does alone is
 * one edge.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "arrays.h"
#include "compat.h"
#include "analysis/tree.h"
#include "group/facts.h"
#include "parameters.h"
#include "render/dot.h"
#include "render/estimates.h"
#include "render/tree_chains.h"

PG_FUNCTION_INFO_V1(stepadv_rtmc_tree_dot);

enum
{
	ARG_GROUP, ARG_LABELS, ARG_CUT_OFF, ARG_MIN_VISITS, ARG_MAX_EDGES, ARG_LABEL_LENGTH,
	ARG_FIRST_PARAMETER
};

static const Parameter tree_dot_parameters[] = {RTMC_PARAMETERS, ESTIMATES_PARAMETER, FLAG_PARAMETER("fold_chains")};

enum
{
	TREE_ESTIMATES = N_RTMC_PARAMETERS, TREE_FOLD_CHAINS
};

typedef struct Drawing
{
	const GroupColumns *group;
	const RolloutTree *tree;
	DotEstimates shown;			/* in the place of rtmc's */
	bool	   *starts;			/* by state */
	int32	   *next_state;		/* by edge */
	uint32	   *n_more;			/* by edge: those that it stands for, too; NULL: none */
	bool	   *drawn;			/* by edge */
	uint32		n_drawn;		/* those that others stand for included */
	uint32		n_rollouts;		/* judged */
	Jsonb	   *labels;
	int			label_length;
	StringInfoData dot;
} Drawing;

/* Which rollouts were truncated, or were cut off as the caller says. */
static bool *
read_cut_off(FunctionCallInfo fcinfo, const GroupColumns *group)
{
	bool	   *cut_off = ALLOCATE_ZEROED_ARRAY(bool, group->n_rollouts);
	Datum	   *ids;
	bool	   *nulls;
	int			n;

	for (uint32 r = 0; r < group->n_rollouts; r++)
		cut_off[r] = rollout_is_truncated(group, r);
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

static double
shown_v(const Drawing *drawing, uint32 state)
{
	return drawing->shown.given ? drawing->shown.v[state] : drawing->tree->table.state_v[state];
}

static double
shown_advantage(const Drawing *drawing, uint32 edge)
{
	return drawing->shown.given ? drawing->shown.advantage[edge] :
		drawing->tree->table.pair_advantage[edge_pair(drawing->tree, edge)];
}

static bool *
find_starts(const GroupColumns *group, const RolloutTree *tree)
{
	bool	   *starts = ALLOCATE_ZEROED_ARRAY(bool, tree->table.states.n);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		first = group->first_step[r];

		if (first < group->first_step[r + 1] && tree->table.states.of_step[first] != NO_IDENTITY)
			starts[tree->table.states.of_step[first]] = true;
	}
	return starts;
}

/* Which edges are drawn; of a chain that is folded the first. */
static void
choose_edges(Drawing *drawing, int min_visits, int max_edges, bool fold_chains)
{
	const RolloutTree *tree = drawing->tree;
	uint32	   *visits = tree->visits;

	if (fold_chains)
	{
		drawing->n_more = tree_fold_chains(tree, drawing->starts, drawing->next_state);
		visits = ALLOCATE_ARRAY(uint32, tree->edges.n);
		for (uint32 e = 0; e < tree->edges.n; e++)
		{
			CHECK_ONCE_IN_A_WHILE(e);
			visits[e] = drawing->n_more[e] == HIDDEN_EDGE ? 0 : tree->visits[e];
		}
	}
	drawing->drawn = ALLOCATE_ARRAY(bool, tree->edges.n);
	drawing->n_drawn = dot_choose_edges(visits, tree->edges.n, min_visits, max_edges, drawing->drawn);
	if (fold_chains)
	{
		for (uint32 e = 0; e < tree->edges.n; e++)
			drawing->n_drawn += drawing->drawn[e] ? drawing->n_more[e] : 0;
		pfree(visits);
	}
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

	for (uint32 e = 0; e < tree->edges.n; e++)
	{
		int32		state = edge_state(tree, e);

		CHECK_ONCE_IN_A_WHILE(e);
		visits[state] += tree->visits[e];
		successes[state] += tree->successes[e];
		cut_off[state] += tree->cut_off[e];
		if (!drawing->drawn[e])
			continue;
		touched[state] = true;
		if (drawing->next_state[e] != NO_IDENTITY)
			touched[drawing->next_state[e]] = true;
	}
	for (uint32 s = 0; s < n_states; s++)
	{
		CHECK_ONCE_IN_A_WHILE(s);
		if (!touched[s])
			continue;
		appendStringInfo(&drawing->dot, "  s%u [label=\"", s);
		if (!isnan(shown_v(drawing, s)))
			appendStringInfo(&drawing->dot, "V %.2f\\n", shown_v(drawing, s));
		appendStringInfo(&drawing->dot, "n %u\", color=\"", tree->table.state_visits[s]);
		append_outcome_colour(&drawing->dot, visits[s], successes[s], cut_off[s]);
		appendStringInfo(&drawing->dot, "\"%s];\n", drawing->starts[s] ? ", penwidth=3" : "");
	}
}

/* How many rollouts took an edge, or several, and how they ended. */
typedef struct Outcomes
{
	uint32		visits;
	uint32		successes;
	uint32		cut_off;
} Outcomes;

/* What was done, by how many, and its advantage. */
static void
append_action(Drawing *drawing, uint32 edge, uint32 visits)
{
	const RolloutTree *tree = drawing->tree;

	dot_append_action(&drawing->dot, drawing->labels, drawing->group, tree->edges.first_step[edge],
					  drawing->label_length);
	dot_append_advantage(&drawing->dot, visits, shown_advantage(drawing, edge));
	if (drawing->n_more != NULL && drawing->n_more[edge] > 0)
		appendStringInfo(&drawing->dot, "\\nand %u more", drawing->n_more[edge]);
}

static void
append_edge_style(Drawing *drawing, const Outcomes *outcomes)
{
	appendStringInfoString(&drawing->dot, "\", color=\"");
	append_outcome_colour(&drawing->dot, outcomes->visits, outcomes->successes, outcomes->cut_off);
	/* Several loops together can have more visits than there are rollouts. */
	appendStringInfo(&drawing->dot, "\", penwidth=%.1f];\n",
					 dot_pen_width(Min(outcomes->visits, drawing->n_rollouts), drawing->n_rollouts));
}

static void
draw_edge(Drawing *drawing, uint32 edge, const char *target, const Outcomes *outcomes)
{
	appendStringInfo(&drawing->dot, "  s%d -> %s [label=\"", edge_state(drawing->tree, edge), target);
	append_action(drawing, edge, outcomes->visits);
	append_edge_style(drawing, outcomes);
}

/* Actions that leave a state as it is: one loop that lists them. */
static void
draw_loops(Drawing *drawing)
{
	const RolloutTree *tree = drawing->tree;
	uint32		n_edges = tree->edges.n;
	int32	   *next_loop = ALLOCATE_ARRAY(int32, n_edges);
	int32	   *first_loop = ALLOCATE_ARRAY(int32, tree->table.states.n);
	int32	   *state = ALLOCATE_ARRAY(int32, n_edges);

	for (uint32 e = 0; e < n_edges; e++)
	{
		CHECK_ONCE_IN_A_WHILE(e);
		state[e] = edge_state(tree, e);
	}
	dot_list_loops(state, drawing->next_state, drawing->drawn, n_edges, tree->table.states.n, first_loop, next_loop);
	for (uint32 s = 0; s < tree->table.states.n; s++)
	{
		Outcomes	all = {0};

		CHECK_ONCE_IN_A_WHILE(s);
		if (first_loop[s] == NO_IDENTITY)
			continue;
		appendStringInfo(&drawing->dot, "  s%u -> s%u [label=\"", s, s);
		for (int32 e = first_loop[s]; e != NO_IDENTITY; e = next_loop[e])
		{
			append_action(drawing, e, tree->visits[e]);
			appendStringInfoString(&drawing->dot, "\\n");
			all.visits += tree->visits[e];
			all.successes += tree->successes[e];
			all.cut_off += tree->cut_off[e];
		}
		append_edge_style(drawing, &all);
	}
}

/* Where rollouts end: a leaf for each outcome that occurs there. */
static void
draw_leaf(Drawing *drawing, uint32 edge, char kind, const char *word, const char *colour, const Outcomes *outcomes)
{
	char		name[32];

	if (outcomes->visits == 0)
		return;
	snprintf(name, sizeof(name), "%c%u", kind, edge);
	appendStringInfo(&drawing->dot,
					 "  %s [shape=box, style=\"filled,rounded\", fontcolor=white, color=\"%s\", label=\"%s %u\"];\n",
					 name, colour, word, outcomes->visits);
	draw_edge(drawing, edge, name, outcomes);
}

static void
draw_edges(Drawing *drawing)
{
	const RolloutTree *tree = drawing->tree;

	for (uint32 e = 0; e < tree->edges.n; e++)
	{
		Outcomes	all = {tree->visits[e], tree->successes[e], tree->cut_off[e]};

		CHECK_ONCE_IN_A_WHILE(e);
		if (!drawing->drawn[e] || drawing->next_state[e] == edge_state(tree, e))
			continue;
		if (drawing->next_state[e] != NO_IDENTITY)
		{
			char		name[32];

			snprintf(name, sizeof(name), "s%d", drawing->next_state[e]);
			draw_edge(drawing, e, name, &all);
		}
		else
		{
			Outcomes	succeeded = {all.successes, all.successes, 0};
			Outcomes	failed = {all.visits - all.successes - all.cut_off, 0, 0};
			Outcomes	cut_off = {all.cut_off, 0, all.cut_off};

			draw_leaf(drawing, e, 'y', "success", DOT_SUCCESS_COLOUR, &succeeded);
			draw_leaf(drawing, e, 'n', "failure", DOT_FAILURE_COLOUR, &failed);
			draw_leaf(drawing, e, 'c', "cut off", DOT_CUT_OFF_COLOUR, &cut_off);
		}
	}
	draw_loops(drawing);
}

Datum
stepadv_rtmc_tree_dot(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(tree_dot_parameters)];
	RolloutFacts facts;
	RolloutTree tree;
	GroupColumns group;
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

	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(ARG_GROUP), &group, NULL);
	find_rollout_facts(&group, &facts);
	rollout_tree_build(&group, &facts, parameters, read_cut_off(fcinfo, &group), &tree);
	dot_read_estimates(&parameters[TREE_ESTIMATES], &group, &tree.edges, &tree.table.states, &drawing.shown);
	drawing.group = &group;
	drawing.tree = &tree;
	drawing.n_rollouts = facts.n_judged;
	drawing.starts = find_starts(&group, &tree);
	drawing.next_state = edge_next_states(&group, &tree);
	choose_edges(&drawing, min_visits, max_edges, parameters[TREE_FOLD_CHAINS].flag);

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
	PG_RETURN_TEXT_P(dot_text(&drawing.dot));
}
