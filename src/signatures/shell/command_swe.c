/*
 * command_swe.c
 *		SWE-agent's own commands, where they are lines of a shell.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

/* str_replace_editor as a command line: view PATH --view_range A B … */
Effect
act_swe_editor(Invocation *run, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	const char *verb = shell_word(command, run->at);
	Span		path = shell_word_span(command, run->at + 1);
	Span		old_text = span_none();
	Span		new_text = span_none();
	int64		first = -1;
	int64		last = -1;
	int			j;

	for (j = run->at + 2; j < command->n_words; j++)
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
		set_outcome(outcome, ACTION_VIEW, path, true);
		if (first > 0)
		{
			outcome->action.partial = true;
			outcome->action.first = first;
			outcome->action.last = Max(last, 0);
		}
	}
	else if (strcmp(verb, "create") == 0)
		set_outcome(outcome, ACTION_CREATE, path, true);
	else if (strcmp(verb, "str_replace") == 0 || strcmp(verb, "insert") == 0)
	{
		set_outcome(outcome, ACTION_MODIFY, path, true);
		outcome->action.insert = verb[0] == 'i';
		action_set_content(&outcome->action, old_text, new_text);
	}
	else
		set_outcome(outcome, ACTION_MODIFY, path, true);
	return EFFECT_ACT;
}

/*
 * SWE-agent's edit: "edit 6:7" or, between its cursors, "edit", the new lines,
 * "end_of_edit"; or the later form: edit SEARCH REPLACE [ALL]; insert TEXT
 * [LINE].  The file is the open one.
 */
Effect
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

	set_outcome(outcome, ACTION_MODIFY, span_none(), false);
	if (of_lines || stop >= 0)
	{
		if (stop >= 0)
			rest.length = stop;
		action_set_content(&outcome->action, span_none(), rest);
		run->reader->stop = true;
	}
	else if (i >= command->n_words)
		return EFFECT_ACT;
	else if (strcmp(shell_word(command, i - 1), "edit") == 0)
		action_set_content(&outcome->action, shell_word_span(command, i), shell_word_span(command, i + 1));
	else
	{
		action_set_content(&outcome->action, span_none(), shell_word_span(command, i));
		outcome->action.insert = true;
	}
	return EFFECT_ACT;
}

/* open FILE [LINE] */
Effect
act_swe_open(Invocation *run, Outcome *outcome)
{
	set_outcome(outcome, ACTION_VIEW, shell_word_span(run->command, run->at), true);
	action_set_window(&outcome->action, span_number(span_of(shell_word(run->command, run->at + 1))));
	return EFFECT_ACT;
}

/* goto LINE of the open file */
Effect
act_swe_goto(Invocation *run, Outcome *outcome)
{
	set_outcome(outcome, ACTION_VIEW, span_none(), true);
	action_set_window(&outcome->action, span_number(span_of(shell_word(run->command, run->at))));
	return EFFECT_ACT;
}

/* Of the open file, who knows where. */
Effect
act_swe_scroll(Invocation *run, Outcome *outcome)
{
	set_outcome(outcome, ACTION_VIEW, span_none(), true);
	outcome->action.window = true;
	return EFFECT_ACT;
}
