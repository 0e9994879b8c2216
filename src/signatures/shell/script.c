/*
 * script.c
 *		What a shell script does: the effects of its commands, in order.
 *
 * Preparations (cd, assignments, set, export, a heading printed by echo) have no effect.  Wrappers (sudo,
 * timeout, env …) are removed.  A pipeline is read as one command.  Of `a || b`, only a counts, unless a has
 * no effect, or a runs a program that may have failed and the call succeeded.
 *
 * Scripts inside scripts (bash -c, command substitution, here-documents) are followed to a fixed depth, so
 * neither time nor stack depends on nesting.
 */
#include "postgres.h"

#include "signatures/patch.h"
#include "signatures/shell/blocks.h"
#include "signatures/shell/command.h"
#include "signatures/shell/pipeline.h"
#include "signatures/shell/script.h"

#define MAX_DEPTH 6				/* of scripts within scripts */

typedef struct Script
{
	Reader		reader;
	Effects    *effects;		/* of the call; those of the script from `start` on */
	int			start;
	int			depth;
	ShellEnd	joined;			/* how the command is joined to what came before it */
	int			list;			/* first effect of the list joined by && and || here */
	int			chain;			/* effects before it may have failed although the script succeeded */
	int			last;			/* effects before it may have succeeded although the script failed */
	int			waiting;		/* the first effect whose here-document may not have been read */
	Blocks		blocks;
	StringInfoData directory;	/* current directory, as set by cd */
	Span		pushed;			/* the directory before the last pushd */
	Span		here;			/* a copy of the directory, for effects */
	bool		is_here;		/* the copy is current */
} Script;

static void read_script(Span text, Effects *effects, int depth, Span directory);

/* The current directory, as a text that does not change. */
static Span
directory_here(Script *script)
{
	if (!script->is_here)
		script->here = script->directory.len > 0 ?
			span_keep(span_make(script->directory.data, script->directory.len)) : span_none();
	script->is_here = true;
	return script->here;
}

static void
set_directory(Script *script, Span directory)
{
	resetStringInfo(&script->directory);
	if (directory.data != NULL)
		appendBinaryStringInfo(&script->directory, directory.data, directory.length);
	script->here = directory;
	script->is_here = true;
}

/* Follow a cd, pushd or popd. */
static void
change_directory(Script *script, const ShellCommand *command)
{
	int			i = 0;
	Span		target;

	while (i < command->n_words && is_prefix_keyword(shell_word(command, i)))
		i++;
	while (i < command->n_words && is_assignment(command, i))
		i++;
	if (strcmp(shell_word(command, i), "popd") == 0)
	{
		set_directory(script, script->pushed);
		return;
	}
	if (strcmp(shell_word(command, i), "pushd") == 0)
		script->pushed = directory_here(script);
	else if (strcmp(shell_word(command, i), "cd") != 0)
		return;
	target = shell_word_span(command, i + 1);
	/* After cd alone, cd - or a path that is too long, the directory is unknown. */
	if (target.length == 0 || span_is(target, "-") || script->directory.len + target.length > MAX_PATH_LENGTH)
	{
		set_directory(script, span_none());
		return;
	}
	if (target.data[0] == '/' || target.data[0] == '~' || target.data[0] == '$')
		resetStringInfo(&script->directory);
	else if (script->directory.len > 0)
		appendStringInfoChar(&script->directory, '/');
	appendBinaryStringInfo(&script->directory, target.data, target.length);
	script->is_here = false;
}

static bool
has_effect(const Effects *effects, int from)
{
	for (; from < effects->n; from++)
		if (!effects->items[from].inside)
			return true;
	return false;
}

/* Add the effects of a script inside the command, as the command's own. */
static void
follow_script(Script *script, const ShellCommand *command, Outcome *outcome)
{
	int			n = script->effects->n;

	if (outcome->script.data == NULL)
		return;
	if (script->depth < MAX_DEPTH)
		read_script(outcome->script, script->effects, script->depth + 1, directory_here(script));
	else
		effects_add(script->effects, EFFECT_EXECUTE, shell_word_span(command, 0), false);
	outcome->doing = script->effects->n > n ? DOES_ACT : DOES_NOTHING;
}

