/*
 * render.c
 *		The text of a signature, in the grammar of docs/states.md.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/builtins.h"

#include "signatures/call.h"

#define LINES_PER_BUCKET 100

static const char *const category_names[] = {
	[EFFECT_OTHER] = "other",
	[EFFECT_VIEW] = "view",
	[EFFECT_SEARCH] = "search",
	[EFFECT_MODIFY] = "modify",
	[EFFECT_CREATE] = "create",
	[EFFECT_EXECUTE] = "execute",
	[EFFECT_TEST] = "test",
	[EFFECT_INSTALL] = "install",
	[EFFECT_FILEOP] = "fileop",
	[EFFECT_THINK] = "think",
	[EFFECT_FINISH] = "finish",
};

const char *
category_name(EffectCategory category)
{
	return category_names[category];
}

/* Separators of the grammar and control characters become %XX, so that no name can forge a signature. */
void
append_encoded(StringInfo out, const char *text, int length)
{
	static const char digits[] = "0123456789ABCDEF";
	int			start = 0;

	for (int i = 0; i < length; i++)
	{
		unsigned char c = (unsigned char) text[i];

		if (i % LOOK_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
		if (c < 0x20 || c == 0x7F || c == '|' || c == '+' || c == ':' || c == '@' || c == '%' || c == ';')
		{
			if (i > start)
				appendBinaryStringInfo(out, text + start, i - start);
			start = i + 1;
			appendStringInfoChar(out, '%');
			appendStringInfoChar(out, digits[c >> 4]);
			appendStringInfoChar(out, digits[c & 15]);
		}
	}
	if (length > start)
		appendBinaryStringInfo(out, text + start, length - start);
}

/* Append a path part by part, without "." and with ".." resolved. */
static void
append_parts(StringInfo path, Span text)
{
	int			i = 0;

	while (i < text.length)
	{
		int			start;
		int			length;

		while (i < text.length && text.data[i] == '/')
			i++;
		start = i;
		while (i < text.length && text.data[i] != '/')
			i++;
		length = i - start;
		if (length == 0 || (length == 1 && text.data[start] == '.'))
			continue;
		if (length == 2 && text.data[start] == '.' && text.data[start + 1] == '.')
		{
			int			last = path->len;

			while (last > 0 && path->data[last - 1] != '/')
				last--;
			/* ".." is kept at the start and after another "..", and dropped at the root. */
			if (path->len > last && !(path->len - last == 2 && memcmp(path->data + last, "..", 2) == 0))
			{
				path->len = last > 1 ? last - 1 : last;
				path->data[path->len] = '\0';
				continue;
			}
			if (path->len == 1 && path->data[0] == '/')
				continue;
		}
		if (path->len > 0 && path->data[path->len - 1] != '/')
			appendStringInfoChar(path, '/');
		appendBinaryStringInfo(path, text.data + start, length);
	}
}

static bool
is_rooted(Span path)
{
	return path.length > 0 && (path.data[0] == '/' || path.data[0] == '~' || path.data[0] == '$');
}

/*
 * Append the target.  A path is normalized and made relative to the root if it is below it; the root itself
 * is empty.
 */
void
render_target(StringInfo out, const Effect *effect, const SignatureOptions *options)
{
	StringInfoData path;
	Span		rest;

	if (!effect->is_path)
	{
		appendBinaryStringInfo(out, effect->target.data, effect->target.length);
		return;
	}
	initStringInfo(&path);
	if (!is_rooted(effect->target) && effect->directory.length > 0)
	{
		if (effect->directory.data[0] == '/')
			appendStringInfoChar(&path, '/');
		append_parts(&path, effect->directory);
	}
	else if (effect->target.length > 0 && effect->target.data[0] == '/')
		appendStringInfoChar(&path, '/');
	append_parts(&path, effect->target);

	rest = span_make(path.data, path.len);
	if (options->root.length > 0)
	{
		StringInfoData root;

		initStringInfo(&root);
		if (options->root.data[0] == '/')
			appendStringInfoChar(&root, '/');
		append_parts(&root, options->root);
		if (rest.length >= root.len && memcmp(rest.data, root.data, root.len) == 0 &&
			(rest.length == root.len || rest.data[root.len] == '/') && root.len > 1)
		{
			rest = span_from(rest, root.len);
			if (rest.length > 0)
				rest = span_from(rest, 1);
		}
		pfree(root.data);
	}
	if (options->basename)
	{
		int			last = rest.length;

		while (last > 0 && rest.data[last - 1] != '/')
			last--;
		if (last < rest.length)
			rest = span_from(rest, last);
	}
	appendBinaryStringInfo(out, rest.data, rest.length);
	pfree(path.data);
}

static void
append_number(StringInfo out, int64 number)
{
	char		digits[24];

	appendBinaryStringInfo(out, digits, pg_ulltoa_n(number, digits));
}

/* The result of one effect of the call. */
CallResult
effect_result(const Effect *effect, CallResult call)
{
	bool		says_nothing = call == RESULT_ERROR ? effect->ends_earlier : effect->ends_otherwise;

	return says_nothing ? RESULT_UNKNOWN : call;
}

/* The result, if it belongs in the signature.  A search never fails, since one that finds nothing exits with 1. */
static const char *
result_suffix(const Effect *effect, CallResult result)
{
	switch (effect->category)
	{
		case EFFECT_TEST:
		case EFFECT_EXECUTE:
			return result == RESULT_OK ? ":ok" : result == RESULT_ERROR ? ":error" : "";
		case EFFECT_VIEW:
		case EFFECT_MODIFY:
		case EFFECT_CREATE:
		case EFFECT_INSTALL:
		case EFFECT_FILEOP:
			return result == RESULT_ERROR ? ":error" : "";
		default:
			return "";
	}
}

/* Which lines a view shows, as its scope. */
static void
append_lines(StringInfo out, const Effect *effect)
{
	int64		first = effect->first / LINES_PER_BUCKET;
	int64		last = effect->last / LINES_PER_BUCKET;

	if (effect->window)
		return;
	if (effect->tail > 0)
	{
		appendStringInfoString(out, ":partial[-");
		append_number(out, effect->tail / LINES_PER_BUCKET);
		appendStringInfoChar(out, ']');
		return;
	}
	/* From the first line to the end is the whole file, in every notation. */
	if (!effect->partial || (effect->first <= 1 && effect->last == 0))
	{
		appendStringInfoString(out, ":full");
		return;
	}
	appendStringInfoString(out, ":partial[");
	append_number(out, first);
	if (effect->last == 0 || last > first)
		appendStringInfoChar(out, '-');
	if (last > first && effect->last > 0)
		append_number(out, last);
	appendStringInfoChar(out, ']');
}

/* Is it the same text in the same place?  Compares no contents. */
static bool
span_same(Span a, Span b)
{
	return a.data == b.data && a.length == b.length;
}

/* Append the hash of what was written or run. */
static void
append_hash(StringInfo out, const Effect *effect, SignatureOptions *options)
{
	if (!effect->hashed || options->content_hash == CONTENT_NONE)
		return;
	/* One edit of many files is hashed once. */
	if (!options->has_digits || !span_same(options->hashed_old, effect->old_text) ||
		!span_same(options->hashed_new, effect->new_text))
		edit_hash(effect->old_text, effect->new_text, options->content_hash, options->digits);
	options->has_digits = true;
	options->hashed_old = effect->old_text;
	options->hashed_new = effect->new_text;
	appendStringInfoChar(out, ':');
	appendStringInfoString(out, options->digits);
}

void
render_effect(StringInfo out, const Effect *effect, CallResult result, SignatureOptions *options)
{
	appendStringInfoString(out, category_names[effect->category]);
	switch (effect->category)
	{
		case EFFECT_THINK:
		case EFFECT_FINISH:
			return;
		case EFFECT_OTHER:
			if (effect->target.length > 0)
			{
				appendStringInfoChar(out, ':');
				append_encoded(out, effect->target.data, effect->target.length);
			}
			return;
		case EFFECT_VIEW:
			append_lines(out, effect);
			break;
		case EFFECT_MODIFY:
			appendStringInfoString(out, effect->insert ? ":insert" : ":replace");
			append_hash(out, effect, options);
			break;
		case EFFECT_EXECUTE:
		case EFFECT_FILEOP:
		case EFFECT_INSTALL:
			if (effect->verb.length > 0)
			{
				appendStringInfoChar(out, ':');
				append_encoded(out, effect->verb.data, effect->verb.length);
			}
			append_hash(out, effect, options);
			break;
		default:
			break;
	}
	if (effect->target.length > 0)
	{
		StringInfoData target;

		initStringInfo(&target);
		render_target(&target, effect, options);
		if (target.len > 0)
		{
			appendStringInfoChar(out, '@');
			append_encoded(out, target.data, target.len);
		}
		else if (effect->category == EFFECT_TEST)
			appendStringInfoString(out, "@all");
		pfree(target.data);
	}
	appendStringInfoString(out, result_suffix(effect, result));
}

/* All effects of a call, in order. */
void
render_call(StringInfo out, const Effects *effects, CallResult result, SignatureOptions *options)
{
	for (int i = 0; i < effects->n; i++)
	{
		if (i > 0)
			appendStringInfoString(out, EFFECT_SEPARATOR);
		render_effect(out, &effects->items[i], effect_result(&effects->items[i], result), options);
	}
}
