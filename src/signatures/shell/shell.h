/*
 * shell.h
 *		A lexer for shell scripts as agents write them.
 *
 * It splits a script into simple commands: words with their quotes removed, the file that receives standard
 * output, the first here-document and the first command substitution, and how many subshells begin and end
 * with them.  It reads every byte once, never fails, and takes no more stack for deeper nesting.  It expands
 * nothing.
 */
#ifndef STEPADV_SHELL_H
#define STEPADV_SHELL_H

#include "lib/stringinfo.h"
#include "span.h"

#define SHELL_MAX_WORDS 128		/* of one command; further ones are skipped */
#define SHELL_MAX_HEREDOCS 16	/* that wait for their text at the same time */
#define SHELL_KEPT_BODIES (2 * SHELL_MAX_HEREDOCS)	/* of a command and of earlier ones on its line */

typedef struct ShellWord
{
	int			offset;			/* in the command's text */
	int			length;
	bool		quoted;			/* any part of it was quoted */
	bool		dynamic;		/* it has a variable or a substitution */
} ShellWord;

typedef enum ShellEnd
{
	SHELL_END,					/* the script ends */
	SHELL_SEQUENCE,				/* ; & newline, end of a subshell */
	SHELL_AND,
	SHELL_OR,
	SHELL_PIPE,
	SHELL_PATTERN				/* the command was a pattern of case … esac */
} ShellEnd;

/* Words that redirections name. */
typedef enum ShellFile
{
	SHELL_OUTPUT,
	SHELL_INPUT,
	SHELL_HERE_STRING
} ShellFile;

#define N_SHELL_FILES (SHELL_HERE_STRING + 1)

typedef struct ShellCommand
{
	StringInfoData text;		/* the words, each followed by a NUL */
	int			n_words;
	ShellWord	words[SHELL_MAX_WORDS];
	Span		output;			/* file of > or >>; data NULL if none */
	bool		append;			/* it was >> */
	Span		input;			/* file of < */
	Span		here_string;	/* the word after <<< */
	int			heredoc;		/* number of its first here-document, 0 if none */
	Span		substitution;	/* script of the first $(…), `…` or <(…); <(…) is not a word */
	bool		defines_function;	/* name() … */
	int			opens;			/* subshells that begin before it */
	int			closes;			/* subshells that end after it */
	ShellEnd	end;
	bool		keep;			/* set by the reader: its text is needed after the next command */
	ShellWord	files[N_SHELL_FILES];	/* of the redirections, while the text may still move; offset -1 = none */
} ShellCommand;

typedef struct ShellHeredoc
{
	int			offset;			/* of the delimiter in the lexer's delimiters */
	int			length;
	bool		strip_tabs;
} ShellHeredoc;

typedef struct ShellLexer
{
	const char *at;
	const char *end;
	int			depth;			/* of open subshells */
	int			case_depth;		/* depth at the case … esac that is being read, -1 outside one */
	int			n_heredocs;		/* numbered from 1 in the order of << */
	int			n_read;			/* number of those whose text has been read */
	int			n_pending;
	ShellHeredoc pending[SHELL_MAX_HEREDOCS];
	Span		bodies[SHELL_KEPT_BODIES];	/* the texts read last, by number modulo */
	StringInfoData delimiters;
	StringInfoData nesting;		/* closers of the open quotes and brackets */
} ShellLexer;

extern void shell_start(ShellLexer *lexer, Span script);
extern void shell_end(ShellLexer *lexer);
extern void shell_command_init(ShellCommand *command);
extern bool shell_next(ShellLexer *lexer, ShellCommand *command);

/* The text of a here-document of the lines read last; data NULL if it has not been read. */
static inline Span
shell_body(const ShellLexer *lexer, int number)
{
	if (number > lexer->n_read)
		return span_none();
	return lexer->bodies[number % SHELL_KEPT_BODIES];
}

/* A word of the command as a NUL-terminated text; "" beyond its last word. */
static inline const char *
shell_word(const ShellCommand *command, int i)
{
	return i < command->n_words ? command->text.data + command->words[i].offset : "";
}

static inline Span
shell_word_span(const ShellCommand *command, int i)
{
	if (i >= command->n_words)
		return span_none();
	return span_make(command->text.data + command->words[i].offset, command->words[i].length);
}

#endif							/* STEPADV_SHELL_H */