/* x=$(command), echo `command`: if it only reads, it counts only if the script has no other effects. */
static void
follow_substitution(Script *script, const ShellCommand *command, Outcome *outcome)
{
	Effects    *effects = script->effects;
	int			n = effects->n;
	bool		has_idle = effects->has_idle;
	bool		reads = true;

	if (outcome->doing == DOES_ACT || command->substitution.data == NULL || command->output.data != NULL ||
		script->depth >= MAX_DEPTH)
		return;
	read_script(command->substitution, effects, script->depth + 1, directory_here(script));
	effects->has_idle = has_idle;	/* the command keeps its own name */
	for (int i = n; i < effects->n; i++)
		reads &= only_reads(&effects->items[i]);
	for (int i = n; reads && i < effects->n; i++)
		effects->items[i].inside = true;
	if (!reads)
		outcome->doing = DOES_ACT;
}

/* Read the commands of find -exec as if xargs ran them on the files that find prints. */
static void
follow_find(Script *script, ShellCommand *command, const Outcome *outcome, int start)
{
	Text		nothing = {span_none(), 0};
	bool		in_pipe = script->reader.in_pipe;
	int			n_words = command->n_words;

	for (int i = 0; i < outcome->n_inner; i++)
	{
		Outcome		inner;
		int			stage = script->effects->n;

		memset(&inner, 0, sizeof(inner));
		inner.effects = script->effects;
		command->n_words = outcome->inner[i].to;
		script->reader.in_pipe = true;
		classify_words(&script->reader, command, outcome->inner[i].from, &inner);
		follow_script(script, command, &inner);
		inner.takes_files = true;
		join_stage(script->effects, start, stage, &inner, nothing);
	}
	command->n_words = n_words;
	script->reader.in_pipe = in_pipe;
}

/* Is the only effect from `start` on a view without a target? */
static bool
is_bare_view(const Effects *effects, int start)
{
	return effects->n == start + 1 && effects->items[start].category == EFFECT_VIEW &&
		effects->items[start].target.data == NULL;
}

/* The text that a command such as cat <<E shows. */
static Text
text_shown(const Script *script, const ShellCommand *command, const Outcome *outcome, int start)
{
	Text		text = command_text(command);

	if (outcome->doing == DOES_ACT && !outcome->takes_files && is_bare_view(script->effects, start))
		return has_text(text) ? text : script->reader.piped;
	return (Text) {span_none(), 0};
}

/* The command's output goes into a file. */
static void
write_output(Script *script, const ShellCommand *command, Outcome *outcome, int start)
{
	Effects    *effects = script->effects;
	Text		text = {span_none(), 0};

	if (outcome->doing == DOES_PRINT)
		text = outcome->printed;
	/* cat > f reads the terminal: no view */
	else if (!script->reader.in_pipe && is_bare_view(effects, start))
		effects_drop(effects, start, effects->n, false);
	outcome->doing = set_write(outcome, command->output, command->append, text);
	last_effect(outcome)->ends_earlier = has_runs(effects, start, effects->n);
}

/* A simple command with its redirections. */
static void
read_command(Script *script, ShellCommand *command, Outcome *outcome)
{
	Effects    *effects = script->effects;
	int			start = effects->n;
	Text		text;

	memset(outcome, 0, sizeof(*outcome));
	outcome->effects = effects;
	if (command->end == SHELL_PATTERN || command->defines_function)
		return;
	classify_words(&script->reader, command, 0, outcome);
	follow_script(script, command, outcome);
	for (int i = start; i < effects->n; i++)
		if (effects->items[i].category == EFFECT_VIEW && effects->items[i].target.data != NULL)
			apply_range(&effects->items[i], &outcome->lines);
	follow_find(script, command, outcome, start);
	follow_substitution(script, command, outcome);
	text = text_shown(script, command, outcome, start);
	if (has_text(text))
	{
		effects_drop(effects, start, effects->n, false);
		outcome->doing = DOES_PRINT;
		outcome->printed = text;
	}
	if (command->output.data != NULL)
		write_output(script, command, outcome, start);
	for (int i = start; i < effects->n; i++)
		if (effects->items[i].directory.data == NULL)
			effects->items[i].directory = directory_here(script);
}

