/*
 * command_git.c
 *		git, by its subcommand.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

/* Which operand of a subcommand is a file, where no -- says so. */
typedef enum GitTarget
{
	GIT_FIRST,
	GIT_SECOND,					/* after a pattern */
	GIT_LAST,					/* the destination */
	GIT_AFTER_REVISION			/* one of the first two, if it looks like a file */
} GitTarget;

static const struct
{
	const char *subcommand;
	GitTarget	target;
}			targets[] = {
	{"add", GIT_FIRST},
	{"blame", GIT_FIRST},
	{"checkout", GIT_FIRST},
	{"clean", GIT_FIRST},
	{"diff", GIT_AFTER_REVISION},
	{"grep", GIT_SECOND},
	{"log", GIT_AFTER_REVISION},
	{"mv", GIT_LAST},
	{"restore", GIT_FIRST},
	{"rm", GIT_FIRST},
	{"show", GIT_AFTER_REVISION},
};

/* Has it an extension, unlike a branch, HEAD~1, a..b or v1.2? */
static bool
is_file_name(Span name)
{
	int			i = name.length;

	while (i > 0 && name.data[i - 1] != '.' && name.data[i - 1] != '/' && name.data[i - 1] != ':')
		i--;
	return i > 1 && i < name.length && name.data[i - 1] == '.' && name.data[i - 2] != '.' &&
		ascii_lower(name.data[i]) >= 'a' && ascii_lower(name.data[i]) <= 'z';
}

/* The file that the subcommand at word `at` works on. */
static Span
git_target(const ShellCommand *command, int at, const char *subcommand)
{
	static const ValueOptions options = {"mCcubn", ",message,git-dir,work-tree,"};
	Span		target;
	int			i;

	for (i = 0; i < (int) lengthof(targets); i++)
		if (strcmp(subcommand, targets[i].subcommand) == 0)
			break;
	if (i == (int) lengthof(targets))
		return span_none();
	if (targets[i].target == GIT_LAST)
		return last_operand(command, at + 1, &options);
	target = operand_span(command, at + 1, &options, targets[i].target == GIT_SECOND ? 1 : 0);
	if (targets[i].target != GIT_AFTER_REVISION)
		return target;
	if (target.data != NULL && !is_file_name(target))
		target = operand_span(command, at + 1, &options, 1);
	if (target.data != NULL && !is_file_name(target))
		target = span_none();
	return target;
}

Effect
act_git(Invocation *run, Outcome *outcome)
{
	static const ValueOptions options = {"Cc", ",git-dir,work-tree,namespace,"};
	const ShellCommand *command = run->command;
	Operands	operands = operands_of(command, run->at, &options);
	int			at = next_operand(&operands);
	const char *name = shell_word(command, at);
	const Subcommand *subcommand = find_subcommand("git", name);
	const Subcommand *inner;
	Span		target = span_none();
	int			j;

	if (at >= command->n_words)
		return set_outcome(outcome, ACTION_SEARCH, span_none(), false);
	if (subcommand == NULL)
		return set_outcome(outcome, ACTION_EXECUTE, span_of("git"), false);
	inner = find_inner_subcommand("git", name, shell_word(command, at + 1));
	if (inner != NULL)
		subcommand = inner;
	if (subcommand->category == ACTION_MODIFY)
	{
		set_outcome(outcome, ACTION_MODIFY, span_none(), false);
		if (command->heredoc > 0)
			await_body(outcome, command, BODY_PATCH);
		return EFFECT_ACT;
	}
	for (j = at + 1; j < command->n_words; j++)
		if (strcmp(shell_word(command, j), "--") == 0)
		{
			target = shell_word_span(command, j + 1);
			break;
		}
	if (target.data == NULL)
		target = git_target(command, at, name);
	set_outcome(outcome, subcommand->category, target, true);
	outcome->action.verb = subcommand_verb(subcommand, shell_word_span(command, at));
	return EFFECT_ACT;
}
