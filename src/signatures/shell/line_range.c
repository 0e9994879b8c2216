#include "postgres.h"

#include "signatures/shell/line_range.h"

/* The text after a leading /PATTERN/; data NULL if there is none. */
static Span
after_pattern(Span text)
{
	int			i;

	if (text.length == 0 || text.data[0] != '/')
		return span_none();
	for (i = 1; i < text.length && text.data[i] != '/'; i++)
		if (text.data[i] == '\\')
			i++;
	return i < text.length ? span_from(text, i + 1) : span_none();
}

/* Read a count or line number, and advance *at past it and the blanks after it. */
static int64
read_number(Span script, int *at)
{
	int64		number = span_number(span_from(script, *at));

	while (*at < script.length && script.data[*at] >= '0' && script.data[*at] <= '9')
		++*at;
	while (*at < script.length && script.data[*at] == ' ')
		++*at;
	return number;
}

/* Read the address N; N,M; N,+M or N,$ of a sed command and advance *at past it; false if there is none. */
static bool
read_addresses(Span script, int *at, int64 *first, int64 *last)
{
	bool		relative = false;

	*first = *last = read_number(script, at);
	if (*first < 1)
		return false;
	if (*at >= script.length || script.data[*at] != ',')
		return true;
	do
		++*at;
	while (*at < script.length && script.data[*at] == ' ');
	if (*at < script.length && script.data[*at] == '$')
	{
		*last = 0;
		++*at;
		return true;
	}
	if (*at < script.length && script.data[*at] == '+')
	{
		relative = true;
		++*at;
	}
	*last = read_number(script, at);
	if (*last < 0)
		return false;
	*last = Max(relative ? *first + *last : *last, *first);
	return true;
}

/* /PATTERN/p, /PATTERN/!d, s/PATTERN/…/p under -n; or from a pattern on. */
static void
sed_pattern(Span script, bool quiet, LineRange *lines)
{
	Span		rest = after_pattern(script);

	if (quiet && script.length > 1 && script.data[0] == 's' && script.data[1] == '/')
		lines->choice = LINES_BY_PATTERN;
	if (rest.length > 0 && (rest.data[0] == 'I' || rest.data[0] == 'M'))
		rest = span_from(rest, 1);
	rest = rest.data ? span_trim(rest) : rest;
	if (rest.length == 0)
		return;
	if (quiet ? strchr("!p={", rest.data[0]) != NULL : span_starts(rest, "!d"))
		lines->choice = LINES_BY_PATTERN;
	else if (quiet ? rest.data[0] == ',' : rest.data[0] == 'q')
		lines->choice = LINES_UNKNOWN;
}

/* N,Mp;N,Mp: extend the range to include further ranges, up to the first command that is none. */
static void
add_ranges(Span rest, LineRange *lines)
{
	while (rest.length > 1 && (rest.data[0] == ';' || rest.data[0] == '\n'))
	{
		int64		first;
		int64		last;
		int			at = 0;

		rest = span_trim(span_from(rest, 1));
		if (!read_addresses(rest, &at, &first, &last) || at >= rest.length || rest.data[at] != 'p')
			return;
		lines->first = Min(lines->first, first);
		lines->last = lines->last == 0 || last == 0 ? 0 : Max(lines->last, last);
		rest = span_from(rest, at + 1);
	}
}

/* The lines that a sed script prints, if its first commands are plain ranges. */
void
sed_range(Span script, bool quiet, LineRange *lines)
{
	int64		first = 0;
	int64		last = 0;
	int			i = 0;
	Span		verb;

	script = span_trim(script);
	if (quiet && span_is(script, "$p"))
		lines->tail = 1;
	/* It prints line numbers. */
	if (quiet && (span_is(script, "=") || span_is(script, "$=")))
		lines->choice = LINES_BY_PATTERN;
	if (!read_addresses(script, &i, &first, &last))
	{
		/* N,/PATTERN/p */
		if (quiet && first > 0)
			lines->choice = LINES_UNKNOWN;
		else
			sed_pattern(script, quiet, lines);
		return;
	}
	verb = span_from(script, i);
	if (verb.length == 0)
		return;
	if (quiet ? verb.data[0] == 'p' || verb.data[0] == '{' : span_starts(verb, "!d"))
	{
		lines->first = first;
		lines->last = last;
		if (quiet)
			add_ranges(span_from(verb, 1), lines);
	}
	else if (!quiet && verb.data[0] == 'q' && first == last)
	{
		/* Nq: the lines up to N; Nq;d: only line N */
		lines->first = span_is(verb, "q;d") ? first : 1;
		lines->last = last;
	}
	else if (!quiet && span_is(verb, "d") && first == 1 && last > 0)
	{
		lines->first = last + 1;
		lines->last = 0;
	}
}

/* Does the awk program begin with /PATTERN/ or !/PATTERN/?  Then the pattern selects lines. */
static bool
awk_pattern(Span program, LineRange *lines)
{
	Span		rest;

	program = span_trim(program);
	if (program.length > 0 && program.data[0] == '!')
		program = span_from(program, 1);
	rest = after_pattern(program);
	if (rest.data == NULL)
		return false;
	rest = span_trim(rest);
	/* Further rules, or a range, may print lines that do not match. */
	if (rest.length == 0 || rest.data[0] == '&' || rest.data[0] == '|' ||
		(rest.data[0] == '{' && memchr(rest.data, '}', rest.length) == rest.data + rest.length - 1))
		lines->choice = LINES_BY_PATTERN;
	else
		lines->choice = LINES_UNKNOWN;
	return true;
}