/* Keep the first command without an effect: it represents a call that has none. */
static void
note_idle(Effects *effects, const Outcome *outcome, const ShellCommand *command)
{
	if (effects->has_idle || outcome->doing == DOES_ACT || command->n_words == 0 || command->end == SHELL_PATTERN)
		return;
	effects->has_idle = true;
	effect_init(&effects->idle, EFFECT_EXECUTE);
	effect_set_target(&effects->idle, span_keep(outcome->idle.data ? outcome->idle : shell_word_span(command, 0)),
					  outcome->idle_is_path);
}

/* Set the texts of here-documents that have been read by now. */
static void
take_bodies(Script *script)
{
	int			i = Min(script->waiting, script->effects->n);

	script->waiting = script->effects->n;
	for (; i < script->effects->n; i++)
	{
		Effect	   *effect = &script->effects->items[i];
		Text		text = {span_none(), 0};

		if (effect->heredoc == 0)
			continue;
		text.span = shell_body(&script->reader.lexer, effect->heredoc);
		if (text.span.data != NULL)
			set_text(effect, text, effect->use);
		else
			script->waiting = Min(script->waiting, i);
	}
}

/* Open the blocks that a command begins.  True if it only ends one; *start is then that block's first effect. */
static bool
enter(Script *script, const ShellCommand *command, bool reached, int *start)
{
	if (command->opens > 0)
	{
		Span		directory = script->blocks.n < MAX_BLOCKS ? directory_here(script) : span_none();

		open_subshells(&script->blocks, command, reached, directory, script->effects->n);
	}
	return read_keywords(&script->blocks, command, reached, script->effects, start);
}

/* Read a pipeline, given its first command; its effects begin at `start`. */
static void
read_pipeline(Script *script, ShellCommand *command, int start, bool reached)
{
	Effects    *effects = script->effects;
	Reader	   *reader = &script->reader;
	bool		is_first = true;

	reader->piped = (Text) {span_none(), 0};
	reader->in_pipe = false;
	for (;;)
	{
		Outcome		outcome;
		int			stage = effects->n;
		int			n_added = effects->n_added;
		int			closes = command->closes;

		read_command(script, command, &outcome);
		note_idle(effects, &outcome, command);
		/* Its effects, or what it prints, may point into its words. */
		command->keep = effects->n_added > n_added ||
			(command->here_string.data != NULL && outcome.printed.span.data == command->here_string.data);
		if (!is_first || stage > start)
			join_stage(effects, start, stage, &outcome, reader->piped);
		if (command->end != SHELL_PIPE)
			break;
		reader->piped = outcome.doing == DOES_PRINT ? outcome.printed : (Text) {span_none(), 0};
		reader->in_pipe = true;
		is_first = false;
		if (!shell_next(&reader->lexer, command))
			break;
		command->closes += closes;
		enter(script, command, reached, &stage);
	}
	if (is_first && script->joined != SHELL_OR && !is_unreached(&script->blocks))
		change_directory(script, command);
}

/* In `a || b`, does b count? */
static bool
is_alternative_done(const Script *script)
{
	const Effects *effects = script->effects;

	return !has_effect(effects, script->list) ||
		(effects->succeeded && has_runs(effects, script->list, effects->n));
}

/* Effects before `end` may have failed although the script succeeds. */
static void
end_chain(Script *script, int end)
{
	for (; script->chain < end; script->chain++)
		script->effects->items[script->chain].ends_otherwise = true;
}

/* Effects before `end` may have succeeded although the script fails. */
static void
end_last(Script *script, int end)
{
	for (; script->last < end; script->last++)
		script->effects->items[script->last].ends_earlier = true;
}

/* When a block ends, the operator after it applies to all of its effects. */
static void
end_block(Script *script, int start)
{
	script->list = Min(script->list, start);
	script->chain = Min(script->chain, start);
	script->last = Min(script->last, start);
}

