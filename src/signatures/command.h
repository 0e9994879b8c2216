/*
 * command.h
 *		What command.c (one command) and script.c (pipelines, lists) share.
 */
#ifndef STEPADV_COMMAND_H
#define STEPADV_COMMAND_H

#include "signatures/action.h"
#include "signatures/shell.h"

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
	int64		first;			/* lines that head, tail, sed -n … let through */
	int64		last;			/* 0 = all from first on */
	int64		tail;			/* or only that many at the end */
	bool		inside;			/* no effect of its own, but its substitution has this one */
} Outcome;

/* One level of script. */
typedef struct Reader
{
	ShellLexer	lexer;
	int			depth;
	Span		piped;			/* literal text that the previous command of the pipe prints */
	bool		stop;			/* the rest of the script is an edit's text */
} Reader;

/* command.c */
extern Effect classify_words(Reader *reader, ShellCommand *command, int i, Outcome *outcome);
extern Effect set_outcome(Outcome *outcome, ActionCategory category, Span target, bool is_path);
extern void apply_range(Action *action, const Outcome *range);
extern bool changes_things(const Action *action);
extern bool is_prefix_keyword(const char *word);
extern bool is_assignment(const ShellCommand *command, int i);

/* script.c */
extern bool classify_at(Span script, Action *action, int depth);

#endif							/* STEPADV_COMMAND_H */
