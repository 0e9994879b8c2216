/*
 * rewards.c
 *		The verifiable rewards of MT-GRPO, from the texts of a rollout.
 *
 * `messages` are the assistant's, in order; `replies`, of the same length, are the
 * environment's (NULL: no reply).  NULL messages are ignored.  Answers are compared
 * in lower case by Unicode's rules, regardless of the locale, and as plain text
 * without special characters.
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/formatting.h"

#include "parameters.h"
#include "rewards/markup.h"

PG_FUNCTION_INFO_V1(stepadv_reward_tool_execution);
PG_FUNCTION_INFO_V1(stepadv_reward_answer_in_results);
PG_FUNCTION_INFO_V1(stepadv_reward_answer_present);
PG_FUNCTION_INFO_V1(stepadv_reward_exact_match);
PG_FUNCTION_INFO_V1(stepadv_reward_xml_format);
PG_FUNCTION_INFO_V1(stepadv_reward_xml_tags);

#define WEIGHT_PARAMETER NUMBER_PARAMETER("weight", -INFINITY, INFINITY)

static const Parameter weight_parameters[] = {WEIGHT_PARAMETER};

/* The last argument of the functions without convention. */
static double
read_weight(FunctionCallInfo fcinfo)
{
	ParameterValue weight;

	read_parameters(fcinfo, PG_NARGS() - 1, weight_parameters, 1, &weight);
	return weight.number;
}

static Tag
tag_argument(FunctionCallInfo fcinfo, int arg, const char *name)
{
	return make_tag(name, text_to_cstring(PG_GETARG_TEXT_PP(arg)));
}

/* ----------
 * Messages
 * ----------
 */

typedef struct Dialogue
{
	int			n;
	text	  **messages;
	text	  **replies;		/* NULL: not needed */
} Dialogue;

static Dialogue
read_messages(FunctionCallInfo fcinfo)
{
	Dialogue	dialogue = {0};

	dialogue.messages = read_texts("messages", PG_GETARG_ARRAYTYPE_P(0), &dialogue.n);
	return dialogue;
}

static Dialogue
read_dialogue(FunctionCallInfo fcinfo)
{
	Dialogue	dialogue = read_messages(fcinfo);
	int			n;

	dialogue.replies = read_texts("replies", PG_GETARG_ARRAYTYPE_P(1), &n);
	if (n != dialogue.n)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("messages has %d elements, replies has %d", dialogue.n, n),
				 errhint("The reply of a message that nothing follows is NULL.")));
	return dialogue;
}

/* Does message i call a tool, and has a reply? */
static bool
is_tool_attempt(const Dialogue *dialogue, int i, const Tag *tool)
{
	char	   *message;
	bool		found;

	if (dialogue->messages[i] == NULL || dialogue->replies[i] == NULL)
		return false;
	message = text_to_cstring(dialogue->messages[i]);
	found = has_field(message, tool);
	pfree(message);
	return found;
}

static bool
ends_with(Span span, const char *suffix)
{
	int			length = (int) strlen(suffix);

	return span.length >= length && memcmp(span.data + span.length - length, suffix, length) == 0;
}

/* ----------
 * Answers
 * ----------
 */

/*
 * Answers are lower-cased only when compared, since the lower case of a word's last
 * letter may depend on the text around it.  NULLs among them accept nothing.
 */
static Span *
read_answers(FunctionCallInfo fcinfo, int arg, int *n)
{
	int			n_texts;
	text	  **texts = read_texts("answers", PG_GETARG_ARRAYTYPE_P(arg), &n_texts);
	Span	   *answers = palloc(Max(n_texts, 1) * sizeof(Span));

	*n = 0;
	for (int i = 0; i < n_texts; i++)
		if (texts[i] != NULL)
			answers[(*n)++] = span_make(VARDATA_ANY(texts[i]), VARSIZE_ANY_EXHDR(texts[i]));
	return answers;
}

/*
 * ICU's root collation has Unicode's full case mapping, as Python's lower().  Without ICU, or in an encoding
 * that ICU does not support, the database's collation is used.
 */
static Oid
lower_case_collation(void)
{
	Oid			root = InvalidOid;

	if (is_encoding_supported_by_icu(GetDatabaseEncoding()))
		root = get_collation_oid(list_make2(makeString("pg_catalog"), makeString("und-x-icu")), true);
	return OidIsValid(root) ? root : DEFAULT_COLLATION_OID;
}

