#include "postgres.h"

#include "miscadmin.h"

#include "signatures/observation.h"

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Letters, digits, _ and every byte of a multi-byte character. */
static inline bool
is_word(char c)
{
	char		lower = ascii_lower(c);

	return is_digit(c) || (lower >= 'a' && lower <= 'z') || c == '_' || (unsigned char) c >= 0x80;
}

static inline bool
is_hex(char c)
{
	char		lower = ascii_lower(c);

	return is_digit(c) || (lower >= 'a' && lower <= 'f');
}

static inline char
char_at(Span text, int i)
{
	return i < text.length ? text.data[i] : '\0';
}

/* Match a picture at position i: 9 matches a digit, anything else itself.  Returns its length, 0 without a match. */
static int
match_picture(Span text, int i, const char *picture)
{
	int			length = (int) strlen(picture);

	if (text.length - i < length)
		return 0;
	for (int j = 0; j < length; j++)
		if (picture[j] == '9' ? !is_digit(text.data[i + j]) : text.data[i + j] != picture[j])
			return 0;
	return length;
}

static int
skip_digits(Span text, int i)
{
	while (i < text.length && is_digit(text.data[i]))
		if (++i % LOOK_EVERY == 0)
			CHECK_FOR_INTERRUPTS();
	return i;
}

/* The end of a terminal escape that begins at i. */
static int
skip_escape(Span text, int i)
{
	char		kind = char_at(text, i + 1);

	if (kind == '[')
	{
		i += 2;
		while (i < text.length && text.data[i] >= 0x20 && text.data[i] <= 0x3F)
			i++;
		if (i < text.length && text.data[i] >= 0x40 && text.data[i] <= 0x7E)
			i++;
		return i;
	}
	if (kind == ']')
	{
		/* A title or link: up to BEL or ESC \, but not beyond its line. */
		int			j = i + 2;

		while (j < text.length && text.data[j] != '\a' && text.data[j] != '\033' && text.data[j] != '\n')
			j++;
		if (char_at(text, j) == '\a')
			return j + 1;
		if (char_at(text, j) == '\033' && char_at(text, j + 1) == '\\')
			return j + 2;
		return j;
	}
	if (kind == '(' || kind == ')')
		return Min(i + 3, text.length);
	return i + (kind >= 0x20 && kind < 0x7F ? 2 : 1);
}

/* hh:mm:ss with an optional fraction, or hh:mm after a date. */
static int
skip_clock(Span text, int i, bool after_date)
{
	int			start = i;

	if (match_picture(text, i, "99:99:99"))
		i += 8;
	else if (after_date && match_picture(text, i, "99:99"))
		i += 5;
	else
		return 0;
	if ((char_at(text, i) == '.' || char_at(text, i) == ',') && is_digit(char_at(text, i + 1)))
		i = skip_digits(text, i + 1);
	return i - start;
}

/* The length of a timestamp at i, 0 if there is none. */
static int
match_time(Span text, int i)
{
	int			start = i;
	int			length;

	if (match_picture(text, i, "9999-99-99") || match_picture(text, i, "9999/99/99"))
	{
		i += 10;
		if (char_at(text, i) != 'T' && char_at(text, i) != ' ' && char_at(text, i) != '_')
			return 0;
		length = skip_clock(text, i + 1, true);
		if (length == 0)
			return 0;
		i += 1 + length;
		if (char_at(text, i) == 'Z')
			i++;
		else if (match_picture(text, i, "+99:99") || match_picture(text, i, "-99:99"))
			i += 6;
		else if (match_picture(text, i, "+9999") || match_picture(text, i, "-9999"))
			i += 5;
	}
	else
	{
		length = skip_clock(text, i, false);
		if (length == 0)
			return 0;
		i += length;
	}
	return is_word(char_at(text, i)) || char_at(text, i) == ':' ? 0 : i - start;
}

