/*
 * command.h
 *		What one simple command does, by its words: the interface of command.c.
 *
 * Scripts inside a command, and the commands of find -exec, are named in the
 * outcome and followed by script.c: this file does not depend on it.
 */
#ifndef STEPADV_COMMAND_H
#define STEPADV_COMMAND_H

#include "signatures/shell/outcome.h"

/* The context of a simple command. */
typedef struct Reader
{
	ShellLexer	lexer;
	Text		piped;			/* that the previous command of the pipe prints */
	bool		in_pipe;		/* the command reads what the one before it prints */
	bool		stop;			/* the rest of the script is an edit's text */
} Reader;

/* command.c */
extern void classify_words(Reader *reader, ShellCommand *command, int i, Outcome *outcome);
extern bool is_prefix_keyword(const char *word);
extern bool is_assignment(const ShellCommand *command, int i);

#endif							/* STEPADV_COMMAND_H */