/* The lines selected by simple comparisons of NR in awk, or of $. in perl. */
static void
select_numbers(Span program, const char *variable, LineRange *lines)
{
	int64		first = 1;
	int64		last = 0;
	bool		found = false;
	int			at = 0;
	int			i;

	/* Simple selections are shorter.  Do not search a megabyte repeatedly. */
	if (program.length > 200)
		return;
	while ((i = span_find(span_from(program, at), variable)) >= 0)
	{
		bool		less;
		bool		equal;
		bool		or_equal = false;
		int64		number;

		at += i + 2;
		while (at < program.length && program.data[at] == ' ')
			at++;
		if (at >= program.length)
			break;
		less = program.data[at] == '<';
		equal = program.data[at] == '=';
		if (!less && !equal && program.data[at] != '>')
			continue;
		at++;
		if (at < program.length && program.data[at] == '=')
		{
			or_equal = true;
			at++;
		}
		while (at < program.length && program.data[at] == ' ')
			at++;
		number = span_number(span_from(program, at));
		if (number < 0)
			continue;
		found = true;
		if (equal)
		{
			/* NR==a, NR==b: from a to b */
			if (last == 0 && first == 1)
				first = number;
			last = number;
		}
		else if (less)
			last = or_equal ? number : number - 1;
		else
			first = or_equal ? number : number + 1;
	}
	if (found && first >= 1 && (last == 0 || last >= first))
	{
		lines->first = first;
		lines->last = last;
	}
}

void
awk_range(Span program, LineRange *lines)
{
	if (!awk_pattern(program, lines))
		select_numbers(program, "NR", lines);
}

/* The lines that perl -ne prints: print if 10..20, print if $. > 10, print if /x/. */
void
perl_range(Span code, LineRange *lines)
{
	Span		condition = span_trim(code);
	int64		first;
	int64		last;
	int			at = 0;

	if (!span_starts(condition, "print if "))
		return;
	condition = span_trim(span_from(condition, 9));
	first = read_number(condition, &at);
	if (first < 1)
	{
		if (!awk_pattern(condition, lines))
			select_numbers(condition, "$.", lines);
		return;
	}
	while (at < condition.length && (condition.data[at] == '.' || condition.data[at] == ' '))
		at++;
	last = read_number(condition, &at);
	lines->first = first;
	lines->last = last < 0 ? 0 : Max(last, first);
}

/* The lines that head and tail print: ten by default. */
void
head_tail_range(const ShellCommand *command, int i, bool is_tail, LineRange *lines)
{
	if (is_tail)
		lines->tail = 10;
	else
	{
		lines->first = 1;
		lines->last = 10;
	}
	for (; i < command->n_words; i++)
	{
		const char *word = shell_word(command, i);
		const char *value = NULL;
		bool		from_start = false;
		int64		number;

		if (strcmp(word, "-n") == 0 || strcmp(word, "--lines") == 0)
			value = shell_word(command, i + 1);
		else if (strncmp(word, "-n", 2) == 0)
			value = word + 2;
		else if (strncmp(word, "--lines=", 8) == 0)
			value = word + 8;
		else if (word[0] == '-' && word[1] >= '0' && word[1] <= '9')
			value = word + 1;
		else if (is_tail && word[0] == '+' && word[1] >= '0' && word[1] <= '9')
			value = word;
		else if (strncmp(word, "-c", 2) == 0 || strncmp(word, "--bytes", 7) == 0)
		{
			lines->choice = LINES_UNKNOWN;
			return;
		}
		if (value == NULL)
			continue;
		lines->first = lines->last = lines->tail = 0;
		if (*value == '+')
		{
			from_start = true;
			value++;
		}
		number = span_number(span_of(value));
		if (number < 0)
			return;				/* head -n -5: all but the last lines */
		if (!is_tail)
		{
			lines->first = 1;
			lines->last = Max(number, 1);
		}
		else if (from_start)
			lines->first = Max(number, 1);
		else
			lines->tail = Max(number, 1);
		return;
	}
}

/* Apply a filter to the lines that a view has so far. */
void
apply_range(Effect *action, const LineRange *lines)
{
	int64		base = action->partial ? action->first : 1;
	int64		end = action->partial ? action->last : 0;

	if (lines->choice == LINES_BY_PATTERN)
	{
		/* Selecting by pattern is a search. */
		action->category = EFFECT_SEARCH;
		action->partial = false;
	}
	else if (lines->choice == LINES_UNKNOWN)
		action->window = true;
	else if (lines->first > 0 && action->tail > 0)
		action->tail = Max(action->tail - lines->first + 1, 1);
	else if (lines->first > 0)
	{
		int64		last = lines->last > 0 ? base + lines->last - 1 : end;

		if (end > 0 && last > end)
			last = end;
		action->partial = true;
		action->first = base + lines->first - 1;
		action->last = last > 0 && last < action->first ? action->first : last;
	}
	else if (lines->tail > 0 && end > 0)
		action->first = Max(base, end - lines->tail + 1);
	else if (lines->tail > 0 && (action->tail == 0 || lines->tail < action->tail))
		action->tail = lines->tail;
}