/* 0.12s, 3.4 ms, 1.5 seconds: the length of a measured duration, else 0. */
static int
match_duration(Span text, int start, int digits_end)
{
	static const char *const units[] = {"seconds", "second", "secs", "sec", "ms", "us", "ns", "s"};
	int			i = digits_end;

	if (char_at(text, i) != '.' || !is_digit(char_at(text, i + 1)))
		return 0;
	i = skip_digits(text, i + 1);
	if (char_at(text, i) == ' ')
		i++;
	for (int j = 0; j < (int) lengthof(units); j++)
		if (span_starts(span_from(text, i), units[j]) && !is_word(char_at(text, i + (int) strlen(units[j]))))
			return i + (int) strlen(units[j]) - start;
	return 0;
}

/* If the root of a path is at i: the length to replace, else 0. */
static int
match_root(Span text, int i, Span root, const char **replacement)
{
	char		next;

	if (text.length - i < root.length || memcmp(text.data + i, root.data, root.length) != 0)
		return 0;
	next = char_at(text, i + root.length);
	if (next == '/' && (is_word(char_at(text, i + root.length + 1)) || char_at(text, i + root.length + 1) == '.'))
	{
		*replacement = "";
		return root.length + 1;
	}
	if (next == '/' || (!is_word(next) && next != '-' && next != '.'))
	{
		*replacement = ".";
		return root.length;
	}
	return 0;
}

/* The length of an address at i, else 0; shorter hexadecimal numbers are constants of a program. */
static int
match_address(Span text, int i)
{
	int			end = i + 2;

	if (text.data[i] != '0' || (char_at(text, i + 1) != 'x' && char_at(text, i + 1) != 'X'))
		return 0;
	while (end < text.length && is_hex(text.data[end]))
		end++;
	return end - i >= 8 && !is_word(char_at(text, end)) ? end - i : 0;
}

/* Match an address, time or duration that begins with the digit at i. */
static int
match_measurement(Span text, int i, const ObservationOptions *options, const char **replacement)
{
	int			length;

	if (options->addresses && (length = match_address(text, i)) > 0)
	{
		*replacement = "<address>";
		return length;
	}
	if (!options->timestamps)
		return 0;
	if ((length = match_time(text, i)) > 0)
		*replacement = "<time>";
	else if ((length = match_duration(text, i, skip_digits(text, i))) > 0)
		*replacement = "<duration>";
	return length;
}

void
normalize_text(StringInfo out, Span text, const ObservationOptions *options)
{
	Span		root = options->root;
	int			i = 0;
	bool		in_word = false;	/* the previous character belongs to a word */
	bool		in_path = false;	/* … or to a path */
	bool		blank = false;	/* white space is pending */
	int			looked = 0;		/* position of the last check for interrupts */

	while (root.length > 1 && root.data[root.length - 1] == '/')
		root.length--;
	while (i < text.length)
	{
		char		c = text.data[i];
		const char *replacement = NULL;
		int			length = 0;

		if (i - looked >= LOOK_EVERY)
		{
			CHECK_FOR_INTERRUPTS();
			looked = i;
		}
		if (options->ansi && c == '\033')
		{
			i = skip_escape(text, i);
			in_word = in_path = false;
			continue;
		}
		if (options->whitespace && is_space(c))
		{
			blank = true;
			in_word = in_path = false;
			i++;
			continue;
		}
		if (root.length > 0 && !in_word && !in_path && c == root.data[0])
			length = match_root(text, i, root, &replacement);
		if (length == 0 && !in_word && is_digit(c))
			length = match_measurement(text, i, options, &replacement);
		if (length == 0 && options->digits && is_digit(c))
		{
			replacement = "0";
			length = skip_digits(text, i) - i;
		}
		if (blank && (out->len > 0))
			appendStringInfoChar(out, ' ');
		blank = false;
		if (replacement != NULL)
		{
			appendStringInfoString(out, replacement);
			in_word = replacement[0] == '0';
			in_path = false;
			i += length;
			continue;
		}
		if (is_digit(c))
		{
			/* Copy the whole number, since only its start can match. */
			int			end = skip_digits(text, i);

			appendBinaryStringInfo(out, text.data + i, end - i);
			i = end;
		}
		else
		{
			appendStringInfoChar(out, options->lowercase ? ascii_lower(c) : c);
			i++;
		}
		in_word = is_word(c);
		in_path = c == '/' || c == '.' || c == '-' || c == '~';
	}
}
