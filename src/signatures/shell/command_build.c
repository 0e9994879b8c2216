/*
 * command_build.c
 *		Test runners, build tools and package managers.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

/* Tests of a file or directory; of everything, if it names none. */
static Effect
set_tests(Outcome *outcome, Span target)
{
	if (target.data == NULL || span_is(target, ".") || span_is(target, "./..."))
		return set_outcome(outcome, ACTION_TEST, span_of("all"), false);
	return set_outcome(outcome, ACTION_TEST, target, true);
}

/* pytest, unittest, jest … */
Effect
act_test(Invocation *run, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	Operands	operands = invocation_operands(run);
	int			at = run->program->operands == NO_FILES ? command->n_words : next_operand(&operands);
	Span		target = shell_word_span(command, at);
	int			colons;

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
	/* pytest's file::class::test: the file */
	colons = target.data ? span_find(target, "::") : -1;
	if (colons >= 0)
		target.length = colons;
	return set_tests(outcome, target.length > 0 ? target : span_none());
}

/* make: its first goal that tests or installs. */
Effect
act_make(Invocation *run, Outcome *outcome)
{
	static const char *const all_tests[] = {"check", "test", "tests", NULL};
	const ShellCommand *command = run->command;
	Operands	operands = invocation_operands(run);
	int			at;

	while ((at = next_operand(&operands)) < command->n_words)
	{
		const char *goal = shell_word(command, at);

		if (strncmp(goal, "test", 4) == 0 || strncmp(goal, "check", 5) == 0)
		{
			Span		tests = is_any_of(goal, all_tests) ? span_of("all") : shell_word_span(command, at);

			return set_outcome(outcome, ACTION_TEST, tests, false);
		}
		if (strstr(goal, "install") != NULL)
			return set_outcome(outcome, ACTION_INSTALL, span_none(), false);
	}
	return set_outcome(outcome, ACTION_EXECUTE, span_of(run->program->name), false);
}

/* npm run x, poetry run x, cargo run: a script of the project, its program or a command. */
static Effect
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
		return EFFECT_NONE;
	}
	if (is_script && strncmp(shell_word(command, at), "test", 4) == 0)
		return set_outcome(outcome, ACTION_TEST, span_of("all"), false);
	return set_outcome(outcome, ACTION_EXECUTE,
					   at < command->n_words ? shell_word_span(command, at) : span_of(name), false);
}

/* Where an option is the subcommand (pacman -S, pip --version): its category; -1 if there is none before `end`. */
static int
find_option_subcommand(const Invocation *run, int end)
{
	int			category = -1;
	int			i;

	for (i = run->at; i < end && category < 0; i++)
		category = find_subcommand(run->program->name, shell_word(run->command, i));
	return category;
}

/* pip install x, npm test, cargo build … */
Effect
act_package(Invocation *run, Outcome *outcome)
{
	static const char *const run_verbs[] = {"exec", "run", "run-script", NULL};
	/* Not the program's own options: -e . and -r FILE name what is installed. */
	static const ValueOptions options = {"iptmc", ",index-url,extra-index-url,prefix,target,platform,"};
	const ShellCommand *command = run->command;
	const char *name = run->program->name;
	Operands	operands = invocation_operands(run);
	int			at = next_operand(&operands);
	const char *verb = shell_word(command, at);
	int			category;
	Span		target;

	if (at >= command->n_words)
	{
		category = find_option_subcommand(run, at);
		if (category >= 0)
			return set_outcome(outcome, category, span_none(), false);
		if (strcmp(name, "yarn") == 0)
			return set_outcome(outcome, ACTION_INSTALL, span_none(), false);
		return set_outcome(outcome, ACTION_EXECUTE, span_of(name), false);
	}
	if (is_any_of(verb, run_verbs))
		return run_script(run, at, outcome);
	if (strcmp(name, "uv") == 0 && strcmp(verb, "pip") == 0)
	{
		run->follows = at;
		return EFFECT_NONE;
	}
	category = find_subcommand(name, verb);
	if (category < 0 && run->program->options.letters[0] == '\0')
	{
		/* dpkg -i x.deb: the operand is no subcommand but its target */
		category = find_option_subcommand(run, at);
		if (category >= 0)
			at = run->at - 1;
	}
	if (category < 0)
	{
		Span		what = strcmp(name, "npx") == 0 ? shell_word_span(command, at) : span_of(name);

		return set_outcome(outcome, ACTION_EXECUTE, what, false);
	}
	if (category == ACTION_THINK)
		return EFFECT_NONE;
	target = operand_span(command, at + 1, &options, 0);
	if (category == ACTION_TEST)
		return set_tests(outcome, target);
	if (category == ACTION_INSTALL || category == ACTION_CREATE)
		return set_outcome(outcome, category, target, true);
	return set_outcome(outcome, category, span_none(), false);
}