/*
 * Is a text an accepted answer (whole), or does it contain one?  White space does not affect
 * lower case, so it can be stripped first.
 */
static bool
is_accepted(Span span, const Span *answers, int n_answers, bool whole)
{
	Oid			collation = lower_case_collation();
	Span		text = whole ? strip(span) : span;
	char	   *given = str_tolower(text.data, text.length, collation);
	bool		found = false;

	for (int i = 0; i < n_answers && !found; i++)
	{
		Span		answer = whole ? strip(answers[i]) : answers[i];
		char	   *accepted = str_tolower(answer.data, answer.length, collation);

		found = whole ? strcmp(given, accepted) == 0 : strstr(given, accepted) != NULL;
		pfree(accepted);
	}
	return found;
}

/* The answer of the last message that has one. */
static bool
find_last_answer(const Dialogue *dialogue, const Tag *tag, Span *answer)
{
	for (int i = dialogue->n; i-- > 0;)
	{
		char	   *message;

		if (dialogue->messages[i] == NULL)
			continue;
		message = text_to_cstring(dialogue->messages[i]);
		if (find_field(message, tag, answer))
			return true;
		pfree(message);
	}
	return false;
}

/* ----------
 * Rewards of turns
 * ----------
 */

/*
 * reward_tool_execution(messages, replies, tool_tag, result_tag, error_prefix, weight)
 *
 * weight times the share of tool calls whose reply has a result that does not begin
 * with the error prefix.
 */
Datum
stepadv_reward_tool_execution(PG_FUNCTION_ARGS)
{
	Dialogue	dialogue = read_dialogue(fcinfo);
	Tag			tool = tag_argument(fcinfo, 2, "tool_tag");
	Tag			result = tag_argument(fcinfo, 3, "result_tag");
	char	   *error_prefix = text_to_cstring(PG_GETARG_TEXT_PP(4));
	double		weight = read_weight(fcinfo);
	int			attempts = 0;
	int			successes = 0;

	for (int i = 0; i < dialogue.n; i++)
	{
		char	   *reply;
		Span		content;

		CHECK_FOR_INTERRUPTS();
		if (!is_tool_attempt(&dialogue, i, &tool))
			continue;
		attempts++;
		reply = text_to_cstring(dialogue.replies[i]);
		if (find_field(reply, &result, &content) &&
			(error_prefix[0] == '\0' || !span_starts(content, error_prefix)))
			successes++;
		pfree(reply);
	}
	PG_RETURN_FLOAT8(attempts == 0 ? 0 : weight * ((double) successes / attempts));
}

/*
 * reward_answer_in_results(messages, replies, answers, tool_tag, result_tag, weight)
 *
 * weight if an accepted answer occurs in the first result of a tool.
 */
Datum
stepadv_reward_answer_in_results(PG_FUNCTION_ARGS)
{
	Dialogue	dialogue = read_dialogue(fcinfo);
	Tag			tool = tag_argument(fcinfo, 3, "tool_tag");
	Tag			result = tag_argument(fcinfo, 4, "result_tag");
	double		weight = read_weight(fcinfo);
	int			n_answers;
	Span	   *answers = read_answers(fcinfo, 2, &n_answers);

	for (int i = 0; i < dialogue.n; i++)
	{
		char	   *reply;
		Span		content;

		CHECK_FOR_INTERRUPTS();
		if (!is_tool_attempt(&dialogue, i, &tool))
			continue;
		reply = text_to_cstring(dialogue.replies[i]);
		if (find_field(reply, &result, &content))
			PG_RETURN_FLOAT8(is_accepted(content, answers, n_answers, false) ? weight : 0);
		pfree(reply);
	}
	PG_RETURN_FLOAT8(0);
}

/* ----------
 * Rewards of the outcome
 * ----------
 */

static Datum
reward_last_answer(FunctionCallInfo fcinfo, bool whole)
{
	Dialogue	dialogue = read_messages(fcinfo);
	Tag			tag = tag_argument(fcinfo, 2, "answer_tag");
	double		weight = read_weight(fcinfo);
	int			n_answers;
	Span	   *answers = read_answers(fcinfo, 1, &n_answers);
	Span		answer;

	PG_RETURN_FLOAT8(find_last_answer(&dialogue, &tag, &answer) &&
					 is_accepted(answer, answers, n_answers, whole) ? weight : 0);
}

