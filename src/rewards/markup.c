#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "rewards/markup.h"

text	  **
read_texts(const char *parameter, ArrayType *array, int *n)
{
	Datum	   *elements;
	bool	   *nulls;
	text	  **texts;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("%s has %d dimensions, not one", parameter, ARR_NDIM(array))));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, n);
	texts = palloc(Max(*n, 1) * sizeof(text *));
	for (int i = 0; i < *n; i++)
		texts[i] = nulls[i] ? NULL : DatumGetTextPP(elements[i]);
	return texts;
}

Tag
make_tag(const char *parameter, const char *name)
{
	Tag			tag;

	if (name[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must not hold an empty tag name", parameter)));
	tag.open = psprintf("<%s>", name);
	tag.close = psprintf("</%s>", name);
	return tag;
}

/* 'tool|answer': one field with two alternatives. */
static Field
make_field(char *alternatives)
{
	Field		field = {0};
	char	   *name = alternatives;
	char	   *bar;

	field.tags = palloc((strlen(alternatives) + 1) * sizeof(Tag));
	while ((bar = strchr(name, '|')) != NULL)
	{
		*bar = '\0';
		field.tags[field.n++] = make_tag("fields", name);
		name = bar + 1;
	}
	field.tags[field.n++] = make_tag("fields", name);
	return field;
}

Field *
make_fields(ArrayType *alternatives, int *n)
{
	text	  **texts = read_texts("fields", alternatives, n);
	Field	   *fields = palloc(Max(*n, 1) * sizeof(Field));

	if (*n == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("fields must not be empty")));
	for (int i = 0; i < *n; i++)
	{
		if (texts[i] == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("fields must not contain nulls")));
		fields[i] = make_field(text_to_cstring(texts[i]));
	}
	return fields;
}

/*
 * If the first <tag> is never closed, no later one is, so two searches suffice.
 */
bool
find_raw_field(const char *text, const Tag *tag, Span *raw)
{
	const char *open = strstr(text, tag->open);
	const char *close;

	if (open == NULL)
		return false;
	raw->data = open + strlen(tag->open);
	close = strstr(raw->data, tag->close);
	if (close == NULL)
		return false;
	raw->length = close - raw->data;
	return true;
}

bool
find_field(const char *text, const Tag *tag, Span *field)
{
	if (!find_raw_field(text, tag, field))
		return false;
	*field = strip(*field);
	return true;
}

bool
has_field(const char *text, const Tag *tag)
{
	Span		raw;

	return find_raw_field(text, tag, &raw);
}

int
count_occurrences(const char *text, const char *what)
{
	size_t		length = strlen(what);
	int			n = 0;

	for (const char *at = text; (at = strstr(at, what)) != NULL; at += length)
	{
		CHECK_FOR_INTERRUPTS();
		n++;
	}
	return n;
}

/* Unicode's white space and the four ASCII separators, which Python's strip() removes. */
static bool
is_white(pg_wchar c)
{
	return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f) ||
		c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
		c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

/* In encodings other than UTF-8, only ASCII white space. */
static bool
is_white_at(const char *at, const char *end, bool utf8)
{
	if ((unsigned char) *at < 0x80)
		return is_white((unsigned char) *at);
	return utf8 && at + pg_utf_mblen((const unsigned char *) at) <= end &&
		is_white(utf8_to_unicode((const unsigned char *) at));
}

static int
character_length(const char *at, bool utf8)
{
	return utf8 ? pg_utf_mblen((const unsigned char *) at) : 1;
}

/* The first byte of the character before `end`. */
static const char *
previous_character(const char *start, const char *end, bool utf8)
{
	const char *at = end - 1;

	while (utf8 && at > start && (*at & 0xc0) == 0x80)
		at--;
	return at;
}

Span
strip(Span span)
{
	bool		utf8 = GetDatabaseEncoding() == PG_UTF8;
	const char *start = span.data;
	const char *end = span.data + span.length;

	while (start < end && is_white_at(start, end, utf8))
		start += character_length(start, utf8);
	while (start < end)
	{
		const char *last = previous_character(start, end, utf8);

		if (!is_white_at(last, end, utf8))
			break;
		end = last;
	}
	return span_make(start, end - start);
}
