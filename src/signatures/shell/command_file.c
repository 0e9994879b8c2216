/*
 * command_file.c
 *		Programs that write files: cp and mv, tar, tee, patch.
 */
#include "postgres.h"

#include "signatures/patch.h"
#include "signatures/shell/invocation.h"

/* cp, mv, ln: the last operand is where it goes. */
Effect
act_destination(Invocation *run, Outcome *outcome)
{
	Span		destination = last_operand(run->command, run->at, &run->program->options);

	return set_fileop(outcome, program_verb(run->program), destination);
}

/* sort -o FILE: the file that the option names is written. */
Effect
act_output(Invocation *run, Outcome *outcome)
{
	return set_outcome(outcome, ACTION_MODIFY, run->value, true);
}

/* The last part of an address, without what is asked for there. */
static Span
name_in_address(Span address)
{
	int			start;
	int			end = span_find(address, "://");
	int			i;

	start = end < 0 ? 0 : end + 3;
	end = address.length;
	for (i = start; i < end; i++)
	{
		if (address.data[i] == '?' || address.data[i] == '#')
			end = i;
		else if (address.data[i] == '/')
			start = i + 1;
	}
	/* Of a host alone nobody knows the file. */
	if (end <= start || (start > 0 && address.data[start - 1] == '/' && start > 1 && address.data[start - 2] == '/'))
		return span_none();
	return span_make(address.data + start, end - start);
}

/* curl -O ADDRESS, curl -o FILE, wget: the file that comes; on the screen it is a run. */
Effect
act_fetch(Invocation *run, Outcome *outcome)
{
	Span		file = run->value;

	if (run->kind == PROGRAM_FETCH_TO)
	{
		if (span_is(file, "-") || span_starts(file, "/dev/"))
			return act_plain(run, outcome);
	}
	else
	{
		const ShellCommand *command = run->command;
		Operands	operands = invocation_operands(run);
		Span		address = span_none();
		int			at;

		while ((at = next_operand(&operands)) < command->n_words)
			if (address.data == NULL || strstr(shell_word(command, at), "://") != NULL)
				address = shell_word_span(command, at);
		file = address.data ? name_in_address(address) : file;
		if (address.data == NULL)
			file = span_none();
	}
	return set_fileop(outcome, program_verb(run->program), file);
}

/* tar with t lists; anything else packs or unpacks. */
Effect
act_tar(Invocation *run, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	Span		target = span_none();
	bool		lists = false;
	int			j;

	for (j = run->at; j < command->n_words; j++)
	{
		const char *word = shell_word(command, j);

		if (strncmp(word, "--file=", 7) == 0)
			target = span_of(word + 7);
		else if (strcmp(word, "--list") == 0)
			lists = true;
		else if (word[0] == '-' && word[1] == '-')
			continue;
		else if (word[0] == '-' || j == run->at)
		{
			lists |= strchr(word, 't') != NULL && strchr(word, 'c') == NULL && strchr(word, 'x') == NULL;
			if (target.data == NULL && word[0] != '\0' && word[strlen(word) - 1] == 'f')
				target = shell_word_span(command, j + 1);
		}
	}
	if (lists)
		return set_outcome(outcome, ACTION_SEARCH, target, true);
	return set_fileop(outcome, span_of("tar"), target);
}

Effect
act_tee(Invocation *run, Outcome *outcome)
{
	static const char *const append_options[] = {"-a", "--append", NULL};
	const ShellCommand *command = run->command;
	Span		file = invocation_operand(run, 0);

	/* /dev/null, /dev/stderr …: it only passes on */
	if (file.data == NULL || span_starts(file, "/dev/"))
		return EFFECT_NONE;
	if (is_any_of(shell_word(command, run->at), append_options))
	{
		set_outcome(outcome, ACTION_MODIFY, file, true);
		outcome->action.insert = true;
	}
	else
		set_outcome(outcome, command->heredoc > 0 || run->reader->piped.data != NULL ? ACTION_CREATE : ACTION_MODIFY,
					file, true);
	if (outcome->action.category == ACTION_MODIFY)
	{
		if (command->heredoc > 0)
			await_body(outcome, command, BODY_CONTENT);
		else if (run->reader->piped.data != NULL)
			action_set_content(&outcome->action, span_none(), run->reader->piped);
	}
	return EFFECT_ACT;
}

/* The patch is in a here-document, the operand or the pipe. */
static Effect
read_patch(const Invocation *run, Span operand, bool is_file, Outcome *outcome)
{
	outcome->effect = EFFECT_ACT;
	if (run->command->heredoc > 0)
	{
		set_outcome(outcome, ACTION_MODIFY, is_file ? operand : span_none(), true);
		await_body(outcome, run->command, BODY_PATCH);
	}
	else if (operand.data != NULL && !is_file)
		classify_patch(operand, &outcome->action);
	else if (run->reader->piped.data != NULL)
		classify_patch(run->reader->piped, &outcome->action);
	else
		set_outcome(outcome, ACTION_MODIFY, operand, true);
	return EFFECT_ACT;
}

Effect
act_patch(Invocation *run, Outcome *outcome)
{
	return read_patch(run, invocation_operand(run, 0), true, outcome);
}

Effect
act_apply_patch(Invocation *run, Outcome *outcome)
{
	return read_patch(run, shell_word_span(run->command, run->at), false, outcome);
}
