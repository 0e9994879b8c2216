/*
 * patch.c
 *		The files that a patch changes, and how.
 *
 * Two formats: the envelope of apply_patch ("*** Update File: …") and unified
 * diffs ("+++ b/…").
 */
#include "postgres.h"

#include "miscadmin.h"

#include "signatures/patch.h"

/* The rest of a line after a prefix, up to a tab, where diffs have a time. */
static Span
file_name(Span line, const char *prefix)
{
	Span		name = span_trim(span_from(line, (int) strlen(prefix)));
	const char *tab = name.length > 0 ? memchr(name.data, '\t', name.length) : NULL;

	if (tab != NULL)
		name.length = tab - name.data;
	return name;
}

/* Add the effect on one file of a patch, with the patch from `start` to `end`. */
static void
add_file(Effects *effects, EffectCategory category, Span name, const char *start, const char *end)
{
	Effect	   *effect = effects_add(effects, category, name, true);

	if (category == EFFECT_FILEOP)
		effect->verb = span_of("rm");
	else if (category == EFFECT_MODIFY)
		effect_set_content(effect, span_none(), span_make(start, end - start));
}

/* Another file begins: end the part of the previous one. */
static void
end_file(Effects *effects, int n, const char *start)
{
	Effect	   *effect = effects->newest;

	if (effects->n > n && effect->hashed)
		effect->new_text.length = Max(start - effect->new_text.data, 0);
}

/* Read a line of an envelope that names a file and what happens to it. */
static bool
read_envelope(Span line, EffectCategory *category, Span *name)
{
	static const struct
	{
		const char *prefix;
		EffectCategory category;
	}			headers[] = {
		{"*** Update File: ", EFFECT_MODIFY},
		{"*** Add File: ", EFFECT_CREATE},
		{"*** Delete File: ", EFFECT_FILEOP},
	};

	for (int i = 0; i < (int) lengthof(headers); i++)
		if (span_starts(line, headers[i].prefix))
		{
			*category = headers[i].category;
			*name = file_name(line, headers[i].prefix);
			return true;
		}
	return false;
}

/* The file of a diff, from its lines --- and +++, and what happens to it. */
static EffectCategory
diff_file(Span before, Span after, Span *name)
{
	bool		goes = span_is(after, "/dev/null");

	*name = goes ? before : after;
	if (span_starts(*name, goes ? "a/" : "b/"))
		*name = span_from(*name, 2);
	return goes ? EFFECT_FILEOP : span_is(before, "/dev/null") ? EFFECT_CREATE : EFFECT_MODIFY;
}

/* Add an effect per file.  The content of an edit is the whole patch, or its part if there are several files. */
void
classify_patch(Span patch, Effects *effects)
{
	const char *at = patch.data;
	const char *end = patch.data + patch.length;
	const char *start = NULL;	/* of the next file of a diff */
	Span		before = span_none();
	int			n = effects->n;

	while (at != NULL && at < end)
	{
		const char *newline = memchr(at, '\n', end - at);
		Span		line = span_make(at, (newline ? newline : end) - at);
		EffectCategory category;
		Span		name;
		const char *first = effects->n == n ? patch.data : start ? start : line.data;

		CHECK_FOR_INTERRUPTS();
		at = newline ? newline + 1 : end;
		if (read_envelope(line, &category, &name))
		{
			end_file(effects, n, line.data);
			add_file(effects, category, name, effects->n == n ? patch.data : line.data, end);
			start = NULL;
		}
		else if (span_starts(line, "diff --git "))
			start = line.data;
		else if (span_starts(line, "--- "))
		{
			before = file_name(line, "--- ");
			start = start ? start : line.data;
		}
		else if (span_starts(line, "+++ "))
		{
			category = diff_file(before, file_name(line, "+++ "), &name);
			end_file(effects, n, first);
			add_file(effects, category, name, first, end);
			start = NULL;
		}
	}
	if (effects->n == n)
		add_file(effects, EFFECT_MODIFY, span_none(), patch.data, end);
}
