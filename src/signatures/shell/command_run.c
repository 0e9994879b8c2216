/*
 * command_run.c
 *		Programs that run something: interpreters, shells, any other program.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

/* Run the program at word `i`, whose first operand may be a subcommand. */
Doing
run_program(const ShellCommand *command, int i, Outcome *outcome)
{
	static const ValueOptions none = {"", ""};
	static const char *const with_subcommands[] = {"manage.py", "setup.py", NULL};
	Span		name = shell_word_span(command, i);
	const char *base = program_name(shell_word(command, i));
	Operands	operands = operands_of(command, i + 1, &none);
	Span		operand = shell_word_span(command, next_operand(&operands));
	const Subcommand *subcommand = operand.data ? find_subcommand(base, operand.data) : NULL;

	if (subcommand != NULL && subcommand->category == EFFECT_TEST)
	{
		set_tests(outcome, shell_word_span(command, next_operand(&operands)));
		repeat_for_rest(outcome, &operands);
		return DOES_ACT;
	}
	if (subcommand != NULL)
		return set_outcome(outcome, subcommand->category, span_none(), false);
	set_outcome(outcome, EFFECT_EXECUTE, name, memchr(name.data, '/', name.length) != NULL);
	if (is_any_of(base, with_subcommands))
		last_effect(outcome)->verb = operand;
	return DOES_ACT;
}

/* curl: a run, identified by the program's name. */
Doing
act_plain(Invocation *run, Outcome *outcome)
{
	return set_outcome(outcome, EFFECT_EXECUTE, span_of(run->program->name), false);
}

/*
 * python -m MODULE at word `at`: some modules are programs of the table, some run the script that follows,
 * and any other is run under its own name.  *next is the word to continue at, if there is one.
 */
static Doing
run_module(Invocation *run, int at, int *next, Outcome *outcome)
{
	static const char *const script_runners[] = {"cProfile", "pdb", "trace", NULL};
	const char *module = shell_word(run->command, at);
	const Program *program = find_any_version(program_name(module));

	if (program != NULL &&
		(program->kind == PROGRAM_TEST || program->kind == PROGRAM_PACKAGE || program->kind == PROGRAM_COVERAGE ||
		 program->kind == PROGRAM_EDITOR || strcmp(program->name, "json.tool") == 0))
	{
		run->follows = at;
		return DOES_NOTHING;
	}
	if (is_any_of(module, script_runners))
	{
		*next = at + 1;
		return DOES_NOTHING;
	}
	return set_outcome(outcome, EFFECT_EXECUTE, shell_word_span(run->command, at), false);
}

Doing
act_python(Invocation *run, Outcome *outcome)
{
	static const char *const questions[] = {"--help", "--version", "-V", "-VV", NULL};
	static const char *const value_options[] = {"-W", "-X", NULL};
	const ShellCommand *command = run->command;
	Text		code = input_text(run);
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
				Doing		effect = run_module(run, i + 1, &next, outcome);

				if (next == 0)
					return effect;
				i = next;
			}
			else if (is_any_of(word, questions))
				return set_outcome(outcome, EFFECT_SEARCH, span_none(), false);
			else if (is_any_of(word, value_options))
				i += 2;
			/* A program on the command line or from standard input. */
			else if (word[1] != '-' && strchr(word, 'c') != NULL)
			{
				code = (Text) {shell_word_span(command, i + 1), 0};
				break;
			}
			else if (word[1] == '\0')
				break;
			else
				i++;
			continue;
		}
		program = find_program(program_name(word));
		if (program != NULL && program->kind == PROGRAM_TEST)
		{
			run->follows = i;
			return DOES_NOTHING;
		}
		run_program(command, i, outcome);
		if (last_effect(outcome)->category == EFFECT_EXECUTE)
			last_effect(outcome)->is_path = true;
		return DOES_ACT;
	}
	return set_hashed(outcome, span_of("python"), code);
}

/* coverage run is read as python; the other subcommands show reports. */
Doing
act_coverage(Invocation *run, Outcome *outcome)
{
	if (strcmp(shell_word(run->command, run->at), "run") != 0)
		return set_outcome(outcome, EFFECT_SEARCH, span_none(), false);
	run->at++;
	return act_python(run, outcome);
}

