/*
 * dot.c
 *		Writing Graphviz text.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

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
