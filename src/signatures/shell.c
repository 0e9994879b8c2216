/*
 * shell.c
 *		The lexer of shell.h.
 *
 * Every scan consumes what it reads, so the time is linear in the script: a
 * quote that is never closed takes the rest of it, as in a real shell.  The
 * open quotes and brackets of nested substitutions are kept in a string of
 * closing characters instead of on the stack.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "signatures/shell.h"

void
shell_start(ShellLexer *lexer, Span script)
{
	memset(lexer, 0, sizeof(*lexer));
	lexer->at = script.data;
	lexer->end = script.data + script.length;
	/* The strings are made when they are needed: most scripts need neither. */
}

void
shell_end(ShellLexer *lexer)
{
	if (lexer->delimiters.data != NULL)
		pfree(lexer->delimiters.data);
	if (lexer->nesting.data != NULL)
		pfree(lexer->nesting.data);
}

void
shell_command_init(ShellCommand *command)
{
	initStringInfo(&command->text);
	command->n_words = 0;
}

static inline char
peek(const ShellLexer *lexer, int ahead)
{
	return lexer->end - lexer->at > ahead ? lexer->at[ahead] : '\0';
}

/* The delimiter of a here-document at `at`, without its quotes. */
static const char *
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
 * Pass the text of a here-document that begins at `at`; *stop is its end, the
 * result what follows the closing line.  Without one it takes all the rest.
 */
static const char *
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

/* Here-documents that were announced on the line that ends here. */
static void
read_heredocs(ShellLexer *lexer)
{
	int			i;

	for (i = 0; i < lexer->n_pending; i++)
	{
		ShellHeredoc *heredoc = &lexer->pending[i];
		const char *start = lexer->at;
		const char *stop;

		lexer->at = skip_heredoc(start, lexer->end,
								 span_make(lexer->delimiters.data + heredoc->offset, heredoc->length),
								 heredoc->strip_tabs, &stop);
		lexer->n_read++;
		if (lexer->n_read == lexer->wanted)
			lexer->body = span_make(start, stop - start);
	}
	lexer->n_pending = 0;
	if (lexer->delimiters.data != NULL)
		resetStringInfo(&lexer->delimiters);
}

/*
 * The position after the closer of what was just opened; the end of the script
 * if it is never closed.  Knows quotes, nested substitutions, comments and one
 * here-document per line, because $(cat <<'EOF' …) is how agents write texts.
 */
static const char *
skip_nested(ShellLexer *lexer, const char *at, char closer)
{
	StringInfo	nesting = &lexer->nesting;
	const char *end = lexer->end;
	StringInfoData delimiter;
	bool		heredoc = false;
	bool		strip_tabs = false;

	delimiter.data = NULL;
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
				if (top != '`')
					appendStringInfoChar(nesting, '`');
				break;
			case '"':
				if (top != '`')
					appendStringInfoChar(nesting, '"');
				break;
			case '\'':
				/* A letter like any other inside double quotes. */
				if (top == ')' || (top == '}' && (nesting->len < 2 || nesting->data[nesting->len - 2] != '"')))
				{
					const char *close = memchr(at, '\'', end - at);

					at = close ? close + 1 : end;
				}
				break;
			case '(':
				if (top == ')')
					appendStringInfoChar(nesting, ')');
				break;
			case '#':
				if (top == ')' && at - 2 >= lexer->at && is_space(at[-2]))
				{
					const char *newline = memchr(at, '\n', end - at);

					at = newline ? newline : end;
				}
				break;
			case '<':
				if (top == ')' && at < end && *at == '<')
				{
					at++;
					if (at < end && *at == '<')
						at++;
					else
					{
						strip_tabs = at < end && *at == '-';
						if (strip_tabs)
							at++;
						if (delimiter.data == NULL)
							initStringInfo(&delimiter);
						resetStringInfo(&delimiter);
						at = scan_delimiter(at, end, &delimiter);
						/* An arithmetic shift is followed by no word to wait for. */
						heredoc = delimiter.len > 0 && !(delimiter.data[0] >= '0' && delimiter.data[0] <= '9');
					}
				}
				break;
			case '\n':
				if (heredoc)
				{
					const char *stop;

					at = skip_heredoc(at, end, span_make(delimiter.data, delimiter.len), strip_tabs, &stop);
					heredoc = false;
				}
				break;
			default:
				break;
		}
	}
	if (delimiter.data != NULL)
		pfree(delimiter.data);
	return at;
}

