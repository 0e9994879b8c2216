/*
 * shell_heredoc.c
 *		Here-documents: their delimiters, and the texts that follow their lines.
 */
#include "postgres.h"

#include "signatures/shell/shell_scan.h"

/* Read the delimiter of a here-document at `at`, without its quotes, and return the position after it. */
const char *
scan_delimiter(const char *at, const char *end, StringInfo delimiter)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	while (at < end && !is_space(*at) && strchr(";&|<>()", *at) == NULL)
	{
		if (*at == '\'' || *at == '"')
		{
			const char *close = memchr(at + 1, *at, end - at - 1);
			const char *stop = close ? close : end;

			appendBinaryStringInfo(delimiter, at + 1, stop - at - 1);
			at = close ? close + 1 : end;
			continue;
		}
		if (*at == '\\' && at + 1 < end)
			at++;
		appendStringInfoChar(delimiter, *at++);
	}
	return at;
}

/*
 * Skip the text of a here-document that begins at `at`.  *stop is its end, the result the position after the
 * closing line.  Without a closing line, the text extends to the end.
 */
const char *
skip_heredoc(const char *at, const char *end, Span delimiter, bool strip_tabs, const char **stop)
{
	while (at < end)
	{
		const char *newline = memchr(at, '\n', end - at);
		const char *line_end = newline ? newline : end;
		const char *line = at;
		int			length;

		while (strip_tabs && line < line_end && *line == '\t')
			line++;
		length = line_end - line;
		if (length > 0 && line[length - 1] == '\r')
			length--;
		if (length == delimiter.length && memcmp(line, delimiter.data, length) == 0)
		{
			*stop = at;
			return newline ? newline + 1 : end;
		}
		at = newline ? newline + 1 : end;
	}
	*stop = end;
	return end;
}

/* Register a here-document after its <<; its text follows this line. */
void
announce_heredoc(ShellLexer *lexer, ShellCommand *command)
{
	int			offset;
	bool		strip_tabs = peek(lexer, 0) == '-';

	if (lexer->delimiters.data == NULL)
		initStringInfo(&lexer->delimiters);
	offset = lexer->delimiters.len;
	if (strip_tabs)
		lexer->at++;
	lexer->at = scan_delimiter(lexer->at, lexer->end, &lexer->delimiters);
	if (lexer->n_pending < SHELL_MAX_HEREDOCS)
	{
		ShellHeredoc *heredoc = &lexer->pending[lexer->n_pending++];

		heredoc->offset = offset;
		heredoc->length = lexer->delimiters.len - offset;
		heredoc->strip_tabs = strip_tabs;
		lexer->n_heredocs++;
		if (command->heredoc == 0)
			command->heredoc = lexer->n_heredocs;
	}
}

/* Read the here-documents that were announced on the line that ends here. */
void
read_heredocs(ShellLexer *lexer)
{
	for (int i = 0; i < lexer->n_pending; i++)
	{
		ShellHeredoc *heredoc = &lexer->pending[i];
		const char *start = lexer->at;
		const char *stop;

		lexer->at = skip_heredoc(start, lexer->end,
								 span_make(lexer->delimiters.data + heredoc->offset, heredoc->length),
								 heredoc->strip_tabs, &stop);
		lexer->n_read++;
		lexer->bodies[lexer->n_read % SHELL_KEPT_BODIES] = span_make(start, stop - start);
	}
	lexer->n_pending = 0;
	if (lexer->delimiters.data != NULL)
		resetStringInfo(&lexer->delimiters);
}
