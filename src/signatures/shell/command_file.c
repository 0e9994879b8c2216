/*
 * command_file.c
 *		Programs that write files: cp and mv, tar, tee, patch.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

/* cp, mv, ln: the last operand is the destination, unless there is -t. */
Doing
act_destination(Invocation *run, Outcome *outcome)
{
	Span		destination = run->value.data ? run->value :
		last_operand(run->command, run->at, &run->program->options);

	return set_fileop(outcome, program_verb(run->program), destination);
}

/* sort -o FILE: the file that the option names is written. */
Doing
act_output(Invocation *run, Outcome *outcome)
{
	return set_outcome(outcome, EFFECT_MODIFY, run->value, true);
}

/* The last part of a URL's path. */
static Span
name_in_address(Span address)
{
	int			start;
	int			end = span_find(address, "://");

	start = end < 0 ? 0 : end + 3;
	end = address.length;
	for (int i = start; i < end; i++)
	{
		if (address.data[i] == '?' || address.data[i] == '#')
			end = i;
		else if (address.data[i] == '/')
			start = i + 1;
	}
	/* With a host alone, the file is unknown. */
	if (end <= start || (start > 0 && address.data[start - 1] == '/' && start > 1 && address.data[start - 2] == '/'))
		return span_none();
	return span_make(address.data + start, end - start);
}

/* curl -O ADDRESS, curl -o FILE, wget: the file that is fetched.  Without a file it is a run. */
Doing
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
Doing
act_tar(Invocation *run, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	Span		target = span_none();
	bool		lists = false;

	for (int j = run->at; j < command->n_words; j++)
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
		return set_outcome(outcome, EFFECT_SEARCH, target, true);
	return set_fileop(outcome, span_of("tar"), target);
}

/* tee: writes its input, from the pipe or a here-document, to each file. */
Doing
act_tee(Invocation *run, Outcome *outcome)
{
	static const char *const append_options[] = {"-a", "--append", NULL};
	Operands	operands = invocation_operands(run);
	bool		append = is_any_of(shell_word(run->command, run->at), append_options);
	Text		text = input_text(run);
	Doing		doing = DOES_NOTHING;
	int			at;

	while ((at = next_operand(&operands)) < run->command->n_words)
	{
		Span		file = shell_word_span(run->command, at);

		/* /dev/null, /dev/stderr …: keeps nothing */
		if (span_starts(file, "/dev/"))
			continue;
		doing = set_write(outcome, file, append, text);
	}
	return doing;
}

/* The patch is in a here-document, the operand or the pipe.  The content of a patch file is unknown. */
static Doing
read_patch(const Invocation *run, Span operand, bool is_file, Outcome *outcome)
{
	Text		text = input_text(run);

	if (text.heredoc == 0 && operand.data != NULL && !is_file)
		text.span = operand;
	set_outcome(outcome, EFFECT_MODIFY, is_file ? operand : span_none(), true);
	if (has_text(text) && (text.heredoc > 0 || operand.data == NULL || !is_file))
		set_text(last_effect(outcome), text, TEXT_PATCH);
	return DOES_ACT;
}

Doing
act_patch(Invocation *run, Outcome *outcome)
{
	return read_patch(run, invocation_operand(run, 0), true, outcome);
}

Doing
act_apply_patch(Invocation *run, Outcome *outcome)
{
	return read_patch(run, shell_word_span(run->command, run->at), false, outcome);
}