/* Remember the script of the command's first substitution. */
static void
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

/* `$…` or a back-quoted command at the lexer's place, copied as it stands. */
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
		/* A dollar sign that stands for itself, as in "s/x$/y/". */
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

/* $'…': of its escapes only those that make one plain character. */
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

static inline bool
is_plain(char c)
{
	return !ends_word(c) && c != '\'' && c != '"' && c != '\\' && c != '$' && c != '`';
}

/* One word from the lexer's place to the command's text. */
static void
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

		while (at < lexer->end && is_plain(*at))
			at++;
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

static void
skip_blanks(ShellLexer *lexer)
{
	for (;;)
	{
		if (lexer->at < lexer->end && *lexer->at != '\n' && is_space(*lexer->at))
			lexer->at++;
		else if (peek(lexer, 0) == '\\' && peek(lexer, 1) == '\n')
			lexer->at += 2;
		else
			return;
	}
}

/* <(…) or >(…): stands for a file without a name. */
static void
read_process_substitution(ShellLexer *lexer, ShellCommand *command)
{
	const char *start = lexer->at;
	const char *after = skip_nested(lexer, start + 2, ')');

	note_substitution(command, start + 2, after, ')');
	lexer->at = after;
}

/* A redirection at the lexer's place, whose descriptor was read already. */
static void
read_redirection(ShellLexer *lexer, ShellCommand *command, int descriptor)
{
	bool		is_output = *lexer->at != '<';
	bool		append = false;
	ShellWord	word;

	if (*lexer->at == '&')		/* &> and &>> */
		lexer->at++;
	lexer->at++;
	if (!is_output && peek(lexer, 0) == '<')
	{
		lexer->at++;
		if (peek(lexer, 0) == '<')
		{
			lexer->at++;
			skip_blanks(lexer);
			read_word(lexer, command, &word);
			command->here_string = true;
			return;
		}
		else
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
				{
					command->heredoc = lexer->n_heredocs;
					if (!lexer->keep_body)
					{
						lexer->wanted = lexer->n_heredocs;
						lexer->body = span_none();
					}
				}
			}
			return;
		}
	}
	if (is_output && peek(lexer, 0) == '>')
	{
		append = true;
		lexer->at++;
	}
	else if (is_output && peek(lexer, 0) == '|')
		lexer->at++;
	else if (!is_output && peek(lexer, 0) == '>')
		lexer->at++;
	else if (peek(lexer, 0) == '&')
	{
		lexer->at++;
		/* 2>&1, 1>&-: a copy of a descriptor, no file */
		if ((peek(lexer, 0) >= '0' && peek(lexer, 0) <= '9') || peek(lexer, 0) == '-')
		{
			read_word(lexer, command, &word);
			return;
		}
	}
	skip_blanks(lexer);
	if (lexer->at < lexer->end && ends_word(*lexer->at) && *lexer->at != '<' && *lexer->at != '>')
		return;
	if (peek(lexer, 0) == '<' || peek(lexer, 0) == '>')
	{
		if (peek(lexer, 1) == '(')
			read_process_substitution(lexer, command);
		return;
	}
	read_word(lexer, command, &word);
	if (is_output)
	{
		/* Devices keep nothing; standard error is no result. */
		if (descriptor == 1 && command->output_offset < 0 && word.length > 0 &&
			strncmp(command->text.data + word.offset, "/dev/", 5) != 0)
		{
			command->output_offset = word.offset;
			command->output_length = word.length;
			command->append = append;
		}
	}
	else if (command->input_offset < 0)
	{
		command->input_offset = word.offset;
		command->input_length = word.length;
	}
}

