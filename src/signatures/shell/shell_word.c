/*
 * shell_word.c
 *		Words of the shell: quotes, escapes and expansions.
 *
 * Every scan consumes what it reads, so the time is linear in the script.  A quote that is never closed
 * extends to its end, as in a real shell.  The open quotes and brackets of nested substitutions are kept in a
 * string of closing characters, not on the stack.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "signatures/shell/shell_scan.h"

/* A here-document announced by a line of a skipped part. */
typedef struct Announced
{
	bool		waits;
	bool		strip_tabs;
	StringInfoData delimiter;	/* made when it is needed */
} Announced;

/* Read what follows <<, which may also be <<< or an arithmetic shift. */
static const char *
skip_announcement(const char *at, const char *end, Announced *announced)
{
	StringInfo	delimiter = &announced->delimiter;

	if (at < end && *at == '<')
		return at + 1;
	announced->strip_tabs = at < end && *at == '-';
	if (announced->strip_tabs)
		at++;
	if (delimiter->data == NULL)
		initStringInfo(delimiter);
	resetStringInfo(delimiter);
	at = scan_delimiter(at, end, delimiter);
	/* A number follows an arithmetic shift, not a here-document. */
	announced->waits = delimiter->len > 0 && !(delimiter->data[0] >= '0' && delimiter->data[0] <= '9');
	return at;
}

/* Read an unquoted character inside $(…), and return the position to continue at. */
static const char *
skip_in_script(ShellLexer *lexer, const char *at, char c, Announced *announced)
{
	const char *end = lexer->end;
	const char *stop;

	switch (c)
	{
		case '(':
			appendStringInfoChar(&lexer->nesting, ')');
			return at;
		case '#':
			if (at - 2 < lexer->at || !is_space(at[-2]))
				return at;
			stop = memchr(at, '\n', end - at);
			return stop ? stop : end;
		case '<':
			return at < end && *at == '<' ? skip_announcement(at + 1, end, announced) : at;
		default:
			return at;
	}
}

/*
 * The position after the closer of what was just opened; the end of the script if it is never closed.  Skips
 * quotes, nested substitutions, comments and one here-document per line, since agents write texts as $(cat
 * <<'EOF' …).
 */
const char *
skip_nested(ShellLexer *lexer, const char *at, char closer)
{
	StringInfo	nesting = &lexer->nesting;
	const char *end = lexer->end;
	Announced	announced;
	const char *stop;

	announced.waits = announced.strip_tabs = false;
	announced.delimiter.data = NULL;
	if (nesting->data == NULL)
		initStringInfo(nesting);
	resetStringInfo(nesting);
	appendStringInfoChar(nesting, closer);
	while (at < end)
	{
		char		c = *at++;
		char		top = nesting->data[nesting->len - 1];

		if (c == top)
		{
			nesting->len--;
			if (nesting->len == 0)
				break;
			continue;
		}
		switch (c)
		{
			case '\\':
				if (at < end)
					at++;
				break;
			case '$':
				if (top != '`' && at < end && (*at == '(' || *at == '{'))
				{
					appendStringInfoChar(nesting, *at == '(' ? ')' : '}');
					at++;
				}
				break;
			case '`':
			case '"':
				if (top != '`')
					appendStringInfoChar(nesting, c);
				break;
			case '\'':
				/* An ordinary character inside double quotes. */
				if (top == ')' || (top == '}' && (nesting->len < 2 || nesting->data[nesting->len - 2] != '"')))
				{
					stop = memchr(at, '\'', end - at);
					at = stop ? stop + 1 : end;
				}
				break;
			case '\n':
				if (announced.waits)
					at = skip_heredoc(at, end, span_make(announced.delimiter.data, announced.delimiter.len),
									  announced.strip_tabs, &stop);
				announced.waits = false;
				break;
			default:
				if (top == ')')
					at = skip_in_script(lexer, at, c, &announced);
				break;
		}
	}
	if (announced.delimiter.data != NULL)
		pfree(announced.delimiter.data);
	return at;
}

/* Remember the script of the command's first substitution. */
void
note_substitution(ShellCommand *command, const char *start, const char *after, char closer)
{
	if (command->substitution.data == NULL)
	{
		int			length = after - start;

		if (length > 0 && start[length - 1] == closer)
			length--;
		command->substitution = span_make(start, length);
	}
}

/* `$…` or a back-quoted command at the lexer's position, copied unchanged. */
static void
read_expansion(ShellLexer *lexer, ShellCommand *command, ShellWord *word)
{
	const char *start = lexer->at;
	const char *after;

	word->dynamic = true;
	if (*start == '`')
	{
		after = skip_nested(lexer, start + 1, '`');
		note_substitution(command, start + 1, after, '`');
	}
	else if (peek(lexer, 1) == '(')
	{
		after = skip_nested(lexer, start + 2, ')');
		if (peek(lexer, 2) != '(')
			note_substitution(command, start + 2, after, ')');
	}
	else if (peek(lexer, 1) == '{')
		after = skip_nested(lexer, start + 2, '}');
	else
	{
		after = start + 1;
		/* A literal dollar sign, as in "s/x$/y/". */
		if (after >= lexer->end || is_space(*after) || *after == '"' || *after == '/' || *after == '|')
			word->dynamic = false;
	}
	appendBinaryStringInfo(&command->text, start, after - start);
	lexer->at = after;
}

