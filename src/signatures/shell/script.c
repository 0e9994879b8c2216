/*
 * script.c
 *		What a shell script does: classify_script.
 *
 * A script is classified by its first effective command.  What only prepares
 * (cd, assignments, set, export, a heading printed by echo) is passed over,
 * wrappers (sudo, timeout, env, bash -c …) are taken off, and a pipeline is
 * read as one command: `nl f | sed -n 10,20p` is a view of lines 10 to 20 of f,
 * `cat f | grep x` a search in it, `find … | xargs rm` a file operation.
 * Output redirected to a file makes of a command that only prints a change of
 * that file; a program or test that runs stays what it is.
 *
 * Scripts inside scripts (bash -c, command substitution, find -exec) are
 * followed to a fixed depth, so neither time nor stack depends on nesting.
 */
#include "postgres.h"

#include "signatures/patch.h"
#include "signatures/shell/command.h"
#include "signatures/shell/script.h"

/* What a command prints goes into a file. */
static Effect
write_output(const Reader *reader, const ShellCommand *command, Effect effect, bool from_text, Outcome *outcome)
{
	Action	   *action = &outcome->action;
	Span		text = effect == EFFECT_PRINT ? action->new_text : span_none();
	bool		from_pipe = effect == EFFECT_ACT && action->category == ACTION_VIEW && action->target.data == NULL &&
		reader->piped.data != NULL;

	/* A text that was written out becomes the file. */
	if ((from_text || from_pipe || effect == EFFECT_PRINT) && !command->append)
		return set_outcome(outcome, ACTION_CREATE, command->output, true);
	set_outcome(outcome, ACTION_MODIFY, command->output, true);
	action->insert = command->append;
	if (text.data != NULL)
		action_set_content(action, span_none(), text);
	else if (from_text && command->heredoc > 0)
		await_body(outcome, command, BODY_CONTENT);
	else if (from_pipe)
		action_set_content(action, span_none(), reader->piped);
	return EFFECT_ACT;
}

/* A simple command with its redirections. */
static Effect
classify_command(Reader *reader, ShellCommand *command, Outcome *outcome)
{
	Effect		effect;
	bool		from_text;
	Action	   *action = &outcome->action;

	if (command->end == SHELL_PATTERN || command->defines_function)
	{
		memset(outcome, 0, sizeof(*outcome));
		return EFFECT_NONE;
	}
	effect = classify_words(reader, command, 0, outcome);
	/* Lines of a file of its own; else of what comes through the pipe. */
	if (effect == EFFECT_ACT && action->category == ACTION_VIEW && action->target.data != NULL)
		apply_range(action, &outcome->lines);

	/* x=$(command), echo `command`, $(command): what happens is inside, unless more follows */
	if (effect != EFFECT_ACT && command->substitution.data != NULL && command->output.data == NULL &&
		reader->depth < MAX_DEPTH)
	{
		Action		inner;

		if (classify_at(command->substitution, &inner, reader->depth + 1))
		{
			outcome->action = inner;
			outcome->inside = true;
			return outcome->effect = EFFECT_NONE;
		}
	}

	/* A filter whose input is a literal text prints that text. */
	from_text = (command->heredoc > 0 || command->here_string) &&
		effect == EFFECT_ACT && action->category == ACTION_VIEW && action->target.data == NULL;
	if (command->output.data == NULL)
	{
		if (from_text)
		{
			/* Should nothing else be done, the filter was run. */
			action_init(action, ACTION_EXECUTE);
			return outcome->effect = EFFECT_PRINT;
		}
		return outcome->effect = effect;
	}
	if (effect == EFFECT_PRINT || (effect == EFFECT_NONE && command->n_words == 0) ||
		(effect == EFFECT_ACT && (action->category == ACTION_VIEW || action->category == ACTION_SEARCH)))
		return write_output(reader, command, effect, from_text, outcome);
	return outcome->effect = effect;
}

/* The next command of a pipeline tells more about the one so far. */
static void
extend_pipeline(Outcome *sofar, const Outcome *next)
{
	if (next->effect != EFFECT_ACT)
		return;
	if (sofar->effect != EFFECT_ACT)
	{
		if (next->action.category != ACTION_VIEW || next->action.target.data != NULL)
			*sofar = *next;
		return;
	}
	if (sofar->action.category != ACTION_VIEW && sofar->action.category != ACTION_SEARCH)
		return;
	if (changes_things(&next->action))
	{
		*sofar = *next;
		return;
	}
	if (sofar->action.category == ACTION_VIEW)
	{
		if (next->action.category == ACTION_SEARCH && next->action.target.data == NULL)
		{
			sofar->action.category = ACTION_SEARCH;
			sofar->action.partial = false;
		}
		else if (next->action.category == ACTION_VIEW && next->action.target.data == NULL)
			apply_range(&sofar->action, &next->lines);
	}
}

static void
keep_action(Action *action)
{
	action->verb = span_keep(action->verb);
	action->target = span_keep(action->target);
	action->old_text = span_keep(action->old_text);
	action->new_text = span_keep(action->new_text);
}

