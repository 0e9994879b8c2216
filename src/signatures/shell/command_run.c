/*
 * command_run.c
 *		Programs that run something: interpreters, shells, any other program.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

/* A run of `path`, with what its first operand asks for. */
Effect
run_program(const ShellCommand *command, int i, Outcome *outcome)
{
	static const ValueOptions none = {"", ""};
	Span		name = shell_word_span(command, i);
	const char *base = program_name(shell_word(command, i));
	const char *operand = operand_span(command, i + 1, &none, 0).data;
	const Subcommand *subcommand = operand ? find_subcommand(base, operand) : NULL;

	if (subcommand != NULL && subcommand->category == ACTION_TEST)
	{
		Span		target = operand_span(command, i + 1, &none, 1);

		return set_outcome(outcome, ACTION_TEST, target.data ? target : span_of("all"), target.data != NULL);
	}
	if (subcommand != NULL)
		return set_outcome(outcome, subcommand->category, span_none(), false);
	return set_outcome(outcome, ACTION_EXECUTE, name, memchr(name.data, '/', name.length) != NULL);
}

/* curl: as a program of which nothing is known. */
Effect
act_plain(Invocation *run, Outcome *outcome)
{
	return set_outcome(outcome, ACTION_EXECUTE, span_of(run->program->name), false);
}

/*
 * python -m MODULE at word `at`: some modules are programs of the table, some
 * run the script that follows, and any other is run under its own name.
 * *next is where to read on, if anywhere.
 */
static Effect
run_module(Invocation *run, int at, int *next, Outcome *outcome)
{
	static const char *const script_runners[] = {"cProfile", "pdb", "trace", NULL};
	const char *module = shell_word(run->command, at);
	const Program *program = find_any_version(program_name(module));

	if (program != NULL &&
		(program->kind == PROGRAM_TEST || program->kind == PROGRAM_PACKAGE || program->kind == PROGRAM_COVERAGE))
	{
		run->follows = at;
		return EFFECT_NONE;
	}
	if (is_any_of(module, script_runners))
	{
		*next = at + 1;
		return EFFECT_NONE;
	}
	return set_outcome(outcome, ACTION_EXECUTE, shell_word_span(run->command, at), false);
}

Effect
act_python(Invocation *run, Outcome *outcome)
{
	static const char *const questions[] = {"--help", "--version", "-V", "-VV", NULL};
	static const char *const value_options[] = {"-W", "-X", NULL};
	const ShellCommand *command = run->command;
	int			i = run->at;

	while (i < command->n_words)
	{
		const char *word = shell_word(command, i);
		const Program *program;

		if (word[0] == '-')
		{
			if (strcmp(word, "-m") == 0)
			{
				int			next = 0;
				Effect		effect = run_module(run, i + 1, &next, outcome);

				if (next == 0)
					return effect;
				i = next;
			}
			else if (is_any_of(word, questions))
				return set_outcome(outcome, ACTION_SEARCH, span_none(), false);
			else if (is_any_of(word, value_options))
				i += 2;
			/* A program on the command line or from standard input. */
			else if (word[1] == '\0' || (word[1] != '-' && strchr(word, 'c') != NULL))
				break;
			else
				i++;
			continue;
		}
		program = find_program(program_name(word));
		if (program != NULL && program->kind == PROGRAM_TEST)
		{
			run->follows = i;
			return EFFECT_NONE;
		}
		run_program(command, i, outcome);
		if (outcome->action.category == ACTION_EXECUTE)
			outcome->action.is_path = true;
		return EFFECT_ACT;
	}
	return set_outcome(outcome, ACTION_EXECUTE, span_of("python"), false);
}

/* coverage run is python; its reports are looked at. */
Effect
act_coverage(Invocation *run, Outcome *outcome)
{
	if (strcmp(shell_word(run->command, run->at), "run") != 0)
		return set_outcome(outcome, ACTION_SEARCH, span_none(), false);
	run->at++;
	return act_python(run, outcome);
}

