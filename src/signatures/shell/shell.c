/*
 * shell.c
 *		The lexer of shell.h: commands with their words and redirections.
 *
 * shell_word.c reads words, shell_heredoc.c reads here-documents.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "signatures/shell/shell_scan.h"

void
shell_start(ShellLexer *lexer, Span script)
{
	memset(lexer, 0, sizeof(*lexer));
	lexer->at = script.data;
	lexer->end = script.data + script.length;
	lexer->case_depth = -1;
	/* The strings are made when needed: most scripts need neither. */
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
	command->keep = false;
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

/* <(…) or >(…): a file without a name. */
static void
read_process_substitution(ShellLexer *lexer, ShellCommand *command)
{
	const char *start = lexer->at;
	const char *after = skip_nested(lexer, start + 2, ')');

	note_substitution(command, start + 2, after, ')');
	lexer->at = after;
}

/* Read a redirection, whose descriptor has been read. */
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
			read_word(lexer, command, &command->files[SHELL_HERE_STRING]);
			return;
		}
		announce_heredoc(lexer, command);
		return;
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
		/* 2>&1, 1>&-: copies or closes a descriptor */
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
		/* Devices keep nothing, and standard error is not the result. */
		if (descriptor == 1 && command->files[SHELL_OUTPUT].offset < 0 && word.length > 0 &&
			strncmp(command->text.data + word.offset, "/dev/", 5) != 0)
		{
			command->files[SHELL_OUTPUT] = word;
			command->append = append;
		}
	}
	else if (command->files[SHELL_INPUT].offset < 0)
		command->files[SHELL_INPUT] = word;
}

static Span
file_span(const ShellCommand *command, ShellFile file)
{
	const ShellWord *word = &command->files[file];

	return word->offset < 0 ? span_none() : span_make(command->text.data + word->offset, word->length);
}

/* End the command; false if it is empty. */
static bool
finish(ShellCommand *command, ShellEnd end)
{
	command->end = end;
	command->output = file_span(command, SHELL_OUTPUT);
	command->input = file_span(command, SHELL_INPUT);
	command->here_string = file_span(command, SHELL_HERE_STRING);
	return command->n_words > 0 || command->output.data != NULL ||
		command->heredoc > 0 || command->substitution.data != NULL;
}

/* ((arithmetic)): a command that only computes. */
static void
read_arithmetic(ShellLexer *lexer, ShellCommand *command)
{
	ShellWord  *word = &command->words[command->n_words++];

	word->offset = command->text.len;
	word->length = 2;
	word->quoted = word->dynamic = false;
	appendBinaryStringInfo(&command->text, "((", 3);
	lexer->at = skip_nested(lexer, lexer->at + 1, ')');
}

/* Read a (.  It opens a subshell, or name() defines a function, which ends the command: true. */
static bool
read_bracket(ShellLexer *lexer, ShellCommand *command)
{
	if (command->n_words == 0 && peek(lexer, 1) == '(')
	{
		read_arithmetic(lexer, command);
		return false;
	}
	lexer->at++;
	if (command->n_words == 0)
	{
		lexer->depth++;
		command->opens++;
	}
	else if (command->n_words == 1)
	{
		skip_blanks(lexer);
		if (peek(lexer, 0) == ')')
		{
			lexer->at++;
			command->defines_function = true;
			return true;
		}
	}
	return false;
}

/* A word of the command, or the descriptor of a redirection. */
static void
read_plain(ShellLexer *lexer, ShellCommand *command)
{
	ShellWord	word;
	char		c;

	read_word(lexer, command, &word);
	c = peek(lexer, 0);
	if ((c == '<' || c == '>') && word.length == 1 && !word.quoted &&
		command->text.data[word.offset] >= '0' && command->text.data[word.offset] <= '9')
	{
		read_redirection(lexer, command, command->text.data[word.offset] - '0');
		return;
	}
	if (command->n_words == 0 && word.length == 4 && !word.quoted)
	{
		if (strcmp(command->text.data + word.offset, "case") == 0)
			lexer->case_depth = lexer->depth;
		else if (strcmp(command->text.data + word.offset, "esac") == 0)
			lexer->case_depth = -1;
	}
	if (command->n_words < SHELL_MAX_WORDS)
		command->words[command->n_words++] = word;
	else
		command->text.len = word.offset;
}

