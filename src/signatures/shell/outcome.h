/*
 * outcome.h
 *		What one simple command does: its effects, or the text that it prints.
 */
#ifndef STEPADV_OUTCOME_H
#define STEPADV_OUTCOME_H

#include "signatures/effect.h"
#include "signatures/shell/line_range.h"
#include "signatures/shell/operands.h"

#define MAX_INNER 4				/* -exec commands of one find */

typedef enum Doing
{
	DOES_NOTHING,				/* no effect: cd, assignments, control flow */
	DOES_PRINT,					/* only prints a literal text */
	DOES_ACT					/* has effects */
} Doing;

/* A text that the script contains. */
typedef struct Text
{
	Span		span;			/* data NULL if it is unknown, or not read yet */
	int			heredoc;		/* number of its here-document, 0 if there is none */
} Text;

/* Words from .. to - 1 of a command. */
typedef struct WordRange
{
	int			from;
	int			to;
} WordRange;

typedef struct Outcome
{
	Effects    *effects;		/* of the call; the command's are appended */
	Doing		doing;
	Text		printed;		/* by a command that only prints */
	Span		idle;			/* names a command without effects; data NULL = its first word */
	bool		idle_is_path;
	LineRange	lines;			/* printed by head, tail, sed -n … */
	Span		script;			/* inside the command; its effects are the command's */
	bool		takes_files;	/* xargs: the pipe gives the names of its files */
	Span		placeholder;	/* for these names, if there is one */
	int			n_inner;
	WordRange	inner[MAX_INNER];	/* of find -exec */
} Outcome;

static inline bool
has_text(Text text)
{
	return text.span.data != NULL || text.heredoc > 0;
}

/* The text that a command's redirections give it. */
static inline Text
command_text(const ShellCommand *command)
{
	return (Text) {command->heredoc > 0 ? span_none() : command->here_string, command->heredoc};
}

/* The effect that was added last. */
static inline Effect *
last_effect(Outcome *outcome)
{
	return outcome->effects->newest;
}

extern Doing set_outcome(Outcome *outcome, EffectCategory category, Span target, bool is_path);
extern Doing set_fileop(Outcome *outcome, Span verb, Span target);
extern Doing set_hashed(Outcome *outcome, Span name, Text code);
extern Doing set_write(Outcome *outcome, Span file, bool append, Text text);
extern Span tested_file(Span target);
extern Doing set_tests(Outcome *outcome, Span target);
extern void set_text(Effect *effect, Text text, TextUse use);
extern void repeat_for_rest(Outcome *outcome, Operands *operands);

#endif							/* STEPADV_OUTCOME_H */