/* reward_answer_present(messages, answers, answer_tag, weight) */
Datum
stepadv_reward_answer_present(PG_FUNCTION_ARGS)
{
	return reward_last_answer(fcinfo, false);
}

/* reward_exact_match(messages, answers, answer_tag, weight) */
Datum
stepadv_reward_exact_match(PG_FUNCTION_ARGS)
{
	return reward_last_answer(fcinfo, true);
}

typedef enum MarkupRules
{
	RULES_OF_CODE,
	RULES_OF_CODE_LINES,		/* spacing: contents on lines of their own */
	RULES_OF_PAPER
} MarkupRules;

typedef double (*MessageScore) (const char *message, const Field *fields, int n_fields, MarkupRules rules);

/* The mean of a score over the messages, 0 if there are none. */
static double
mean_message_score(const Dialogue *dialogue, MessageScore score, const Field *fields, int n_fields, MarkupRules rules)
{
	double		sum = 0;
	int			n = 0;

	for (int i = 0; i < dialogue->n; i++)
	{
		char	   *message;

		CHECK_FOR_INTERRUPTS();
		if (dialogue->messages[i] == NULL)
			continue;
		message = text_to_cstring(dialogue->messages[i]);
		sum += score(message, fields, n_fields, rules);
		n++;
		pfree(message);
	}
	return n == 0 ? 0 : sum / n;
}

/* Is the content of a field on lines of its own? */
static bool
is_on_lines(Span raw)
{
	const char *start = raw.data;
	const char *end = raw.data + raw.length;

	while (start < end && (*start == ' ' || *start == '\t' || *start == '\r'))
		start++;
	while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	return start < end && *start == '\n' && end[-1] == '\n';
}

static bool
starts_with_any(Span span, const Field *field)
{
	for (int t = 0; t < field->n; t++)
		if (span_starts(span, field->tags[t].open))
			return true;
	return false;
}

static bool
ends_with_any(Span span, const Field *field)
{
	for (int t = 0; t < field->n; t++)
		if (ends_with(span, field->tags[t].close))
			return true;
	return false;
}

/* The fields of a message, as format_score needs them. */
typedef struct FieldsFound
{
	int			present;		/* fields of which any tag occurs */
	bool		any_parsed;
	bool		all_on_lines;	/* contents of parsed fields are on lines of their own */
	bool		all_tight;		/* no occurrence of a parsed field has white space at its ends */
} FieldsFound;

/* Do all occurrences of a field have no white space at the ends of their contents? */
static bool
is_tight(const char *message, const Tag *tag)
{
	Span		raw;

	for (const char *at = message; find_raw_field(at, tag, &raw); at = raw.data + raw.length)
	{
		CHECK_FOR_INTERRUPTS();
		if (strip(raw).length != raw.length)
			return false;
	}
	return true;
}

static void
find_fields(const char *message, const Field *fields, int n_fields, FieldsFound *found)
{
	*found = (FieldsFound) {.all_on_lines = true, .all_tight = true};
	for (int f = 0; f < n_fields; f++)
	{
		bool		is_present = false;

		for (int t = 0; t < fields[f].n; t++)
		{
			const Tag  *tag = &fields[f].tags[t];
			Span		raw;

			if (find_raw_field(message, tag, &raw))
			{
				found->any_parsed = is_present = true;
				found->all_on_lines = found->all_on_lines && is_on_lines(raw);
				found->all_tight = found->all_tight && is_tight(message, tag);
			}
			else if (strstr(message, tag->open) || strstr(message, tag->close))
				is_present = true;
		}
		found->present += is_present;
	}
}

static bool
is_spaced(const FieldsFound *found, MarkupRules rules)
{
	switch (rules)
	{
		case RULES_OF_CODE:
			return true;
		case RULES_OF_CODE_LINES:
			return found->any_parsed && found->all_on_lines;
		case RULES_OF_PAPER:
			return found->any_parsed && found->all_tight;
	}
	return false;				/* keep compiler quiet */
}

