/*
 * command_build.c
 *		Test runners, build tools and package managers.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

/* pytest, unittest, jest …; tox has files only after --. */
Doing
act_test(Invocation *run, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	Operands	operands = invocation_operands(run);
	Span		target;
	int			at = run->at;

	if (run->program->operands == NO_FILES)
	{
		while (at < command->n_words && strcmp(shell_word(command, at), "--") != 0)
			at++;
		operands.at = at;
	}
	at = next_operand(&operands);
	target = shell_word_span(command, at);
	if (span_is(target, "discover") || span_is(target, "test") || span_is(target, "run"))
	{
		/* unittest discover [-s DIRECTORY] */
		target = shell_word_span(command, next_operand(&operands));
		if (target.data == NULL)
		{
			for (at = run->at; at + 1 < command->n_words; at++)
				if (strcmp(shell_word(command, at), "-s") == 0)
					target = shell_word_span(command, at + 1);
		}
	}
	target = tested_file(target);
	set_tests(outcome, target);
	while ((at = next_operand(&operands)) < command->n_words)
	{
		Span		before = target;

		/* Two tests of one file are tests of that file. */
		target = tested_file(shell_word_span(command, at));
		if (!span_equal(before, target))
			set_tests(outcome, target);
	}
	return DOES_ACT;
}

/* The effect of a goal of make. */
static void
make_goal(const char *name, Span goal, Outcome *outcome)
{
	static const char *const all_tests[] = {"check", "test", "tests", NULL};

	if (span_starts(goal, "test") || span_starts(goal, "check"))
		set_outcome(outcome, EFFECT_TEST, is_any_of(goal.data, all_tests) ? span_of("all") : goal, false);
	else if (span_find(goal, "install") >= 0)
		set_outcome(outcome, EFFECT_INSTALL, span_none(), false);
	else
	{
		set_outcome(outcome, EFFECT_EXECUTE, span_of(name), false);
		last_effect(outcome)->verb = goal;
	}
}

/* make: one effect for each goal. */
Doing
act_make(Invocation *run, Outcome *outcome)
{
	Operands	operands = invocation_operands(run);
	bool		has_goal = false;
	int			at;

	while ((at = next_operand(&operands)) < run->command->n_words)
	{
		/* CFLAGS=-O2 */
		if (is_assignment(run->command, at))
			continue;
		make_goal(run->program->name, shell_word_span(run->command, at), outcome);
		has_goal = true;
	}
	return has_goal ? DOES_ACT : set_outcome(outcome, EFFECT_EXECUTE, span_of(run->program->name), false);
}

/* npm run x, poetry run x, cargo run: a script of the project, its program or a command. */
static Doing
run_script(Invocation *run, int at, Outcome *outcome)
{
	static const char *const script_runners[] = {"bun", "npm", "pnpm", "yarn", NULL};
	static const char *const builders[] = {"cargo", "dotnet", "go", NULL};
	static const ValueOptions options = {"npw", ",name,with,python,extra,group,"};
	const ShellCommand *command = run->command;
	const char *name = run->program->name;
	const char *verb = shell_word(command, at);
	Operands	rest = operands_of(command, at + 1, &options);
	bool		is_script = is_any_of(name, script_runners);

	at = next_operand(&rest);
	if (at < command->n_words && (!is_script || strcmp(verb, "exec") == 0) && !is_any_of(name, builders))
	{
		run->follows = at;
		return DOES_NOTHING;
	}
	if (is_script && strncmp(shell_word(command, at), "test", 4) == 0)
		return set_outcome(outcome, EFFECT_TEST, span_of("all"), false);
	return set_outcome(outcome, EFFECT_EXECUTE,
					   at < command->n_words ? shell_word_span(command, at) : span_of(name), false);
}

/* The subcommand that is an option before word `end` (pacman -S, pip --version); NULL if there is none. */
static const Subcommand *
find_option_subcommand(const Invocation *run, int end)
{
	const Subcommand *subcommand = NULL;

	for (int i = run->at; i < end && subcommand == NULL; i++)
		subcommand = find_subcommand(run->program->name, shell_word(run->command, i));
	return subcommand;
}

/* Does the operand at word `at` name a file or directory to install, and not a package? */
static bool
is_package_file(const ShellCommand *command, int at)
{
	static const char *const file_options[] = {"--editable", "--file", "--requirement", "-e", "-f", "-r", NULL};
	static const char *const suffixes[] = {".deb", ".gem", ".gz", ".rpm", ".tar", ".tgz", ".toml", ".txt",
	".whl", ".yaml", ".yml", ".zip", NULL};
	const char *word = shell_word(command, at);
	size_t		length = strlen(word);

	if (strstr(word, "://") != NULL)
		return false;
	if (*word == '.' || *word == '/' || *word == '~' || *word == '$')
		return true;
	if (at > 0 && is_any_of(shell_word(command, at - 1), file_options))
		return true;
	for (int i = 0; suffixes[i] != NULL; i++)
	{
		size_t		n = strlen(suffixes[i]);

		if (length > n && strcmp(word + length - n, suffixes[i]) == 0)
			return true;
	}
	return false;
}

