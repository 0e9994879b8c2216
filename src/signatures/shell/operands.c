/*
 * operands.c
 *		Separates a command's operands from its options.
 *
 * To find the files of a program, it is enough to know which of its options take the next word as their
 * value.
 */
#include "postgres.h"

#include "signatures/shell/operands.h"

/* The index of the next word that is no option; n_words if there is none. */
int
next_operand(Operands *operands)
{
	const ShellCommand *command = operands->command;

	while (operands->at < command->n_words)
	{
		int			i = operands->at++;
		const char *word = shell_word(command, i);
		const char *letter;

		if (operands->ended || word[0] != '-')
			return i;
		if (word[1] == '\0')
			continue;			/* standard input */
		if (word[1] == '-')
		{
			if (word[2] == '\0')
				operands->ended = true;
			else if (strlen(word + 2) <= MAX_LISTED && is_listed(operands->options->names, ',', word + 2))
				operands->at++;
			continue;
		}
		for (letter = word + 1; *letter; letter++)
			if (strchr(operands->options->letters, *letter) != NULL)
			{
				if (letter[1] == '\0')
					operands->at++;
				break;
			}
	}
	operands->at = command->n_words;
	return command->n_words;
}

/* The index of the operand after `skip` others. */
int
operand_after(Operands *operands, int skip)
{
	while (skip-- > 0)
		next_operand(operands);
	return next_operand(operands);
}

/* The operand after `skip` others, of the words from `i` on. */
Span
operand_span(const ShellCommand *command, int i, const ValueOptions *options, int skip)
{
	Operands	operands = operands_of(command, i, options);

	return shell_word_span(command, operand_after(&operands, skip));
}

/* The last operand of the words from `i` on. */
Span
last_operand(const ShellCommand *command, int i, const ValueOptions *options)
{
	Operands	operands = operands_of(command, i, options);
	int			last = command->n_words;
	int			at;

	while ((at = next_operand(&operands)) < command->n_words)
		last = at;
	return shell_word_span(command, last);
}

/* The words from `i` on as one text. */
Span
words_joined(const ShellCommand *command, int i)
{
	char	   *text;
	int			start;
	int			length;

	if (i >= command->n_words)
		return span_make("", 0);
	start = command->words[i].offset;
	length = command->words[command->n_words - 1].offset + command->words[command->n_words - 1].length - start;
	text = palloc(length + 1);
	memcpy(text, command->text.data + start, length);
	for (int j = 0; j < length; j++)
		if (text[j] == '\0')
			text[j] = ' ';
	text[length] = '\0';
	return span_make(text, length);
}
