/*
 * line_range.c
 *		Which lines sed, awk, head and tail let through.
 */
#include "postgres.h"

#include "signatures/shell/line_range.h"

/* N, N,M  N,+M  N,$ at the start of a script of sed; then p, or !d. */
bool
sed_range(Span script, bool quiet, LineRange *lines)
{
	int64		first;
	int64		last;
	int			i = 0;

	script = span_trim(script);
	first = span_number(script);
	if (first < 1)
		return false;
	while (i < script.length && script.data[i] >= '0' && script.data[i] <= '9')
		i++;
	last = first;
	while (i < script.length && script.data[i] == ' ')
		i++;
	if (i < script.length && script.data[i] == ',')
	{
		bool		relative = false;

		i++;
		while (i < script.length && script.data[i] == ' ')
			i++;
		if (i < script.length && script.data[i] == '$')
		{
			last = 0;
			i++;
		}
		else
		{
			if (i < script.length && script.data[i] == '+')
			{
				relative = true;
				i++;
			}
			last = span_number(span_from(script, i));
			if (last < 0)
				return false;
			if (relative)
				last += first;
			if (last < first)
				last = first;
			while (i < script.length && script.data[i] >= '0' && script.data[i] <= '9')
				i++;
		}
		while (i < script.length && script.data[i] == ' ')
			i++;
	}
	if (i >= script.length)
		return false;
	if (!(quiet && (script.data[i] == 'p' || script.data[i] == '{')) &&
		!(!quiet && span_starts(span_from(script, i), "!d")))
		return false;
	lines->first = first;
	lines->last = last;
	return true;
}

/* The lines that a program of awk selects by NR, if it does so plainly. */
void
awk_range(Span program, LineRange *lines)
{
	int64		first = 1;
	int64		last = 0;
	bool		found = false;
	int			at = 0;
	int			i;

	/* No plain selection is longer; the search must not be repeated over a megabyte. */
	if (program.length > 200)
		return;
	while ((i = span_find(span_from(program, at), "NR")) >= 0)
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

/* How many lines head and tail let through. */
void
head_tail_range(const ShellCommand *command, int i, bool is_tail, LineRange *lines)
{
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
		if (value == NULL)
			continue;
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

/* The lines of the lines that the view so far has. */
void
apply_range(Action *action, const LineRange *lines)
{
	int64		base = action->partial ? action->first : 1;
	int64		end = action->partial ? action->last : 0;

	if (lines->first > 0)
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
}