/* Add the effects of a subcommand on the operands from word `at` on, if there are any. */
static Doing
set_subcommand(const Invocation *run, const Subcommand *subcommand, Span verb, int at, Operands *rest, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	Span		target = shell_word_span(command, at);

	switch (subcommand->category)
	{
		case EFFECT_THINK:
			return DOES_NOTHING;
		case EFFECT_EXECUTE:
			set_outcome(outcome, EFFECT_EXECUTE, span_of(run->program->name), false);
			break;
		case EFFECT_TEST:
			do
				set_tests(outcome, shell_word_span(command, at));
			while ((at = next_operand(rest)) < command->n_words);
			return DOES_ACT;
		case EFFECT_INSTALL:
			do
			{
				set_outcome(outcome, EFFECT_INSTALL, shell_word_span(command, at), at < command->n_words && is_package_file(command, at));
				last_effect(outcome)->verb = subcommand_verb(subcommand, verb);
			} while ((at = next_operand(rest)) < command->n_words);
			return DOES_ACT;
		case EFFECT_CREATE:
			return set_outcome(outcome, EFFECT_CREATE, target, true);
		default:
			set_outcome(outcome, subcommand->category, span_none(), false);
			break;
	}
	last_effect(outcome)->verb = subcommand_verb(subcommand, verb);
	return DOES_ACT;
}

/* pip --version, pacman -Syu: no operands. */
static Doing
set_without_operand(const Invocation *run, Outcome *outcome)
{
	const char *name = run->program->name;
	const Subcommand *subcommand = find_option_subcommand(run, run->command->n_words);
	Operands	none = operands_of(run->command, run->command->n_words, &run->program->options);

	if (subcommand != NULL)
		return set_subcommand(run, subcommand, span_none(), run->command->n_words, &none, outcome);
	if (strcmp(name, "yarn") == 0)
		return set_outcome(outcome, EFFECT_INSTALL, span_none(), false);
	return set_outcome(outcome, EFFECT_EXECUTE, span_of(name), false);
}

/* pip install x, npm test, cargo build … */
Doing
act_package(Invocation *run, Outcome *outcome)
{
	static const char *const run_verbs[] = {"exec", "run", "run-script", NULL};
	/* Without e and r: the values of -e and -r name what is installed. */
	static const ValueOptions usual = {"iptmc", ",index-url,extra-index-url,prefix,target,platform,"};
	const ValueOptions *options = run->program->options.letters[0] ? &run->program->options : &usual;
	const ShellCommand *command = run->command;
	const char *name = run->program->name;
	Operands	operands = invocation_operands(run);
	int			at = next_operand(&operands);
	const char *verb = shell_word(command, at);
	const Subcommand *subcommand = find_subcommand(name, verb);
	const Subcommand *inner;
	int			after;

	if (at >= command->n_words)
		return set_without_operand(run, outcome);
	if (subcommand == NULL && is_any_of(verb, run_verbs))
		return run_script(run, at, outcome);
	if (strcmp(name, "uv") == 0 && strcmp(verb, "pip") == 0)
	{
		run->follows = at;
		return DOES_NOTHING;
	}
	operands = operands_of(command, at + 1, options);
	after = next_operand(&operands);
	inner = find_inner_subcommand(name, verb, shell_word(command, after));
	if (inner != NULL)
	{
		Span		what = span_of(shell_word(command, after));

		after = next_operand(&operands);
		return set_subcommand(run, inner, what, after, &operands, outcome);
	}
	if (subcommand == NULL && run->program->options.letters[0] == '\0')
	{
		/* dpkg -i x.deb: the operand is the target, not a subcommand */
		subcommand = find_option_subcommand(run, at);
		after = at;
		operands = operands_of(command, at + 1, options);
	}
	if (subcommand == NULL)
	{
		Span		what = shell_word_span(command, at);
		bool		is_npx = strcmp(name, "npx") == 0;

		set_outcome(outcome, EFFECT_EXECUTE, is_npx ? what : span_of(name), false);
		if (!is_npx)
			last_effect(outcome)->verb = what;
		return DOES_ACT;
	}
	return set_subcommand(run, subcommand, span_of(verb), after, &operands, outcome);
}