/* End the command; false if there was nothing of it. */
static bool
finish(ShellCommand *command, ShellEnd end)
{
	command->end = end;
	if (command->output_offset >= 0)
		command->output = span_make(command->text.data + command->output_offset, command->output_length);
	if (command->input_offset >= 0)
		command->input = span_make(command->text.data + command->input_offset, command->input_length);
	return command->n_words > 0 || command->output_offset >= 0 ||
		command->heredoc > 0 || command->substitution.data != NULL;
}

/* The next simple command of the script; false when there is no more. */
bool
shell_next(ShellLexer *lexer, ShellCommand *command)
{
	CHECK_FOR_INTERRUPTS();
	resetStringInfo(&command->text);
	command->n_words = 0;
	command->output = command->input = command->substitution = span_none();
	command->output_offset = command->input_offset = -1;
	command->append = command->here_string = command->defines_function = false;
	command->heredoc = 0;

	for (;;)
	{
		ShellEnd	end;
		char		c;

		skip_blanks(lexer);
		if (lexer->at >= lexer->end)
			return finish(command, SHELL_END);
		c = *lexer->at;
		end = SHELL_SEQUENCE;
		switch (c)
		{
			case '\n':
				lexer->at++;
				read_heredocs(lexer);
				break;
			case '#':
				{
					const char *newline = memchr(lexer->at, '\n', lexer->end - lexer->at);

					lexer->at = newline ? newline : lexer->end;
					continue;
				}
			case ';':
				lexer->at++;
				break;
			case '&':
				if (peek(lexer, 1) == '>')
				{
					read_redirection(lexer, command, 1);
					continue;
				}
				lexer->at++;
				if (peek(lexer, 0) == '&')
				{
					lexer->at++;
					end = SHELL_AND;
				}
				break;
			case '|':
				lexer->at++;
				end = SHELL_PIPE;
				if (peek(lexer, 0) == '|')
				{
					lexer->at++;
					end = SHELL_OR;
				}
				else if (peek(lexer, 0) == '&')
					lexer->at++;
				break;
			case '(':
				if (command->n_words == 0 && peek(lexer, 1) == '(')
				{
					/* ((arithmetic)): a command that only computes */
					ShellWord  *word = &command->words[command->n_words++];

					word->offset = command->text.len;
					word->length = 2;
					word->quoted = word->dynamic = false;
					appendBinaryStringInfo(&command->text, "((", 3);
					lexer->at = skip_nested(lexer, lexer->at + 1, ')');
					continue;
				}
				lexer->at++;
				if (command->n_words == 0)
					lexer->depth++;
				else if (command->n_words == 1)
				{
					skip_blanks(lexer);
					if (peek(lexer, 0) == ')')
					{
						lexer->at++;
						command->defines_function = true;
						return finish(command, SHELL_SEQUENCE);
					}
				}
				continue;
			case ')':
				lexer->at++;
				if (lexer->depth > 0)
					lexer->depth--;
				else if (lexer->in_case)
					end = SHELL_PATTERN;
				break;
			case '<':
			case '>':
				if (peek(lexer, 1) == '(')
					read_process_substitution(lexer, command);
				else
					read_redirection(lexer, command, c == '<' ? 0 : 1);
				continue;
			default:
				{
					ShellWord	word;

					read_word(lexer, command, &word);
					c = peek(lexer, 0);
					if ((c == '<' || c == '>') && word.length == 1 && !word.quoted &&
						command->text.data[word.offset] >= '0' && command->text.data[word.offset] <= '9')
					{
						read_redirection(lexer, command, command->text.data[word.offset] - '0');
						continue;
					}
					if (command->n_words == 0 && word.length == 4 && !word.quoted)
					{
						if (strcmp(command->text.data + word.offset, "case") == 0)
							lexer->in_case = true;
						else if (strcmp(command->text.data + word.offset, "esac") == 0)
							lexer->in_case = false;
					}
					if (command->n_words < SHELL_MAX_WORDS)
						command->words[command->n_words++] = word;
					else
						command->text.len = word.offset;
					continue;
				}
		}
		if (finish(command, end))
			return true;
	}
}
