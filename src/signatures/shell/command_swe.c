/*
 * command_swe.c
 *		SWE-agent's own commands, written as shell lines.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

/* str_replace_editor as a command line: view PATH --view_range A B … */
Doing
act_swe_editor(Invocation *run, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	const char *verb = shell_word(command, run->at);
	Span		path = shell_word_span(command, run->at + 1);
	Span		old_text = span_none();
	Span		new_text = span_none();
	int64		first = -1;
	int64		last = -1;

	for (int j = run->at + 2; j < command->n_words; j++)
	{
		const char *word = shell_word(command, j);

		if (strcmp(word, "--old_str") == 0)
			old_text = shell_word_span(command, ++j);
		else if (strcmp(word, "--new_str") == 0 || strcmp(word, "--insert_text") == 0)
			new_text = shell_word_span(command, ++j);
		else if (strcmp(word, "--view_range") == 0)
		{
			first = span_number(span_of(shell_word(command, j + 1)));
			last = span_number(span_of(shell_word(command, j + 2)));
			j += 2;
		}
	}
	if (strcmp(verb, "view") == 0)
	{
		set_outcome(outcome, EFFECT_VIEW, path, true);
		if (first > 0)
		{
			last_effect(outcome)->partial = true;
			last_effect(outcome)->first = first;
			last_effect(outcome)->last = Max(last, 0);
		}
	}
	else if (strcmp(verb, "create") == 0)
		set_outcome(outcome, EFFECT_CREATE, path, true);
	else if (strcmp(verb, "str_replace") == 0 || strcmp(verb, "insert") == 0)
	{
		set_outcome(outcome, EFFECT_MODIFY, path, true);
		last_effect(outcome)->insert = verb[0] == 'i';
		effect_set_content(last_effect(outcome), old_text, new_text);
	}
	else
		set_outcome(outcome, EFFECT_MODIFY, path, true);
	return DOES_ACT;
}

/*
 * SWE-agent's edit.  Earlier form: edit 6:7, or edit alone for the lines between the cursors, then the new
 * lines, then end_of_edit.  Later form: edit SEARCH REPLACE [ALL], insert TEXT [LINE].  The file is the open
 * one.
 */
Doing
act_swe_edit(Invocation *run, Outcome *outcome)
{
	ShellLexer *lexer = &run->reader->lexer;
	const ShellCommand *command = run->command;
	int			i = run->at;
	const char *word = shell_word(command, i);
	int64		line = span_number(span_of(word));
	Span		rest = span_make(lexer->at, lexer->end - lexer->at);
	bool		of_lines = line >= 0 && strchr(word, ':') != NULL && !command->words[i].quoted;
	int			stop = of_lines || i >= command->n_words ? span_find(rest, "end_of_edit") : -1;

	set_outcome(outcome, EFFECT_MODIFY, span_none(), false);
	if (of_lines || stop >= 0)
	{
		if (stop >= 0)
			rest.length = stop;
		effect_set_content(last_effect(outcome), span_none(), rest);
		run->reader->stop = true;
	}
	else if (i >= command->n_words)
		return DOES_ACT;
	else if (strcmp(shell_word(command, i - 1), "edit") == 0)
		effect_set_content(last_effect(outcome), shell_word_span(command, i), shell_word_span(command, i + 1));
	else
	{
		effect_set_content(last_effect(outcome), span_none(), shell_word_span(command, i));
		last_effect(outcome)->insert = true;
	}
	return DOES_ACT;
}

/* open FILE [LINE] */
Doing
act_swe_open(Invocation *run, Outcome *outcome)
{
	set_outcome(outcome, EFFECT_VIEW, shell_word_span(run->command, run->at), true);
	effect_set_window(last_effect(outcome), span_number(span_of(shell_word(run->command, run->at + 1))));
	return DOES_ACT;
}

/* goto LINE of the open file */
Doing
act_swe_goto(Invocation *run, Outcome *outcome)
{
	set_outcome(outcome, EFFECT_VIEW, span_none(), true);
	effect_set_window(last_effect(outcome), span_number(span_of(shell_word(run->command, run->at))));
	return DOES_ACT;
}

/* The open file, at an unknown place. */
Doing
act_swe_scroll(Invocation *run, Outcome *outcome)
{
	set_outcome(outcome, EFFECT_VIEW, span_none(), true);
	last_effect(outcome)->window = true;
	return DOES_ACT;
}
