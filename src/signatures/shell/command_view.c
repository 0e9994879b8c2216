/*
 * command_view.c
 *		Filters that print lines of their files: head, tail, sed, awk.
 *
 * With -i, sed and awk change the files instead.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"
#include "signatures/shell/line_range.h"

/* awk: the lines its program selects; with -i inplace a change. */
Effect
act_awk(Invocation *run, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	Span		program = invocation_operand(run, 0);
	Span		file = invocation_operand(run, 1);
	int			i;

	set_outcome(outcome, ACTION_VIEW, file.data ? file : command->input, true);
	for (i = run->at; i + 1 < command->n_words; i++)
		if (strcmp(shell_word(command, i), "inplace") == 0)
			outcome->action.category = ACTION_MODIFY;
	if (program.data != NULL)
		awk_range(program, &outcome->lines);
	if (outcome->action.category == ACTION_MODIFY)
		action_set_content(&outcome->action, span_none(), program);
	return EFFECT_ACT;
}

Effect
act_head_tail(Invocation *run, Outcome *outcome)
{
	Span		file = invocation_operand(run, 0);

	/* tail +5 FILE: an old form */
	if (file.length > 1 && file.data[0] == '+')
		file = invocation_operand(run, 1);
	set_outcome(outcome, ACTION_VIEW, file.data ? file : run->command->input, true);
	head_tail_range(run->command, run->at, run->program->kind == PROGRAM_TAIL, &outcome->lines);
	return EFFECT_ACT;
}

/*
 * sed's options of one letter, all in word *i, which moves on to the value of
 * the last; the result is a piece of the script, if that is what the value is.
 */
static Span
sed_letters(const ShellCommand *command, int *i, bool *quiet, bool *in_place)
{
	const char *letter;

	for (letter = shell_word(command, *i) + 1; *letter; letter++)
	{
		switch (*letter)
		{
			case 'n':
				*quiet = true;
				break;
			case 'i':
				*in_place = true;
				/* What follows is a suffix; BSD's -i '' has an empty one. */
				if (letter[1] == '\0' && *i + 1 < command->n_words && command->words[*i + 1].length == 0)
					++*i;
				return span_none();
			case 'e':
			case 'f':
				return letter[1] != '\0' ? span_of(letter + 1) : shell_word_span(command, ++*i);
			default:
				break;
		}
	}
	return span_none();
}

/* The script is the first operand, unless options give it, piece by piece. */
Effect
act_sed(Invocation *run, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	StringInfoData joined;
	Span		script = span_none();
	Span		target = span_none();
	bool		quiet = false;
	bool		in_place = false;
	bool		has_script = false;
	bool		several = false;
	int			i;

	joined.data = NULL;
	for (i = run->at; i < command->n_words; i++)
	{
		const char *word = shell_word(command, i);
		Span		part = span_none();

		if (word[0] == '-' && word[1] != '\0')
		{
			if (strncmp(word, "--in-place", 10) == 0)
				in_place = true;
			else if (strcmp(word, "--quiet") == 0 || strcmp(word, "--silent") == 0)
				quiet = true;
			else if (strncmp(word, "--expression=", 13) == 0)
				part = span_of(word + 13);
			else if (word[1] != '-')
				part = sed_letters(command, &i, &quiet, &in_place);
			if (part.data == NULL)
				continue;
			has_script = true;
		}
		else if (!has_script)
		{
			has_script = true;
			part = shell_word_span(command, i);
		}
		else
		{
			if (target.data == NULL)
				target = shell_word_span(command, i);
			continue;
		}
		if (script.data == NULL)
			script = part;
		else
		{
			if (joined.data == NULL)
			{
				initStringInfo(&joined);
				appendBinaryStringInfo(&joined, script.data, script.length);
			}
			appendStringInfoChar(&joined, '\n');
			appendBinaryStringInfo(&joined, part.data, part.length);
			several = true;
		}
	}
	if (in_place)
	{
		set_outcome(outcome, ACTION_MODIFY, target, true);
		action_set_content(&outcome->action, span_none(), several ? span_make(joined.data, joined.len) : script);
		return EFFECT_ACT;
	}
	set_outcome(outcome, ACTION_VIEW, target.data ? target : command->input, true);
	if (script.data != NULL)
		sed_range(script, quiet, &outcome->lines);
	return EFFECT_ACT;
}
