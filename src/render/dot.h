/*
 * dot.h
 *		Graphviz text: what every picture of a group shares.
 */
#ifndef STEPADV_DOT_H
#define STEPADV_DOT_H

#include "fmgr.h"

#include "lib/stringinfo.h"
#include "utils/jsonb.h"

#include "group/group.h"

/* The colours of outcomes, in every picture. */
#define DOT_SUCCESS_COLOUR	"#2e8b57"
#define DOT_FAILURE_COLOUR	"#c0392b"
#define DOT_CUT_OFF_COLOUR	"#8c8c8c"

/*
 * Append text as the inside of a double-quoted DOT string: escaped, white space
 * folded, control characters left out, at most max_chars characters of it.
 */
extern void dot_append_text(StringInfo dot, const char *text, int length, int max_chars);

/*
 * Append what `labels`, a jsonb object of texts by step_id, says of a step;
 * false (and nothing appended) if it says nothing.  labels may be NULL.
 */
extern bool dot_append_label(StringInfo dot, Jsonb *labels, int64 step_id, int max_chars);

/* The same for the action of a step, its hash (NULL: ?) where labels say nothing. */
extern void dot_append_action(StringInfo dot, Jsonb *labels, const GroupColumns *group, uint32 step, int max_chars);

/* Behind it, how many took it and its advantage, unless that is NaN or would be written as 0. */
extern void dot_append_advantage(StringInfo dot, uint32 visits, double advantage);

/* Append a colour for an outcome: red at share 0 over to green at share 1. */
extern void dot_append_outcome_colour(StringInfo dot, double success_share);

/* Pen width for this many of at most so many visits, from 1 to 6. */
extern double dot_pen_width(uint32 visits, uint32 most_visits);

/* An integer argument that must be at least `least`. */
extern int	dot_limit_argument(FunctionCallInfo fcinfo, int arg, const char *name, int least);

/*
 * Which edges to draw, in `drawn`: those with min_visits, at most max_edges of
 * them, the most visited ones.  Of edges visited as much, those that come first,
 * so that what is drawn hangs together.  Returns how many.
 */
extern uint32 dot_choose_edges(const uint32 *visits, uint32 n_edges, uint32 min_visits,
							   uint32 max_edges, bool *drawn);

/*
 * Edges drawn that lead from a node back to it, as a list per node: Graphviz
 * would lay the labels of several loops over one another.  first_loop has an
 * entry per node, next_loop per edge; -1 ends a list.
 */
extern void dot_list_loops(const int32 *source, const int32 *target, const bool *drawn, uint32 n_edges,
						   uint32 n_nodes, int32 *first_loop, int32 *next_loop);

/* What was drawn, which may be long, as a text. */
extern text *dot_text(const StringInfoData *dot);

#endif							/* STEPADV_DOT_H */
