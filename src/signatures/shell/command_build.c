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

/* Where an option is the subcommand (pacman -S, pip --version); NULL if there is none before `end`. */
static const Subcommand *
find_option_subcommand(const Invocation *run, int end)
{
	const Subcommand *subcommand = NULL;
	int			i;

	for (i = run->at; i < end && subcommand == NULL; i++)
		subcommand = find_subcommand(run->program->name, shell_word(run->command, i));
	return subcommand;
}

/* Is what the operand at `at` installs a file or directory, and no package's name? */
static bool
is_package_file(const ShellCommand *command, int at)
{
	static const char *const file_options[] = {"--editable", "--file", "--requirement", "-e", "-f", "-r", NULL};
	static const char *const suffixes[] = {".deb", ".gem", ".gz", ".rpm", ".tar", ".tgz", ".toml", ".txt",
	".whl", ".yaml", ".yml", ".zip", NULL};
	const char *word = shell_word(command, at);
	size_t		length = strlen(word);
	int			i;

	if (strstr(word, "://") != NULL)
		return false;
	if (*word == '.' || *word == '/' || *word == '~' || *word == '$')
		return true;
	if (at > 0 && is_any_of(shell_word(command, at - 1), file_options))
		return true;
	for (i = 0; suffixes[i] != NULL; i++)
	{
		size_t		n = strlen(suffixes[i]);

		if (length > n && strcmp(word + length - n, suffixes[i]) == 0)
			return true;
	}
	return false;
}

/* What a subcommand does to the operand at word `at`, or to nothing that is named. */
static Effect
set_subcommand(const Invocation *run, const Subcommand *subcommand, Span verb, int at, Outcome *outcome)
{
	Span		target = shell_word_span(run->command, at);

	switch (subcommand->category)
	{
		case ACTION_THINK:
			return EFFECT_NONE;
		case ACTION_EXECUTE:
			return set_outcome(outcome, ACTION_EXECUTE, span_of(run->program->name), false);
		case ACTION_TEST:
			return set_tests(outcome, target);
		case ACTION_INSTALL:
			set_outcome(outcome, ACTION_INSTALL, target, target.data != NULL && is_package_file(run->command, at));
			break;
		case ACTION_CREATE:
			return set_outcome(outcome, ACTION_CREATE, target, true);
		default:
			set_outcome(outcome, subcommand->category, span_none(), false);
			break;
	}
	outcome->action.verb = subcommand_verb(subcommand, verb);
	return EFFECT_ACT;
}

/* pip --version, pacman -Syu: no operand at all. */
static Effect
set_without_operand(const Invocation *run, Outcome *outcome)
{
	const char *name = run->program->name;
	const Subcommand *subcommand = find_option_subcommand(run, run->command->n_words);

	if (subcommand != NULL)
		return set_subcommand(run, subcommand, span_none(), run->command->n_words, outcome);
	if (strcmp(name, "yarn") == 0)
		return set_outcome(outcome, ACTION_INSTALL, span_none(), false);
	return set_outcome(outcome, ACTION_EXECUTE, span_of(name), false);
}

/* pip install x, npm test, cargo build … */
Effect
act_package(Invocation *run, Outcome *outcome)
{
	static const char *const run_verbs[] = {"exec", "run", "run-script", NULL};
	/* Not the program's own options: -e . and -r FILE name what is installed. */
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
		return EFFECT_NONE;
	}
	operands = operands_of(command, at + 1, options);
	after = next_operand(&operands);
	inner = find_inner_subcommand(name, verb, shell_word(command, after));
	if (inner != NULL)
		return set_subcommand(run, inner, shell_word_span(command, after), next_operand(&operands), outcome);
	if (subcommand == NULL && run->program->options.letters[0] == '\0')
	{
		/* dpkg -i x.deb: the operand is no subcommand but its target */
		subcommand = find_option_subcommand(run, at);
		after = at;
	}
	if (subcommand == NULL)
	{
		Span		what = strcmp(name, "npx") == 0 ? shell_word_span(command, at) : span_of(name);

		return set_outcome(outcome, ACTION_EXECUTE, what, false);
	}
	return set_subcommand(run, subcommand, shell_word_span(command, at), after, outcome);
}
