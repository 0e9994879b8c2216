/*
 * command_search.c
 *		Searches: grep and its like, find.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

#define MAX_FOLLOWED 4			/* commands of -exec of one find */

/* grep PATTERN FILE: where is searched, not for what. */
Effect
act_grep(Invocation *run, Outcome *outcome)
{
	static const char *const walk_options[] = {"--dereference-recursive", "--recursive", NULL};
	const ShellCommand *command = run->command;
	int			skip = run->program->operands;
	bool		walks = run->program->kind == PROGRAM_SEARCH_HERE;
	int			j;
	Span		target;

	for (j = run->at; j < command->n_words; j++)
	{
		const char *word = shell_word(command, j);

		/* The pattern is given by an option, or there is none. */
		if (strcmp(word, "-e") == 0 || strncmp(word, "--regexp", 8) == 0 || strcmp(word, "--files") == 0)
			skip = 0;
		if (is_any_of(word, walk_options) || (word[0] == '-' && word[1] != '-' && strpbrk(word, "rR") != NULL))
			walks = true;
	}
	target = invocation_operand(run, skip);
	if (target.data == NULL)
		target = command->input;
	/* Neither a file nor anything to read: the current directory. */
	if (target.data == NULL && walks && !run->reader->in_pipe)
		target = span_of(".");
	return set_outcome(outcome, ACTION_SEARCH, target, true);
}

/* find: a search, unless it deletes or runs a command that changes things. */
Effect
act_find(Invocation *run, Outcome *outcome)
{
	static const char *const link_options[] = {"-H", "-L", "-P", NULL};
	static const char *const exec_options[] = {"-exec", "-execdir", "-ok", "-okdir", NULL};
	Reader	   *reader = run->reader;
	ShellCommand *command = run->command;
	Span		root = span_none();
	bool		expression = false;
	bool		deletes = false;
	int			n_words = command->n_words;
	int			n_followed = 0;
	int			i;

	for (i = run->at; i < n_words; i++)
	{
		const char *word = shell_word(command, i);

		if (!expression && is_any_of(word, link_options))
			continue;
		if (word[0] != '-' && strcmp(word, "(") != 0 && strcmp(word, "!") != 0)
		{
			if (!expression && root.data == NULL)
				root = shell_word_span(command, i);
			continue;
		}
		expression = true;
		if (strcmp(word, "-delete") == 0)
			deletes = true;
		else if (is_any_of(word, exec_options))
		{
			int			stop = i + 1;

			while (stop < n_words && strcmp(shell_word(command, stop), ";") != 0 && strcmp(shell_word(command, stop), "+") != 0)
				stop++;
			if (reader->depth < MAX_DEPTH && n_followed++ < MAX_FOLLOWED)
			{
				Effect		effect;

				command->n_words = stop;
				reader->depth++;
				effect = classify_words(reader, command, i + 1, outcome);
				reader->depth--;
				command->n_words = n_words;
				if (effect == EFFECT_ACT && changes_things(&outcome->action))
				{
					if (outcome->action.category != ACTION_EXECUTE)
						action_set_target(&outcome->action, root, true);
					return EFFECT_ACT;
				}
			}
			i = stop;
		}
	}
	if (deletes)
		return set_fileop(outcome, span_of("rm"), root);
	return set_outcome(outcome, ACTION_SEARCH, root.data ? root : span_of("."), true);
}