static double
format_score(const char *message, const Field *fields, int n_fields, MarkupRules rules)
{
	FieldsFound found;
	Span		stripped = strip(span_of(message));
	double		score = 0;

	find_fields(message, fields, n_fields, &found);
	if (found.any_parsed)
		score += rules == RULES_OF_PAPER ? 0.4 : 0.4 * found.present / n_fields;
	if (is_spaced(&found, rules))
		score += 0.2;
	if (starts_with_any(stripped, &fields[0]))
		score += 0.2;
	if (ends_with_any(stripped, &fields[n_fields - 1]))
		score += 0.2;
	return score;
}

#define MARKUP_CONVENTION_PARAMETER CHOICE_PARAMETER("convention", "code", "paper")
#define MARKUP_CONVENTION_PAPER 1

static const Parameter format_parameters[] = {
	CHOICE_PARAMETER("spacing", "always", "lines"), WEIGHT_PARAMETER, MARKUP_CONVENTION_PARAMETER
};

/*
 * reward_xml_format(messages, fields, spacing, weight, convention)
 *
 * Per message, 0.4 times the share of fields of which any tag occurs, if at least
 * one can be parsed, 0.2 for spacing, 0.2 for beginning with a tag of the first
 * field and 0.2 for ending with one of the last.  The public code always grants the
 * spacing, because its two ways of parsing are the same ('always').  According to
 * the paper, one field earns the 0.4, and spacing means that no field has white
 * space at its ends.
 */
Datum
stepadv_reward_xml_format(PG_FUNCTION_ARGS)
{
	ParameterValue values[lengthof(format_parameters)];
	Dialogue	dialogue = read_messages(fcinfo);
	int			n_fields;
	Field	   *fields = make_fields(PG_GETARG_ARRAYTYPE_P(1), &n_fields);

	MarkupRules rules;

	read_parameters(fcinfo, 2, format_parameters, lengthof(format_parameters), values);
	rules = values[2].choice == MARKUP_CONVENTION_PAPER ? RULES_OF_PAPER :
		values[0].choice == 1 ? RULES_OF_CODE_LINES : RULES_OF_CODE;
	PG_RETURN_FLOAT8(values[1].number * mean_message_score(&dialogue, format_score, fields, n_fields, rules));
}

/*
 * The mean over the tags used: 1 if it opens (or closes) exactly once, less 1 for each
 * deviation.  According to the paper: the share of the tags used that open and close once.
 */
static double
tag_score(const char *message, const Field *fields, int n_fields, MarkupRules rules)
{
	int			score = 0;
	int			correct = 0;
	int			used = 0;

	for (int f = 0; f < n_fields; f++)
		for (int t = 0; t < fields[f].n; t++)
		{
			int			opened = count_occurrences(message, fields[f].tags[t].open);
			int			closed = count_occurrences(message, fields[f].tags[t].close);

			if (opened == 0 && closed == 0)
				continue;
			score += (1 - abs(opened - 1)) + (1 - abs(closed - 1));
			correct += opened == 1 && closed == 1;
			used++;
		}
	if (used == 0)
		return 0;
	return rules == RULES_OF_PAPER ? (double) correct / used : (double) score / (2 * used);
}

static const Parameter tags_parameters[] = {WEIGHT_PARAMETER, MARKUP_CONVENTION_PARAMETER};

/*
 * reward_xml_tags(messages, fields, weight, convention)
 *
 * weight times the mean over messages of the tags' scores, which can be negative for
 * a message; the mean is at least 0.
 */
Datum
stepadv_reward_xml_tags(PG_FUNCTION_ARGS)
{
	ParameterValue values[lengthof(tags_parameters)];
	Dialogue	dialogue = read_messages(fcinfo);
	int			n_fields;
	Field	   *fields = make_fields(PG_GETARG_ARRAYTYPE_P(1), &n_fields);
	double		mean;

	read_parameters(fcinfo, 2, tags_parameters, lengthof(tags_parameters), values);
	mean = mean_message_score(&dialogue, tag_score, fields, n_fields,
							  values[1].choice == MARKUP_CONVENTION_PAPER ? RULES_OF_PAPER : RULES_OF_CODE);
	PG_RETURN_FLOAT8(values[0].number * Max(mean, 0));
}
