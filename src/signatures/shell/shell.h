/*
 * shell.h
 *		A lexer for the shell that agents write.
 *
 * It splits a script into simple commands: words with their quotes removed,
 * the file that standard output goes to, the first here-document and the first
 * command substitution.  It reads every byte once, never fails, and takes no
 * more stack for deeper nesting.  It is not a shell: it expands nothing.
 */
#ifndef STEPADV_SHELL_H
#define STEPADV_SHELL_H

#include "lib/stringinfo.h"
#include "span.h"

#define SHELL_MAX_WORDS 128		/* of one command; what comes after is skipped */
#define SHELL_MAX_HEREDOCS 16	/* that wait for their text at one time */

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

typedef struct ShellCommand
{
	StringInfoData text;		/* the words, each followed by a NUL */
	int			n_words;
	ShellWord	words[SHELL_MAX_WORDS];
	Span		output;			/* file of > or >>; data NULL if none */
	bool		append;			/* it was >> */
	Span		input;			/* file of < */
	bool		here_string;	/* <<< */
	int			heredoc;		/* number of its first here-document, 0 if none */
	Span		substitution;	/* script of the first $(…), `…` or <(…); the last is no word */
	bool		defines_function;	/* name() … */
	ShellEnd	end;
	int			output_offset;	/* while the text may still move */
	int			input_offset;
	int			output_length;
	int			input_length;
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
	bool		in_case;
	int			n_heredocs;		/* numbered from 1 in the order of << */
	int			n_read;			/* whose text has been passed */
	bool		keep_body;		/* do not take another here-document's text instead */
	int			n_pending;
	ShellHeredoc pending[SHELL_MAX_HEREDOCS];
	int			wanted;			/* number of the last command's first here-document */
	Span		body;			/* its text, once it was passed */
	StringInfoData delimiters;
	StringInfoData nesting;		/* closers of the open quotes and brackets */
} ShellLexer;

extern void shell_start(ShellLexer *lexer, Span script);
extern void shell_end(ShellLexer *lexer);
extern void shell_command_init(ShellCommand *command);
extern bool shell_next(ShellLexer *lexer, ShellCommand *command);

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
