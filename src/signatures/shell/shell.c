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