/* & or |, or two of them. */
static ShellEnd
read_operator(ShellLexer *lexer, char c)
{
	char		next = peek(lexer, 1);

	lexer->at++;
	if (next == c)
	{
		lexer->at++;
		return c == '&' ? SHELL_AND : SHELL_OR;
	}
	if (c == '&')
		return SHELL_SEQUENCE;
	if (next == '&')
		lexer->at++;
	return SHELL_PIPE;
}

/* Read the ends of subshells, and what joins them to what follows. */
static ShellEnd
read_closing(ShellLexer *lexer, ShellCommand *command)
{
	while (peek(lexer, 0) == ')' && lexer->depth > 0)
	{
		lexer->at++;
		lexer->depth--;
		command->closes++;
		skip_blanks(lexer);
	}
	if (peek(lexer, 0) == '|' || (peek(lexer, 0) == '&' && peek(lexer, 1) != '>'))
		return read_operator(lexer, *lexer->at);
	return SHELL_SEQUENCE;
}

/* Read a separator.  True if it ends the command, with *end; false if the command continues. */
static bool
read_separator(ShellLexer *lexer, ShellCommand *command, char c, ShellEnd *end)
{
	*end = SHELL_SEQUENCE;
	switch (c)
	{
		case '\n':
			lexer->at++;
			read_heredocs(lexer);
			return true;
		case ';':
			lexer->at++;
			return true;
		case '&':
		case '|':
			if (c == '&' && peek(lexer, 1) == '>')
				return false;
			*end = read_operator(lexer, c);
			return true;
		case ')':
			if (lexer->depth > 0 && lexer->depth != lexer->case_depth)
			{
				*end = read_closing(lexer, command);
				return true;
			}
			lexer->at++;
			if (lexer->case_depth >= 0)
				*end = SHELL_PATTERN;
			return true;
		default:
			return false;
	}
}

static void
skip_comment(ShellLexer *lexer)
{
	const char *newline = memchr(lexer->at, '\n', lexer->end - lexer->at);

	lexer->at = newline ? newline : lexer->end;
}

/* The next simple command of the script; false when there is no more. */
bool
shell_next(ShellLexer *lexer, ShellCommand *command)
{
	CHECK_FOR_INTERRUPTS();
	if (command->keep)
		initStringInfo(&command->text);
	else
		resetStringInfo(&command->text);
	command->n_words = 0;
	command->substitution = span_none();
	for (int i = 0; i < N_SHELL_FILES; i++)
		command->files[i].offset = -1;
	command->append = command->defines_function = command->keep = false;
	command->heredoc = command->opens = command->closes = 0;

	for (;;)
	{
		ShellEnd	end;
		char		c;

		skip_blanks(lexer);
		if (lexer->at >= lexer->end)
			return finish(command, SHELL_END);
		c = *lexer->at;
		if (read_separator(lexer, command, c, &end))
		{
			if (finish(command, end))
				return true;
		}
		else if (c == '#')
			skip_comment(lexer);
		else if (c == '(')
		{
			if (read_bracket(lexer, command))
				return finish(command, SHELL_SEQUENCE);
		}
		else if ((c == '<' || c == '>') && peek(lexer, 1) == '(')
			read_process_substitution(lexer, command);
		else if (c == '<' || c == '>' || c == '&')
			read_redirection(lexer, command, c == '<' ? 0 : 1);
		else
			read_plain(lexer, command);
	}
}
