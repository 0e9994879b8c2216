/*
 * command_search.c
 *		Searches: grep and similar programs, find.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

/* grep PATTERN FILE: the target is the place searched, not the pattern. */
Doing
act_grep(Invocation *run, Outcome *outcome)
{
	static const char *const walk_options[] = {"--dereference-recursive", "--recursive", NULL};
	const ShellCommand *command = run->command;
	int			skip = run->program->operands;
	bool		walks = run->program->kind == PROGRAM_SEARCH_HERE;
	Operands	operands = invocation_operands(run);
	Span		target;

	for (int j = run->at; j < command->n_words; j++)
	{
		const char *word = shell_word(command, j);

		/* Options give the pattern, or there is none. */
		if (strcmp(word, "-e") == 0 || strncmp(word, "--regexp", 8) == 0 || strcmp(word, "--files") == 0)
			skip = 0;
		if (is_any_of(word, walk_options) || (word[0] == '-' && word[1] != '-' && strpbrk(word, "rR") != NULL))
			walks = true;
	}
	target = shell_word_span(command, operand_after(&operands, skip));
	if (target.data == NULL)
		target = command->input;
	/* Without a file or input, a recursive search starts in the current directory. */
	if (target.data == NULL && walks && !run->reader->in_pipe)
		target = span_of(".");
	set_outcome(outcome, EFFECT_SEARCH, target, true);
	repeat_for_rest(outcome, &operands);
	return DOES_ACT;
}

/* find: a search in each directory, or a removal; script.c reads the commands of -exec. */
Doing
act_find(Invocation *run, Outcome *outcome)
{
	static const char *const link_options[] = {"-H", "-L", "-P", NULL};
	static const char *const exec_options[] = {"-exec", "-execdir", "-ok", "-okdir", NULL};
	const ShellCommand *command = run->command;
	Effect		model;
	bool		expression = false;
	int			n = outcome->effects->n;

	effect_init(&model, EFFECT_SEARCH);
	effect_set_target(&model, span_of("."), true);
	for (int i = run->at; i < command->n_words; i++)
	{
		const char *word = shell_word(command, i);

		if (!expression && is_any_of(word, link_options))
			continue;
		if (word[0] != '-' && strcmp(word, "(") != 0 && strcmp(word, "!") != 0)
		{
			if (!expression)
			{
				model.target = shell_word_span(command, i);
				effects_repeat(outcome->effects, model);
			}
			continue;
		}
		expression = true;
		if (strcmp(word, "-delete") == 0)
		{
			model.category = EFFECT_FILEOP;
			model.verb = span_of("rm");
		}
		else if (is_any_of(word, exec_options))
		{
			int			stop = i + 1;

			while (stop < command->n_words && strcmp(shell_word(command, stop), ";") != 0 &&
				   strcmp(shell_word(command, stop), "+") != 0)
				stop++;
			if (outcome->n_inner < MAX_INNER)
				outcome->inner[outcome->n_inner++] = (WordRange) {i + 1, stop};
			i = stop;
		}
	}
	if (outcome->effects->n == n)
		effects_repeat(outcome->effects, model);
	for (int i = n; i < outcome->effects->n; i++)
	{
		outcome->effects->items[i].category = model.category;
		outcome->effects->items[i].verb = model.verb;
	}
	return DOES_ACT;
}