/* perl -i -pe, perl -ne: sed by another name; anything else is run. */
Effect
act_interpreter(Invocation *run, Outcome *outcome)
{
	static const ValueOptions perl = {"eEMI", ",eval,require,"};
	const ShellCommand *command = run->command;
	const char *name = run->program->name;
	bool		in_place = false;
	bool		loops = false;
	Span		code = span_none();
	Span		operand;
	int			j;

	for (j = run->at; j < command->n_words; j++)
	{
		const char *word = shell_word(command, j);
		const char *letter;

		if (word[0] != '-' || word[1] == '-')
			continue;
		for (letter = word + 1; *letter; letter++)
		{
			if (*letter == 'i')
				in_place = true;
			else if (*letter == 'n' || *letter == 'p')
				loops = true;
			else if (*letter == 'e' || *letter == 'E')
			{
				if (code.data == NULL)
					code = shell_word_span(command, j + 1);
				break;
			}
			else if (*letter == 'M' || *letter == 'I')
				break;
		}
	}
	operand = operand_span(command, run->at, &perl, 0);
	if ((strcmp(name, "perl") == 0 || strcmp(name, "ruby") == 0) && code.data != NULL && (loops || in_place))
	{
		if (in_place)
		{
			set_outcome(outcome, ACTION_MODIFY, operand, true);
			action_set_content(&outcome->action, span_none(), code);
			return EFFECT_ACT;
		}
		return set_outcome(outcome, ACTION_VIEW, operand.data ? operand : command->input, true);
	}
	if (code.data != NULL)
		return set_outcome(outcome, ACTION_EXECUTE, span_of(name), false);
	operand = invocation_operand(run, 0);
	if (operand.data != NULL && operand.length > 0 && memchr(operand.data, '.', operand.length) != NULL &&
		memchr(operand.data, ' ', operand.length) == NULL)
		return set_outcome(outcome, ACTION_EXECUTE, operand, true);
	return set_outcome(outcome, ACTION_EXECUTE, span_of(name), false);
}

/* A script inside the command. */
static Effect
act_script(Reader *reader, Outcome *outcome, Span script, Span name)
{
	if (reader->depth >= MAX_DEPTH)
		return set_outcome(outcome, ACTION_EXECUTE, name, false);
	outcome->effect = classify_at(script, &outcome->action, reader->depth + 1) ? EFFECT_ACT : EFFECT_NONE;
	return outcome->effect;
}

/* bash -c SCRIPT, bash FILE, eval WORDS, su -c SCRIPT */
Effect
act_shell(Invocation *run, Outcome *outcome)
{
	Reader	   *reader = run->reader;
	const ShellCommand *command = run->command;
	const char *name = run->program->name;
	bool		is_script = false;
	int			at;
	Operands	operands;

	if (strcmp(name, "eval") == 0)
		return act_script(reader, outcome, words_joined(command, run->at), span_of("eval"));
	for (at = run->at; at < command->n_words; at++)
	{
		const char *word = shell_word(command, at);

		if (word[0] != '-')
		{
			/* su USER -c … */
			if (strcmp(name, "su") != 0)
				break;
			continue;
		}
		if (word[1] != '-' && strchr(word, 'c') != NULL)
		{
			is_script = true;
			break;
		}
	}
	if (is_script)
	{
		/* bash -c -e 'SCRIPT' is allowed, too */
		do
			at++;
		while (at < command->n_words && shell_word(command, at)[0] == '-' && shell_word(command, at)[1] != '\0');
		if (at < command->n_words)
			return act_script(reader, outcome, shell_word_span(command, at), span_of(name));
	}
	operands = invocation_operands(run);
	at = next_operand(&operands);
	if (at < command->n_words && strcmp(name, "su") != 0)
		return run_program(command, at, outcome);
	set_outcome(outcome, ACTION_EXECUTE, span_of(name), false);
	if (command->heredoc > 0)
		await_body(outcome, command, BODY_SCRIPT);
	else if (reader->piped.data != NULL && reader->depth < MAX_DEPTH)
		return act_script(reader, outcome, reader->piped, span_of(name));
	return EFFECT_ACT;
}
