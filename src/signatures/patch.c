/*
 * patch.c
 *		The file that a patch changes first, and how.
 *
 * Two formats: the envelope of apply_patch ("*** Update File: …") and unified
 * diffs ("+++ b/…").  The whole patch is the content of the edit.
 */
#include "postgres.h"

#include "signatures/patch.h"

/* The rest of a line after a prefix, up to a tab (diffs put a time there). */
static Span
file_name(Span line, const char *prefix)
{
	Span		name = span_trim(span_from(line, (int) strlen(prefix)));
	const char *tab = name.length > 0 ? memchr(name.data, '\t', name.length) : NULL;

	if (tab != NULL)
		name.length = tab - name.data;
	return name;
}

void
classify_patch(Span patch, Action *action)
{
	const char *at = patch.data;
	const char *end = patch.data + patch.length;
	bool		is_new = false;

	action_init(action, ACTION_MODIFY);
	action_set_content(action, span_none(), patch);
	while (at != NULL && at < end)
	{
		const char *newline = memchr(at, '\n', end - at);
		Span		line = span_make(at, (newline ? newline : end) - at);

		at = newline ? newline + 1 : end;
		if (span_starts(line, "*** Update File: "))
		{
			action_set_target(action, file_name(line, "*** Update File: "), true);
			return;
		}
		if (span_starts(line, "*** Add File: "))
		{
			action_init(action, ACTION_CREATE);
			action_set_target(action, file_name(line, "*** Add File: "), true);
			return;
		}
		if (span_starts(line, "*** Delete File: "))
		{
			action_init(action, ACTION_FILEOP);
			action->verb = span_of("rm");
			action_set_target(action, file_name(line, "*** Delete File: "), true);
			return;
		}
		if (span_starts(line, "--- /dev/null"))
			is_new = true;
		else if (span_starts(line, "+++ "))
		{
			Span		name = file_name(line, "+++ ");

			if (span_starts(name, "b/"))
				name = span_from(name, 2);
			if (is_new)
				action_init(action, ACTION_CREATE);
			action_set_target(action, name, true);
			return;
		}
	}
}
