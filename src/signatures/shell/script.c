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

#include "signatures/shell/command.h"

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
	{
		Span		text = effect == EFFECT_PRINT ? action->new_text : span_none();

		if (from_text && command->heredoc > 0 && !command->append)
			set_outcome(outcome, ACTION_CREATE, command->output, true);
		else
		{
			set_outcome(outcome, ACTION_MODIFY, command->output, true);
			action->insert = command->append;
			if (text.data != NULL)
				action_set_content(action, span_none(), text);
			else if (from_text && command->heredoc > 0)
				await_body(outcome, command, BODY_CONTENT);
			else if (effect == EFFECT_ACT && reader->piped.data != NULL)
				action_set_content(action, span_none(), reader->piped);
		}
		return EFFECT_ACT;
	}
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

/* True if a command of the script had an effect; else *action is a fallback. */
bool
classify_at(Span script, Action *action, int depth)
{
	Reader		reader;
	ShellCommand command;
	StringInfoData directory;
	Outcome		found;
	bool		has_found = false;
	bool		has_fallback = false;
	bool		has_inside = false;

	shell_start(&reader.lexer, script);
	reader.depth = depth;
	reader.stop = false;
	shell_command_init(&command);
	directory.data = NULL;
	directory.len = 0;
	memset(&found, 0, sizeof(found));
	/* A script of comments, or none at all: the agent only thought. */
	action_init(&found.action, ACTION_THINK);

	while (!reader.stop && shell_next(&reader.lexer, &command))
	{
		Outcome		outcome;
		bool		first_in_pipe = true;

		reader.piped = span_none();
		if (has_found)
			reader.depth = MAX_DEPTH;	/* only whether it has an effect matters now */
		for (;;)
		{
			Outcome		next;
			Span		text = span_none();

			classify_command(&reader, &command, &next);
			if (first_in_pipe)
				outcome = next;
			else
				extend_pipeline(&outcome, &next);
			if (next.effect == EFFECT_PRINT && !next.inside && !has_found)
				text = span_keep(next.action.new_text);
			if (command.end != SHELL_PIPE)
				break;
			/* What was found must survive the words of the next command. */
			if (!has_found)
				keep_action(&outcome.action);
			reader.piped = text;
			first_in_pipe = false;
			if (!shell_next(&reader.lexer, &command))
				break;
		}
		if (outcome.effect == EFFECT_ACT)
		{
			if (outcome.action.category == ACTION_FINISH)
			{
				/* However much came before: the rollout ends here. */
				action_init(&found.action, ACTION_FINISH);
				has_found = true;
				found.use = BODY_UNUSED;
				break;
			}
			if (has_found)
				found.action.followed = true;
			else
			{
				found = outcome;
				has_found = true;
				keep_action(&found.action);
				if (directory.len > 0 && found.action.directory.data == NULL)
					found.action.directory = span_make(directory.data, directory.len);
				if (found.use != BODY_UNUSED)
					reader.lexer.keep_body = true;
			}
		}
		else if (!has_found)
		{
			change_directory(&directory, &command);
			if ((!has_fallback || (outcome.inside && !has_inside)) && command.n_words > 0)
			{
				has_fallback = true;
				has_inside = outcome.inside;
				found.action = outcome.action;
				keep_action(&found.action);
				if (!has_inside && found.action.category == ACTION_EXECUTE && found.action.target.data == NULL)
				{
					action_set_target(&found.action, span_keep(shell_word_span(&command, 0)), false);
					found.action.is_path = false;
				}
			}
		}
	}
	*action = found.action;
	if (has_found && found.use != BODY_UNUSED && reader.lexer.wanted == found.heredoc)
	{
		Span		body = reader.lexer.body.data ? reader.lexer.body : span_make("", 0);
		Span		target = action->target;

		if (found.use == BODY_CONTENT)
			action_set_content(action, span_none(), body);
		else if (found.use == BODY_PATCH)
		{
			classify_patch(body, action);
			if (target.data != NULL)
				action_set_target(action, target, true);
			action->followed = found.action.followed;
			action->directory = found.action.directory;
		}
		else if (found.use == BODY_SCRIPT && depth < MAX_DEPTH)
		{
			classify_at(body, action, depth + 1);
			action->followed |= found.action.followed;
		}
	}
	pfree(command.text.data);
	shell_end(&reader.lexer);
	return has_found || has_inside;
}

void
classify_script(Span script, Action *action)
{
	classify_at(script, action, 0);
}
