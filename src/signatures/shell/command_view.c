/*
 * command_view.c
 *		Filters that print lines of their files: head, tail, sed, awk.
 *
 * With -i, sed and awk change the files instead.
 */
#include "postgres.h"

#include "signatures/shell/invocation.h"
#include "signatures/shell/line_range.h"

/* awk: views the lines that its program selects; with -i inplace it changes the file. */
Doing
act_awk(Invocation *run, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	Operands	operands = invocation_operands(run);
	Span		program = shell_word_span(command, next_operand(&operands));
	Span		file = shell_word_span(command, next_operand(&operands));

	set_outcome(outcome, EFFECT_VIEW, file.data ? file : command->input, true);
	for (int i = run->at; i + 1 < command->n_words; i++)
		if (strcmp(shell_word(command, i), "inplace") == 0)
			last_effect(outcome)->category = EFFECT_MODIFY;
	if (program.data != NULL)
		awk_range(program, &outcome->lines);
	if (last_effect(outcome)->category == EFFECT_MODIFY)
		effect_set_content(last_effect(outcome), span_none(), program);
	repeat_for_rest(outcome, &operands);
	return DOES_ACT;
}

Doing
act_head_tail(Invocation *run, Outcome *outcome)
{
	Operands	operands = invocation_operands(run);
	Span		file = shell_word_span(run->command, next_operand(&operands));

	/* tail +5 FILE: an old form */
	if (file.length > 1 && file.data[0] == '+')
		file = shell_word_span(run->command, next_operand(&operands));
	set_outcome(outcome, EFFECT_VIEW, file.data ? file : run->command->input, true);
	head_tail_range(run->command, run->at, run->program->kind == PROGRAM_TAIL, &outcome->lines);
	repeat_for_rest(outcome, &operands);
	return DOES_ACT;
}

/*
 * Read sed's options of one letter, all in word *i, and advance *i to the value of the last.  Returns the
 * value of -e or -f, a piece of the script.
 */
static Span
sed_letters(const ShellCommand *command, int *i, bool *quiet, bool *in_place)
{
	const char *letter;

	for (letter = shell_word(command, *i) + 1; *letter; letter++)
	{
		switch (*letter)
		{
			case 'n':
				*quiet = true;
				break;
			case 'i':
				*in_place = true;
				/* The rest is a suffix; BSD's -i '' has an empty one. */
				if (letter[1] == '\0' && *i + 1 < command->n_words && command->words[*i + 1].length == 0)
					++*i;
				return span_none();
			case 'e':
			case 'f':
				return letter[1] != '\0' ? span_of(letter + 1) : shell_word_span(command, ++*i);
			default:
				break;
		}
	}
	return span_none();
}

/* The pieces of a script, one after another. */
typedef struct Pieces
{
	Span		script;			/* the only one, or all of them */
	StringInfoData joined;
} Pieces;

static void
add_piece(Pieces *pieces, Span piece)
{
	if (pieces->script.data == NULL)
	{
		pieces->script = piece;
		return;
	}
	if (pieces->joined.data == NULL)
	{
		initStringInfo(&pieces->joined);
		appendBinaryStringInfo(&pieces->joined, pieces->script.data, pieces->script.length);
	}
	appendStringInfoChar(&pieces->joined, '\n');
	appendBinaryStringInfo(&pieces->joined, piece.data, piece.length);
	pieces->script = span_make(pieces->joined.data, pieces->joined.len);
}

/*
 * Options give the script, in pieces, or it is the first operand; the other operands are files.  The name of a
 * script's file is used as its text, so that edits by different scripts differ.
 */
Doing
act_sed(Invocation *run, Outcome *outcome)
{
	const ShellCommand *command = run->command;
	Pieces		pieces = {span_none(), {NULL}};
	bool		quiet = false;
	bool		in_place = false;
	bool		has_script = false;
	int			n = outcome->effects->n;

	for (int i = run->at; i < command->n_words; i++)
	{
		const char *word = shell_word(command, i);
		Span		piece = span_none();

		if (word[0] == '-' && word[1] != '\0')
		{
			if (strncmp(word, "--in-place", 10) == 0)
				in_place = true;
			else if (strcmp(word, "--quiet") == 0 || strcmp(word, "--silent") == 0)
				quiet = true;
			else if (strncmp(word, "--expression", 12) == 0 || strncmp(word, "--file", 6) == 0)
				piece = strchr(word, '=') ? span_of(strchr(word, '=') + 1) : shell_word_span(command, ++i);
			else if (word[1] != '-')
				piece = sed_letters(command, &i, &quiet, &in_place);
		}
		else if (!has_script)
			piece = shell_word_span(command, i);
		else
			set_outcome(outcome, EFFECT_VIEW, shell_word_span(command, i), true);
		if (piece.data != NULL)
		{
			has_script = true;
			add_piece(&pieces, piece);
		}
	}
	if (outcome->effects->n == n)
		set_outcome(outcome, EFFECT_VIEW, in_place ? span_none() : command->input, true);
	for (int i = n; in_place && i < outcome->effects->n; i++)
	{
		outcome->effects->items[i].category = EFFECT_MODIFY;
		effect_set_content(&outcome->effects->items[i], span_none(), pieces.script);
	}
	if (!in_place && pieces.script.data != NULL)
		sed_range(pieces.script, quiet, &outcome->lines);
	return DOES_ACT;
}
