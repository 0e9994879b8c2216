/*
 * command_git.c
 *		git, by its subcommand.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"

/* Which operands of a subcommand are files, if there is no --. */
typedef enum GitTarget
{
	GIT_ALL,
	GIT_AFTER_PATTERN,			/* all but the first */
	GIT_LAST,					/* the destination */
	GIT_NAMES,					/* those that look like files; others are revisions */
	GIT_NAMES_OR_FIRST,			/* the same; if there are none, the first: a branch */
	GIT_SECOND					/* the first is an address */
} GitTarget;

static const struct
{
	const char *subcommand;
	GitTarget	target;
}			targets[] = {
	{"add", GIT_ALL},
	{"blame", GIT_NAMES_OR_FIRST},
	{"checkout", GIT_NAMES_OR_FIRST},
	{"clean", GIT_ALL},
	{"clone", GIT_SECOND},
	{"diff", GIT_NAMES},
	{"grep", GIT_AFTER_PATTERN},
	{"log", GIT_NAMES},
	{"mv", GIT_LAST},
	{"restore", GIT_ALL},
	{"rm", GIT_ALL},
	{"show", GIT_NAMES},
};

/* Does it have an extension, unlike a branch, HEAD~1, a..b or v1.2? */
static bool
is_file_name(Span name)
{
	int			i = name.length;

	while (i > 0 && name.data[i - 1] != '.' && name.data[i - 1] != '/' && name.data[i - 1] != ':')
		i--;
	return i > 1 && i < name.length && name.data[i - 1] == '.' && name.data[i - 2] != '.' &&
		ascii_lower(name.data[i]) >= 'a' && ascii_lower(name.data[i]) <= 'z';
}

/* Add an effect on every operand from word `at` on; with only_names, on those that look like files. */
static void
add_files(Outcome *outcome, Effect model, Operands *operands, int at, bool only_names)
{
	for (; at < operands->command->n_words; at = next_operand(operands))
	{
		Span		file = shell_word_span(operands->command, at);
		int			colon;

		if (only_names && !is_file_name(file))
			continue;
		/* HEAD~1:src/a.py */
		colon = only_names ? span_find(file, ":") : -1;
		model.target = span_from(file, colon + 1);
		effects_repeat(outcome->effects, model);
	}
}

/* Add effects on the files of the subcommand at word `at`, if there is no --. */
static void
add_targets(Outcome *outcome, Effect model, const ShellCommand *command, int at)
{
	static const ValueOptions options = {"mCcubn", ",branch,depth,message,git-dir,work-tree,"};
	const char *subcommand = shell_word(command, at);
	Operands	operands = operands_of(command, at + 1, &options);
	int			n = outcome->effects->n;
	int			i;

	for (i = 0; i < (int) lengthof(targets); i++)
		if (strcmp(subcommand, targets[i].subcommand) == 0)
			break;
	if (i < (int) lengthof(targets))
	{
		switch (targets[i].target)
		{
			case GIT_LAST:
				model.target = last_operand(command, at + 1, &options);
				break;
			case GIT_ALL:
				add_files(outcome, model, &operands, next_operand(&operands), false);
				break;
			case GIT_AFTER_PATTERN:
				add_files(outcome, model, &operands, operand_after(&operands, 1), false);
				break;
			case GIT_NAMES:
				add_files(outcome, model, &operands, next_operand(&operands), true);
				break;
			case GIT_NAMES_OR_FIRST:
				add_files(outcome, model, &operands, next_operand(&operands), true);
				model.target = operand_span(command, at + 1, &options, 0);
				break;
			case GIT_SECOND:
				model.target = operand_span(command, at + 1, &options, 1);
				break;
		}
	}
	if (outcome->effects->n == n)
		effects_repeat(outcome->effects, model);
}

Doing
act_git(Invocation *run, Outcome *outcome)
{
	static const ValueOptions options = {"Cc", ",git-dir,work-tree,namespace,"};
	const ShellCommand *command = run->command;
	Operands	operands = operands_of(command, run->at, &options);
	int			at = next_operand(&operands);
	const char *name = shell_word(command, at);
	const Subcommand *subcommand = find_subcommand("git", name);
	const Subcommand *inner;
	Effect		model;
	int			j;

	if (at >= command->n_words)
		return set_outcome(outcome, EFFECT_SEARCH, span_none(), false);
	inner = find_inner_subcommand("git", name, shell_word(command, at + 1));
	if (inner != NULL)
		subcommand = inner;
	effect_init(&model, subcommand ? subcommand->category : EFFECT_EXECUTE);
	model.verb = subcommand ? subcommand_verb(subcommand, span_of(name)) : span_of(name);
	if (subcommand == NULL)
		effect_set_target(&model, span_of("git"), false);
	model.is_path = subcommand != NULL;
	if (model.category == EFFECT_MODIFY && has_text(input_text(run)))
		set_text(&model, input_text(run), TEXT_PATCH);
	for (j = at + 1; j < command->n_words; j++)
		if (strcmp(shell_word(command, j), "--") == 0)
			break;
	if (j + 1 < command->n_words)
	{
		operands = operands_of(command, j, &options);
		add_files(outcome, model, &operands, next_operand(&operands), false);
	}
	else if (model.category == EFFECT_MODIFY || subcommand == NULL)
		effects_repeat(outcome->effects, model);
	else
		add_targets(outcome, model, command, at);
	return DOES_ACT;
}
