/*
 * shell.c
 *		The lexer of shell.h: commands with their words and redirections.
 *
 * How a word is read is in shell_word.c, what << announces in shell_heredoc.c.
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

/* A subshell opens, or name() defines a function, which ends the command: true. */
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
		lexer->depth++;
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
			lexer->in_case = true;
		else if (strcmp(command->text.data + word.offset, "esac") == 0)
			lexer->in_case = false;
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

/* Something that may end a command, and how; false: the command goes on. */
static bool
read_separator(ShellLexer *lexer, char c, ShellEnd *end)
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
			lexer->at++;
			if (lexer->depth > 0)
				lexer->depth--;
			else if (lexer->in_case)
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
		if (read_separator(lexer, c, &end))
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
