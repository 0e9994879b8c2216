/*
 * span.h
 *		A piece of text that is stored elsewhere: pointer and length.
 *
 * Agents' texts are not always NUL-terminated and may have a megabyte, so pieces of them are passed without
 * copying.
 */
#ifndef STEPADV_SPAN_H
#define STEPADV_SPAN_H

/* Number of bytes of text between checks for interrupts. */
#define LOOK_EVERY 65536

typedef struct Span
{
	const char *data;			/* NULL: absent, which differs from empty */
	int			length;
} Span;

static inline Span
span_make(const char *data, int length)
{
	Span		span = {data, length};

	return span;
}

static inline Span
span_of(const char *text)
{
	return span_make(text, (int) strlen(text));
}

static inline Span
span_none(void)
{
	return span_make(NULL, 0);
}

static inline bool
span_is(Span span, const char *literal)
{
	return span.data != NULL && span.length == (int) strlen(literal) &&
		memcmp(span.data, literal, span.length) == 0;
}

static inline bool
span_equal(Span a, Span b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

static inline bool
span_starts(Span span, const char *prefix)
{
	int			length = (int) strlen(prefix);

	return span.length >= length && memcmp(span.data, prefix, length) == 0;
}

static inline bool
span_starts_with(Span span, Span prefix)
{
	return span.length >= prefix.length && memcmp(span.data, prefix.data, prefix.length) == 0;
}

static inline char
ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char) (c - 'A' + 'a') : c;
}

/* Ignores the case of ASCII letters. */
static inline bool
span_is_caseless(Span span, const char *lower)
{
	int			i;

	for (i = 0; i < span.length; i++)
		if (lower[i] == '\0' || ascii_lower(span.data[i]) != ascii_lower(lower[i]))
			return false;
	return lower[i] == '\0';
}

static inline bool
span_equal_caseless(Span a, Span b)
{
	for (int i = 0; i < a.length && a.length == b.length; i++)
		if (ascii_lower(a.data[i]) != ascii_lower(b.data[i]))
			return false;
	return a.length == b.length;
}

static inline bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline Span
span_trim(Span span)
{
	while (span.length > 0 && is_space(span.data[0]))
	{
		span.data++;
		span.length--;
	}
	while (span.length > 0 && is_space(span.data[span.length - 1]))
		span.length--;
	return span;
}

/* The offset of the first occurrence of a literal, or -1. */
static inline int
span_find(Span span, const char *literal)
{
	int			length = (int) strlen(literal);
	const char *at = span.data;
	const char *end = span.data + span.length;

	while (at != NULL && end - at >= length)
	{
		at = memchr(at, literal[0], end - at - length + 1);
		if (at == NULL)
			break;
		if (memcmp(at, literal, length) == 0)
			return (int) (at - span.data);
		at++;
	}
	return -1;
}

/* The rest of a span from an offset on. */
static inline Span
span_from(Span span, int offset)
{
	return span_make(span.data + offset, span.length - offset);
}

/* A copy, independent of the buffer that the span points into. */
static inline Span
span_keep(Span span)
{
	char	   *copy;

	if (span.data == NULL)
		return span;
	copy = palloc(span.length + 1);
	memcpy(copy, span.data, span.length);
	copy[span.length] = '\0';
	return span_make(copy, span.length);
}

/* The unsigned number at the start of a span, or -1. */
static inline int64
span_number(Span span)
{
	int64		number = 0;
	int			i;

	for (i = 0; i < span.length && span.data[i] >= '0' && span.data[i] <= '9'; i++)
		if (number < INT64CONST(1000000000000))
			number = number * 10 + (span.data[i] - '0');
	return i == 0 ? -1 : number;
}

#endif							/* STEPADV_SPAN_H */
