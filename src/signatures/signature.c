/*
 * signature.c
 *		Parses a call's signature, the inverse of render.c.
 *
 * The input may be any text, since users store signatures in their own columns.  What does not follow the
 * grammar counts as a flag of its own name.
 */
#include "postgres.h"

#include "signatures/call.h"
#include "signatures/signature.h"

/* The signature of the next effect; false if there are no more. */
bool
next_signature(Span *rest, Span *signature)
{
	int			end;

	if (rest->data == NULL)
		return false;
	end = span_find(*rest, EFFECT_SEPARATOR);
	*signature = span_make(rest->data, end < 0 ? rest->length : end);
	*rest = end < 0 ? span_none() : span_from(*rest, end + (int) strlen(EFFECT_SEPARATOR));
	return true;
}

static bool
cut_suffix(Span *text, const char *suffix)
{
	int			length = (int) strlen(suffix);

	if (text->length < length || memcmp(text->data + text->length - length, suffix, length) != 0)
		return false;
	text->length -= length;
	return true;
}

void
parse_signature(Span text, ParsedSignature *parsed)
{
	const char *at = text.length > 0 ? memchr(text.data, '@', text.length) : NULL;
	Span		head = text;
	const char *colon;

	memset(parsed, 0, sizeof(*parsed));
	/* In other:ok, "ok" is the tool's name. */
	if (!span_starts(text, "other:"))
	{
		parsed->ok = cut_suffix(&text, ":ok");
		parsed->error = !parsed->ok && cut_suffix(&text, ":error");
		head = text;
	}
	if (at != NULL)
	{
		int			length = at - text.data;

		if (length < text.length)
		{
			parsed->target = span_from(text, length + 1);
			head.length = length;
		}
	}
	colon = head.length > 0 ? memchr(head.data, ':', head.length) : NULL;
	parsed->category = head;
	if (colon != NULL)
	{
		parsed->category.length = colon - head.data;
		parsed->scope = span_from(head, parsed->category.length + 1);
	}
}

/*
 * Append a part of a signature, with the separators of states encoded.  Generated signatures have them
 * encoded already, but users may store any text.
 */
static void
append_part(StringInfo out, Span part, const char *separators)
{
	for (int i = 0; i < part.length; i++)
	{
		if (part.data[i] != '\0' && strchr(separators, part.data[i]) != NULL)
			append_encoded(out, &part.data[i], 1);
		else
			appendStringInfoChar(out, part.data[i]);
	}
}

/* A change of a file that did not fail. */
bool
is_change(const ParsedSignature *parsed)
{
	return !parsed->error && (span_is(parsed->category, "modify") || span_is(parsed->category, "create"));
}

/*
 * What an effect adds to the state: an operation on a path, or a flag (then
 * `op` is its name).  An effect on files without a known file is a flag, too.
 */
TraceKind
signature_trace(const ParsedSignature *parsed, StringInfo path, StringInfo op)
{
	Span		category = parsed->category;
	bool		is_test = span_is(category, "test");
	bool		is_execute = span_is(category, "execute");

	resetStringInfo(path);
	resetStringInfo(op);
	if (is_test || is_execute)
	{
		appendStringInfoString(op, is_test ? "test" : "exec");
		appendStringInfoString(op, parsed->ok ? "_ok" : parsed->error ? "_err" : "");
		return TRACE_FLAG;
	}
	if (parsed->error)
		return TRACE_NONE;
	if (parsed->target.data != NULL && parsed->target.length > 0)
	{
		bool		is_file = true;

		if (span_is(category, "view"))
		{
			appendStringInfoChar(op, 'V');
			if (span_starts(parsed->scope, "partial["))
				append_part(op, span_from(parsed->scope, 7), "|+");
			else if (span_is(parsed->scope, "full"))
				appendStringInfoChar(op, 'f');
		}
		else if (span_is(category, "search"))
			appendStringInfoChar(op, 'S');
		else if (span_is(category, "create"))
			appendStringInfoChar(op, 'C');
		else if (span_is(category, "modify"))
		{
			const char *colon = parsed->scope.length > 0 ? memchr(parsed->scope.data, ':', parsed->scope.length) : NULL;

			appendStringInfoChar(op, span_starts(parsed->scope, "insert") ? 'I' : 'M');
			if (colon != NULL)
				append_part(op, span_make(colon, parsed->scope.data + parsed->scope.length - colon), "|+");
		}
		else
			is_file = false;
		if (is_file)
		{
			append_part(path, parsed->target, "|+:");
			return TRACE_FILE;
		}
	}
	/* install, fileop, search, think, finish …; other with its tool */
	append_part(op, category, "|+");
	if (span_is(category, "other") && parsed->scope.length > 0)
	{
		appendStringInfoChar(op, ':');
		append_part(op, parsed->scope, "|+");
	}
	return TRACE_FLAG;
}