/* Read one of the pipelines that ; && || join, given its first command. */
static void
read_element(Script *script, ShellCommand *command)
{
	Effects    *effects = script->effects;
	bool		reached = script->joined != SHELL_OR || is_alternative_done(script);
	bool		only_ends;
	int			start;
	int			own;
	Block		closed;

	only_ends = enter(script, command, reached, &start);
	own = effects->n;
	if (only_ends)
		end_block(script, start);
	else if (script->joined == SHELL_SEQUENCE)
		script->list = own;
	read_pipeline(script, command, start, reached);
	if (!reached || is_unreached(&script->blocks))
	{
		effects->n = Min(own, effects->n);
		command->keep = false;
	}
	if (!only_ends)
	{
		if (script->joined != SHELL_AND)
			end_chain(script, own);
		if (has_effect(effects, own))
			end_last(script, own);
	}
	take_bodies(script);
	script->joined = command->end;
	if (close_subshells(&script->blocks, command, &closed))
	{
		end_block(script, Min(closed.start, effects->n));
		set_directory(script, closed.directory);
	}
}

/* Replace an effect whose text is a patch or a script by that text's effects; returns their number, 1 if none. */
static int
expand_text(Script *script, int i)
{
	Effects    *effects = script->effects;
	const Effect whole = effects->items[i];
	int			n = effects->n;
	int			j;

	if (whole.use == TEXT_SCRIPT && script->depth < MAX_DEPTH)
		read_script(whole.new_text, effects, script->depth + 1, whole.directory);
	else if (whole.use == TEXT_PATCH && whole.target.data == NULL)
		classify_patch(whole.new_text, effects);
	else if (whole.use == TEXT_PATCH)
		effect_set_content(&effects->items[i], span_none(), whole.new_text);
	for (j = n; j < effects->n; j++)
	{
		Effect	   *effect = &effects->items[j];

		effect->ends_otherwise |= whole.ends_otherwise;
		effect->ends_earlier |= whole.ends_earlier;
		if (effect->directory.data == NULL)
			effect->directory = whole.directory;
	}
	j = effects->n - n;
	if (j > 0)
		effects_move_end(effects, n, i);
	return Max(j, 1);
}

/* Finish a script: drop what substitutions only read, unless there is nothing else, and expand texts. */
static void
end_script(Script *script)
{
	Effects    *effects = script->effects;
	bool		has_own = has_effect(effects, script->start);
	int			kept = script->start;

	for (int i = script->start; i < effects->n; i++)
	{
		Effect		effect = effects->items[i];

		if (has_own && effect.inside)
			continue;
		effect.inside = false;
		/* A here-document that was never read is empty. */
		if (effect.heredoc > 0)
			set_text(&effect, (Text) {span_make("", 0), 0}, effect.use);
		effects->items[kept++] = effect;
	}
	effects->n = Min(kept, effects->n);
	for (int i = script->start; i < effects->n;)
	{
		const Effect *effect = &effects->items[i];
		bool		is_text = effect->use == TEXT_PATCH || effect->use == TEXT_SCRIPT;

		i += is_text && effect->new_text.data != NULL ? expand_text(script, i) : 1;
	}
}

/* Add the effects of a script. */
static void
read_script(Span text, Effects *effects, int depth, Span directory)
{
	Script		script;
	ShellCommand command;

	memset(&script, 0, sizeof(script));
	script.effects = effects;
	script.depth = depth;
	script.start = script.list = script.chain = script.last = script.waiting = effects->n;
	script.joined = SHELL_SEQUENCE;
	shell_start(&script.reader.lexer, text);
	shell_command_init(&command);
	initStringInfo(&script.directory);
	set_directory(&script, directory);
	while (!script.reader.stop && shell_next(&script.reader.lexer, &command))
		read_element(&script, &command);
	end_script(&script);
	if (!command.keep)
		pfree(command.text.data);
	pfree(script.directory.data);
	shell_end(&script.reader.lexer);
}

/* A script without effects is represented by its first command; without a command, it is a thought. */
void
classify_script(Span script, Effects *effects)
{
	read_script(script, effects, 0, span_none());
	if (effects->n > 0)
		return;
	effects_add(effects, EFFECT_THINK, span_none(), false);
	if (effects->has_idle)
		*effects->newest = effects->idle;
}