/* Follow a cd: `directory` collects where it leads. */
static void
change_directory(StringInfo directory, const ShellCommand *command)
{
	int			i = 0;
	Span		target;

	while (i < command->n_words && is_prefix_keyword(shell_word(command, i)))
		i++;
	while (i < command->n_words && is_assignment(command, i))
		i++;
	if (strcmp(shell_word(command, i), "cd") != 0 && strcmp(shell_word(command, i), "pushd") != 0)
		return;
	if (directory->data == NULL)
		initStringInfo(directory);
	target = shell_word_span(command, i + 1);
	if (target.data == NULL || target.length == 0 || span_is(target, "-"))
	{
		resetStringInfo(directory);
		return;
	}
	if (target.data[0] == '/' || target.data[0] == '~' || target.data[0] == '$')
		resetStringInfo(directory);
	else if (directory->len > 0)
		appendStringInfoChar(directory, '/');
	appendBinaryStringInfo(directory, target.data, target.length);
}

/* What is known of a script while it is read. */
typedef struct Findings
{
	Outcome		found;			/* the first effective command, or a fallback */
	bool		has_found;
	bool		has_fallback;
	bool		has_inside;		/* the fallback is what a substitution does */
	StringInfoData directory;	/* where the cds before it led */
} Findings;

/* A pipeline, whose first command was read already, as one command. */
static void
read_pipeline(Reader *reader, ShellCommand *command, bool has_found, Outcome *outcome)
{
	bool		is_first = true;

	reader->piped = span_none();
	reader->in_pipe = false;
	for (;;)
	{
		Outcome		next;
		Span		text = span_none();

		classify_command(reader, command, &next);
		if (is_first)
			*outcome = next;
		else
			extend_pipeline(outcome, &next);
		if (next.effect == EFFECT_PRINT && !next.inside && !has_found)
			text = span_keep(next.action.new_text);
		if (command->end != SHELL_PIPE)
			return;
		/* What was found must survive the words of the next command. */
		if (!has_found)
			keep_action(&outcome->action);
		reader->piped = text;
		reader->in_pipe = true;
		is_first = false;
		if (!shell_next(&reader->lexer, command))
			return;
	}
}

/* A command with an effect; false if nothing after it matters. */
static bool
note_effect(Findings *findings, const Outcome *outcome, Reader *reader)
{
	Outcome    *found = &findings->found;

	if (outcome->action.category == ACTION_FINISH)
	{
		/* However much came before: the rollout ends here. */
		action_init(&found->action, ACTION_FINISH);
		findings->has_found = true;
		found->use = BODY_UNUSED;
		return false;
	}
	if (findings->has_found)
	{
		found->action.followed = true;
		return true;
	}
	*found = *outcome;
	findings->has_found = true;
	keep_action(&found->action);
	if (findings->directory.len > 0 && found->action.directory.data == NULL)
		found->action.directory = span_make(findings->directory.data, findings->directory.len);
	if (found->use != BODY_UNUSED)
		reader->lexer.keep_body = true;
	return true;
}

/* A command without one, before any that has: what the script does if none comes. */
static void
note_fallback(Findings *findings, const Outcome *outcome, const ShellCommand *command)
{
	Action	   *action = &findings->found.action;

	change_directory(&findings->directory, command);
	if ((findings->has_fallback && (!outcome->inside || findings->has_inside)) || command->n_words == 0)
		return;
	findings->has_fallback = true;
	findings->has_inside = outcome->inside;
	*action = outcome->action;
	keep_action(action);
	if (!findings->has_inside && action->category == ACTION_EXECUTE && action->target.data == NULL)
	{
		action_set_target(action, span_keep(shell_word_span(command, 0)), false);
		action->is_path = false;
	}
}

/* What the text of the here-document, now read, says of the action found. */
static void
read_body(const Outcome *found, Span body, Action *action, int depth)
{
	Span		target = action->target;

	if (found->use == BODY_CONTENT)
		action_set_content(action, span_none(), body);
	else if (found->use == BODY_PATCH)
	{
		classify_patch(body, action);
		if (target.data != NULL)
			action_set_target(action, target, true);
		action->followed = found->action.followed;
		action->directory = found->action.directory;
	}
	else if (found->use == BODY_SCRIPT && depth < MAX_DEPTH)
	{
		classify_at(body, action, depth + 1);
		action->followed |= found->action.followed;
	}
}

/* True if a command of the script had an effect; else *action is a fallback. */
bool
classify_at(Span script, Action *action, int depth)
{
	Reader		reader;
	ShellCommand command;
	Findings	findings;

	shell_start(&reader.lexer, script);
	reader.depth = depth;
	reader.stop = reader.in_pipe = false;
	shell_command_init(&command);
	memset(&findings, 0, sizeof(findings));
	/* A script of comments, or none at all: the agent only thought. */
	action_init(&findings.found.action, ACTION_THINK);

	while (!reader.stop && shell_next(&reader.lexer, &command))
	{
		Outcome		outcome;

		if (findings.has_found)
			reader.depth = MAX_DEPTH;	/* only whether it has an effect matters now */
		read_pipeline(&reader, &command, findings.has_found, &outcome);
		if (outcome.effect == EFFECT_ACT)
		{
			if (!note_effect(&findings, &outcome, &reader))
				break;
		}
		else if (!findings.has_found)
			note_fallback(&findings, &outcome, &command);
	}
	*action = findings.found.action;
	if (findings.has_found && findings.found.use != BODY_UNUSED && reader.lexer.wanted == findings.found.heredoc)
		read_body(&findings.found, reader.lexer.body.data ? reader.lexer.body : span_make("", 0), action, depth);
	pfree(command.text.data);
	shell_end(&reader.lexer);
	return findings.has_found || findings.has_inside;
}

void
classify_script(Span script, Action *action)
{
	classify_at(script, action, 0);
}