/* perl -i -pe, perl -ne: read like sed; anything else is run. */
Doing
act_interpreter(Invocation *run, Outcome *outcome)
{
	static const ValueOptions perl = {"eEMI", ",eval,require,"};
	const ShellCommand *command = run->command;
	const char *name = run->program->name;
	bool		in_place = false;
	bool		loops = false;
	bool		prints = false;
	Span		code = span_none();
	Operands	operands;
	Span		operand;

	for (int j = run->at; j < command->n_words; j++)
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
			{
				loops = true;
				prints |= *letter == 'p';
			}
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
	operands = operands_of(command, run->at, &perl);
	operand = shell_word_span(command, next_operand(&operands));
	if ((strcmp(name, "perl") == 0 || strcmp(name, "ruby") == 0) && code.data != NULL && (loops || in_place))
	{
		set_outcome(outcome, in_place ? EFFECT_MODIFY : EFFECT_VIEW, operand.data || in_place ? operand : command->input, true);
		if (in_place)
			effect_set_content(last_effect(outcome), span_none(), code);
		else if (!prints)
			perl_range(code, &outcome->lines);
		repeat_for_rest(outcome, &operands);
		return DOES_ACT;
	}
	if (code.data != NULL)
		return set_hashed(outcome, span_of(name), (Text) {code, 0});
	operand = invocation_operand(run, 0);
	if (operand.data != NULL && operand.length > 0 && memchr(operand.data, '.', operand.length) != NULL &&
		memchr(operand.data, ' ', operand.length) == NULL)
		return set_outcome(outcome, EFFECT_EXECUTE, operand, true);
	return set_hashed(outcome, span_of(name), operand.data ? (Text) {span_none(), 0} : input_text(run));
}

/* psql -c SQL, mysql -e SQL: the value of the option. */
static Span
sql_option(const Invocation *run)
{
	static const char *const options[] = {"-c", "--command", "-e", "--execute", NULL};

	for (int i = run->at; i + 1 < run->command->n_words; i++)
		if (is_any_of(shell_word(run->command, i), options))
			return shell_word_span(run->command, i + 1);
	return span_none();
}

/* sqlite3 FILE SQL, psql -c SQL: a query is a search, anything else changes the file or is run. */
Doing
act_sql(Invocation *run, Outcome *outcome)
{
	bool		has_file = strcmp(run->program->name, "sqlite3") == 0;
	Span		file = has_file ? invocation_operand(run, 0) : span_none();
	Span		sql = has_file ? invocation_operand(run, 1) : sql_option(run);
	Text		text = sql.data ? (Text) {sql, 0} : input_text(run);

	if (has_file && file.data != NULL && (has_text(text) || run->command->input.data != NULL || run->reader->in_pipe))
		set_outcome(outcome, EFFECT_MODIFY, file, true);
	else
		set_outcome(outcome, EFFECT_EXECUTE, span_of(run->program->name), false);
	if (has_text(text))
		set_text(last_effect(outcome), text, TEXT_SQL);
	return DOES_ACT;
}

/* bash -c SCRIPT, bash FILE, eval WORDS, su -c SCRIPT */
Doing
act_shell(Invocation *run, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	const char *name = run->program->name;
	bool		is_script = false;
	int			at;
	Operands	operands;

	if (strcmp(name, "eval") == 0)
	{
		outcome->script = words_joined(command, run->at);
		return DOES_NOTHING;
	}
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
		{
			outcome->script = shell_word_span(command, at);
			return DOES_NOTHING;
		}
	}
	operands = invocation_operands(run);
	at = next_operand(&operands);
	if (at < command->n_words && strcmp(name, "su") != 0)
		return run_program(command, at, outcome);
	set_outcome(outcome, EFFECT_EXECUTE, span_of(name), false);
	if (has_text(input_text(run)))
		set_text(last_effect(outcome), input_text(run), TEXT_SCRIPT);
	return DOES_ACT;
}
