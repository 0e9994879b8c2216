/*
 * shell_scan.h
 *		What the files of the lexer share: shell.c, shell_word.c, shell_heredoc.c.
 */
#ifndef STEPADV_SHELL_SCAN_H
#define STEPADV_SHELL_SCAN_H

#include "signatures/shell/shell.h"

static inline char
peek(const ShellLexer *lexer, int ahead)
{
	return lexer->end - lexer->at > ahead ? lexer->at[ahead] : '\0';
}

/* Ends a word, unless it is quoted. */
static inline bool
ends_word(char c)
{
	switch (c)
	{
		case ' ':
		case '\t':
		case '\n':
		case '\r':
		case '\v':
		case '\f':
		case ';':
		case '&':
		case '|':
		case '<':
		case '>':
		case '(':
		case ')':
			return true;
		default:
			return false;
	}
}

/* shell_heredoc.c */
extern const char *scan_delimiter(const char *at, const char *end, StringInfo delimiter);
extern const char *skip_heredoc(const char *at, const char *end, Span delimiter, bool strip_tabs, const char **stop);
extern void announce_heredoc(ShellLexer *lexer, ShellCommand *command);
extern void read_heredocs(ShellLexer *lexer);

/* shell_word.c */
extern const char *skip_nested(ShellLexer *lexer, const char *at, char closer);
extern void note_substitution(ShellCommand *command, const char *start, const char *after, char closer);
extern void read_word(ShellLexer *lexer, ShellCommand *command, ShellWord *word);

#endif							/* STEPADV_SHELL_SCAN_H */
