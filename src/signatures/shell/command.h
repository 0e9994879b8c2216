/*
 * command.h
 *		What a command of a script does: the interface of command.c (one simple
 *		command) to script.c (pipelines and lists of them), and back for the
 *		scripts inside commands.
 */
#ifndef STEPADV_COMMAND_H
#define STEPADV_COMMAND_H

#include "signatures/action.h"
#include "signatures/shell/line_range.h"
#include "signatures/shell/shell.h"

#define MAX_DEPTH 6				/* of scripts within scripts */

typedef enum Effect
{
	EFFECT_NONE,				/* prepares: cd, assignments, control flow */
	EFFECT_PRINT,				/* only prints a literal text */
	EFFECT_ACT
} Effect;

/* What is to be done with the text of a here-document, once it is read. */
typedef enum BodyUse
{
	BODY_UNUSED,
	BODY_CONTENT,
	BODY_PATCH,
	BODY_SCRIPT
} BodyUse;

typedef struct Outcome
{
	Effect		effect;
	Action		action;
	int			heredoc;
	BodyUse		use;
	LineRange	lines;			/* that head, tail, sed -n … let through */
	bool		inside;			/* no effect of its own, but its substitution has this one */
} Outcome;

/* One level of script. */
typedef struct Reader
{
	ShellLexer	lexer;
	int			depth;
	Span		piped;			/* literal text that the previous command of the pipe prints */
	bool		in_pipe;		/* the command reads what the one before it prints */
	bool		stop;			/* the rest of the script is an edit's text */
} Reader;

/* The text of the command's here-document is still to be read. */
static inline void
await_body(Outcome *outcome, const ShellCommand *command, BodyUse use)
{
	outcome->heredoc = command->heredoc;
	outcome->use = use;
}

/* command.c */
extern Effect classify_words(Reader *reader, ShellCommand *command, int i, Outcome *outcome);
extern Effect set_outcome(Outcome *outcome, ActionCategory category, Span target, bool is_path);
extern Effect set_fileop(Outcome *outcome, Span verb, Span target);
extern bool changes_things(const Action *action);
extern bool is_prefix_keyword(const char *word);
extern bool is_assignment(const ShellCommand *command, int i);

/* script.c */
extern bool classify_at(Span script, Action *action, int depth);

#endif							/* STEPADV_COMMAND_H */
