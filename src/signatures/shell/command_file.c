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
	Operands	operands = invocation_operands(run);
	Span		destination = span_none();
	int			at;

	while ((at = next_operand(&operands)) < run->command->n_words)
		destination = shell_word_span(run->command, at);
	return set_outcome(outcome, ACTION_FILEOP, destination, true);
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
	return set_outcome(outcome, lists ? ACTION_SEARCH : ACTION_FILEOP, target, true);
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
		set_outcome(outcome, command->heredoc > 0 ? ACTION_CREATE : ACTION_MODIFY, file, true);
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