static void
read_double_quotes(ShellLexer *lexer, ShellCommand *command, ShellWord *word)
{
	lexer->at++;
	while (lexer->at < lexer->end)
	{
		const char *start = lexer->at;
		const char *at = start;

		while (at < lexer->end && *at != '"' && *at != '\\' && *at != '$' && *at != '`')
			at++;
		if (at > start)
			appendBinaryStringInfo(&command->text, start, at - start);
		lexer->at = at;
		if (at >= lexer->end)
			return;
		if (*at == '"')
		{
			lexer->at++;
			return;
		}
		if (*at == '\\')
		{
			char		next = peek(lexer, 1);

			lexer->at++;
			if (next == '\n')
				lexer->at++;
			else if (next == '$' || next == '`' || next == '"' || next == '\\')
			{
				appendStringInfoChar(&command->text, next);
				lexer->at++;
			}
			else
				appendStringInfoChar(&command->text, '\\');
			continue;
		}
		read_expansion(lexer, command, word);
	}
}

/* Read $'…'.  Only escapes that make one plain character are decoded. */
static void
read_ansi_quotes(ShellLexer *lexer, ShellCommand *command)
{
	lexer->at += 2;
	while (lexer->at < lexer->end)
	{
		char		c = *lexer->at++;

		if (c == '\'')
			return;
		if (c == '\\' && lexer->at < lexer->end)
		{
			char		next = *lexer->at++;

			switch (next)
			{
				case 'n':
					c = '\n';
					break;
				case 't':
					c = '\t';
					break;
				case 'r':
					c = '\r';
					break;
				case '\\':
				case '\'':
				case '"':
				case '?':
					c = next;
					break;
				default:
					/* \x41, \u00e9 …: decoding them could make invalid text */
					appendStringInfoChar(&command->text, '\\');
					c = next;
					break;
			}
		}
		appendStringInfoChar(&command->text, c);
	}
}

static inline bool
is_plain(char c)
{
	return !ends_word(c) && c != '\'' && c != '"' && c != '\\' && c != '$' && c != '`';
}

/* Append one word at the lexer's position to the command's text. */
void
read_word(ShellLexer *lexer, ShellCommand *command, ShellWord *word)
{
	StringInfo	text = &command->text;

	word->offset = text->len;
	word->quoted = false;
	word->dynamic = false;
	while (lexer->at < lexer->end)
	{
		const char *start = lexer->at;
		const char *at = start;
		char		c;

		CHECK_FOR_INTERRUPTS();
		while (at < lexer->end && is_plain(*at))
			if ((++at - start) % LOOK_EVERY == 0)
				CHECK_FOR_INTERRUPTS();
		if (at > start)
		{
			appendBinaryStringInfo(text, start, at - start);
			lexer->at = at;
			if (at >= lexer->end)
				break;
		}
		c = *at;
		if (c == '(')
		{
			/* array=(…) and the patterns ?(…) *(…) +(…) @(…) !(…) are part of the word */
			if (text->len > word->offset && strchr("=?*+@!", text->data[text->len - 1]) != NULL)
			{
				const char *after = skip_nested(lexer, at + 1, ')');

				appendBinaryStringInfo(text, at, after - at);
				lexer->at = after;
				continue;
			}
			break;
		}
		if (ends_word(c))
			break;
		if (c == '\'')
		{
			const char *close = memchr(at + 1, '\'', lexer->end - at - 1);
			const char *stop = close ? close : lexer->end;

			appendBinaryStringInfo(text, at + 1, stop - at - 1);
			lexer->at = close ? close + 1 : lexer->end;
			word->quoted = true;
		}
		else if (c == '"')
		{
			word->quoted = true;
			read_double_quotes(lexer, command, word);
		}
		else if (c == '\\')
		{
			if (peek(lexer, 1) == '\n')
				lexer->at += 2;
			else
			{
				lexer->at++;
				if (lexer->at < lexer->end)
					appendStringInfoChar(text, *lexer->at++);
				word->quoted = true;
			}
		}
		else if (c == '$' && peek(lexer, 1) == '\'')
		{
			word->quoted = true;
			read_ansi_quotes(lexer, command);
		}
		else if (c == '$' && peek(lexer, 1) == '"')
			lexer->at++;
		else
			read_expansion(lexer, command, word);
	}
	word->length = text->len - word->offset;
	appendStringInfoChar(text, '\0');
}
