/*
 * command.h
 *		What one simple command does, from its words: the interface of command.c.
 *
 * The outcome names scripts inside a command and the commands of find -exec.  script.c follows them, so that
 * command.c does not depend on it.
 */
#ifndef STEPADV_COMMAND_H
#define STEPADV_COMMAND_H

#include "signatures/shell/outcome.h"

/* The context of a simple command. */
typedef struct Reader
{
	ShellLexer	lexer;
	Text		piped;			/* printed by the previous command of the pipe */
	bool		in_pipe;		/* the command reads the output of the one before it */
	bool		stop;			/* the rest of the script is an edit's text */
} Reader;

/* command.c */
extern void classify_words(Reader *reader, ShellCommand *command, int i, Outcome *outcome);
extern bool is_prefix_keyword(const char *word);
extern bool is_assignment(const ShellCommand *command, int i);

#endif							/* STEPADV_COMMAND_H */
