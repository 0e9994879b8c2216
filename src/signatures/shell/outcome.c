/*
 * outcome.c
 *		Adds effects for the functions that read programs.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "signatures/shell/outcome.h"

Doing
set_outcome(Outcome *outcome, EffectCategory category, Span target, bool is_path)
{
	effects_add(outcome->effects, category, target, is_path);
	return DOES_ACT;
}

Doing
set_fileop(Outcome *outcome, Span verb, Span target)
{
	effects_add(outcome->effects, EFFECT_FILEOP, target, true)->verb = verb;
	return DOES_ACT;
}

/* A run of code, which identifies it if the call contains it. */
Doing
set_hashed(Outcome *outcome, Span name, Text code)
{
	set_outcome(outcome, EFFECT_EXECUTE, name, false);
	if (has_text(code))
		set_text(last_effect(outcome), code, TEXT_CONTENT);
	return DOES_ACT;
}

/* pytest's file::class::test: the file. */
Span
tested_file(Span target)
{
	int			colons = target.data ? span_find(target, "::") : -1;

	return colons >= 0 ? span_make(target.data, colons) : target;
}

/* Tests of a file or directory; of everything, if none is named. */
Doing
set_tests(Outcome *outcome, Span target)
{
	if (target.length == 0 || span_is(target, ".") || span_is(target, "./..."))
		return set_outcome(outcome, EFFECT_TEST, span_of("all"), false);
	return set_outcome(outcome, EFFECT_TEST, target, true);
}

/* Does an SQL statement, or a command of a client, only query? */
static bool
asks_in_sql(Span statement)
{
	static const char *const verbs[] = {"desc", "describe", "explain", "pragma", "select", "show", "values", "with", NULL};
	int			i;

	statement = span_trim(statement);
	if (statement.length == 0)
		return true;
	if (statement.data[0] == '.' || statement.data[0] == '\\')
		return !span_starts(statement, ".import") && !span_starts(statement, ".read") && !span_starts(statement, ".restore");
	for (i = 0; i < statement.length && ascii_lower(statement.data[i]) >= 'a' && ascii_lower(statement.data[i]) <= 'z'; i++)
		;
	statement.length = i;
	for (i = 0; verbs[i] != NULL; i++)
		if (span_is_caseless(statement, verbs[i]))
			return true;
	return false;
}

/* Classify SQL that is known: a search if all of it only queries, else the effect's content. */
static void
read_sql(Effect *effect)
{
	Span		rest = effect->new_text;
	bool		asks = true;

	while (asks && rest.length > 0)
	{
		const char *semicolon = memchr(rest.data, ';', rest.length);
		int			length = semicolon ? semicolon - rest.data : rest.length;

		CHECK_FOR_INTERRUPTS();
		asks = asks_in_sql(span_make(rest.data, length));
		rest = span_from(rest, Min(length + 1, rest.length));
	}
	effect->hashed = !asks;
	if (asks)
	{
		effect->category = EFFECT_SEARCH;
		if (!effect->is_path)
			effect->target = span_none();
	}
}

/* Set the text that is written or run.  Called again when a here-document has been read. */
void
set_text(Effect *effect, Text text, TextUse use)
{
	effect->use = use;
	effect->heredoc = text.heredoc;
	effect->new_text = text.span;
	effect->hashed = use == TEXT_CONTENT;
	if (use == TEXT_SQL && text.heredoc == 0)
		read_sql(effect);
}

/* Output goes to a file: a creation if the text is known and not appended, else a change. */
Doing
set_write(Outcome *outcome, Span file, bool append, Text text)
{
	Effect	   *effect;

	if (has_text(text) && !append)
		effect = effects_add(outcome->effects, EFFECT_CREATE, file, true);
	else
	{
		effect = effects_add(outcome->effects, EFFECT_MODIFY, file, true);
		effect->insert = append;
		if (has_text(text))
			set_text(effect, text, TEXT_CONTENT);
	}
	effect->writes = true;
	return DOES_ACT;
}

/* Repeat the last effect for each remaining operand. */
void
repeat_for_rest(Outcome *outcome, Operands *operands)
{
	int			at;

	while ((at = next_operand(operands)) < operands->command->n_words)
	{
		Effect		effect = *last_effect(outcome);

		effect.target = shell_word_span(operands->command, at);
		effects_repeat(outcome->effects, effect);
	}
}
