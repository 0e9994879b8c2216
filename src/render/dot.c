/*
 * dot.c
 *		Writing Graphviz text.
 */
#include "postgres.h"

#include <inttypes.h>
#include <math.h>

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "arrays.h"
#include "compat.h"
#include "render/dot.h"

static inline bool
is_control(unsigned char c)
{
	return c < ' ' || c == 0x7f;
}

void
dot_append_text(StringInfo dot, const char *text, int length, int max_chars)
{
	const char *end = text + length;
	int			chars = 0;
	bool		space = false;	/* a space is owed */

	while (text < end)
	{
		int			width = Min(pg_mblen(text), end - text);

		if (is_control(*text) || *text == ' ')
		{
			space = chars > 0;
			text += width;
			continue;
		}
		if (chars + space >= max_chars)
		{
			appendStringInfoString(dot, "...");
			return;
		}
		if (space)
			appendStringInfoChar(dot, ' ');
		chars += 1 + space;
		space = false;
		if (*text == '"' || *text == '\\')
			appendStringInfoChar(dot, '\\');
		appendBinaryStringInfo(dot, text, width);
		text += width;
	}
}

bool
dot_append_label(StringInfo dot, Jsonb *labels, int64 step_id, int max_chars)
{
	char		key[MAXINT8LEN + 1];
	JsonbValue	label;

	if (labels == NULL || !JB_ROOT_IS_OBJECT(labels))
		return false;
	if (getKeyJsonValueFromContainer(&labels->root, key, snprintf(key, sizeof(key), INT64_FORMAT, step_id),
									 &label) == NULL || label.type != jbvString)
		return false;
	dot_append_text(dot, label.val.string.val, label.val.string.len, max_chars);
	return true;
}

void
dot_append_action(StringInfo dot, Jsonb *labels, const GroupColumns *group, uint32 step, int max_chars)
{
	if (dot_append_label(dot, labels, group->step_id[step], max_chars))
		return;
	if (step_has_null(group, step, NULL_ACTION))
		appendStringInfoChar(dot, '?');
	else
		appendStringInfo(dot, "%016" PRIx64, (uint64) group->action[step]);
}

void
dot_append_advantage(StringInfo dot, uint32 visits, double advantage)
{
	appendStringInfo(dot, "\\nn %u", visits);
	/* What would read as 0 says nothing, and most edges of a large graph would say it. */
	if (fabs(advantage) >= 0.0005)
		appendStringInfo(dot, "  A %+.3f", advantage);
}

/* Hue 0 is red, a third green; dark enough to be read on white. */
void
dot_append_outcome_colour(StringInfo dot, double success_share)
{
	if (success_share <= 0)
		appendStringInfoString(dot, DOT_FAILURE_COLOUR);
	else if (success_share >= 1)
		appendStringInfoString(dot, DOT_SUCCESS_COLOUR);
	else
		appendStringInfo(dot, "%.3f 0.75 0.75", 0.02 + success_share * 0.31);
}

double
dot_pen_width(uint32 visits, uint32 most_visits)
{
	return 1 + 5 * sqrt((double) visits / Max(most_visits, 1));
}

int
dot_limit_argument(FunctionCallInfo fcinfo, int arg, const char *name, int least)
{
	int			limit = PG_ARGISNULL(arg) ? least - 1 : PG_GETARG_INT32(arg);

	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
	if (limit < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be at least %d, not %d", name, least, limit)));
	return limit;
}

typedef struct RankedEdge
{
	uint32		visits;
	uint32		edge;
} RankedEdge;

static inline int
compare_ranked(const RankedEdge *a, const RankedEdge *b)
{
	if (a->visits != b->visits)
		return a->visits > b->visits ? -1 : 1;
	return a->edge < b->edge ? -1 : a->edge > b->edge;
}

#define ST_SORT sort_ranked
#define ST_ELEMENT_TYPE RankedEdge
#define ST_COMPARE(a, b) compare_ranked(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

uint32
dot_choose_edges(const uint32 *visits, uint32 n_edges, uint32 min_visits, uint32 max_edges, bool *drawn)
{
	RankedEdge *ranked = ALLOCATE_ARRAY(RankedEdge, n_edges);
	uint32		n_drawn = 0;

	for (uint32 e = 0; e < n_edges; e++)
	{
		ranked[e] = (RankedEdge) {visits[e], e};
		drawn[e] = false;
	}
	sort_ranked(ranked, n_edges);
	while (n_drawn < n_edges && n_drawn < max_edges && ranked[n_drawn].visits >= min_visits)
		drawn[ranked[n_drawn++].edge] = true;
	pfree(ranked);
	return n_drawn;
}

void
dot_list_loops(const int32 *source, const int32 *target, const bool *drawn, uint32 n_edges,
			   uint32 n_nodes, int32 *first_loop, int32 *next_loop)
{
	for (uint32 v = 0; v < n_nodes; v++)
		first_loop[v] = -1;
	for (uint32 e = n_edges; e-- > 0;)
		if (drawn[e] && source[e] == target[e])
		{
			next_loop[e] = first_loop[source[e]];
			first_loop[source[e]] = (int32) e;
		}
}

text *
dot_text(const StringInfoData *dot)
{
	text	   *result = palloc(VARHDRSZ + dot->len);

	SET_VARSIZE(result, VARHDRSZ + dot->len);
	copy_large(VARDATA(result), dot->data, dot->len);
	return result;
}
