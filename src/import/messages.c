/*
 * messages.c
 *		Messages of the OpenAI chat interface as the conversation that conversation.c
 *		makes steps of, and what a message's content says.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "import/conversation.h"
#include "import/messages.h"

PG_FUNCTION_INFO_V1(stepadv_import_text);
PG_FUNCTION_INFO_V1(stepadv_import_ok);
PG_FUNCTION_INFO_V1(stepadv_import_messages);

static const char *const told_by[] = {"system", "developer", NULL};
static const char *const seen_by[] = {"user", "human", "environment", "exit", NULL};
static const char *const returned_by[] = {"tool", "function", NULL};
static const char *const said_by[] = {"assistant", "ai", "gpt", "model", NULL};

/* ----------
 * What a content says
 * ----------
 */

static Words
words_of_part(const JsonbValue *part)
{
	Words		words;

	if (part->type == jbvString)
		return json_words(part);
	words = json_member_words(part, "text");
	if (words.s == NULL)
		words = json_member_words(part, "refusal");
	if (words.s == NULL)
		words = json_member_words(part, "content");
	return words;
}

void
add_line(StringInfo lines, bool *any, Words words)
{
	if (words.s == NULL)
		return;
	if (*any)
		appendStringInfoChar(lines, '\n');
	appendBinaryStringInfo(lines, words.s, words.length);
	*any = true;
}

Words
words_of_content(const JsonbValue *content)
{
	Words		words;

	if (content->type == jbvString || content->type == jbvNull)
		return json_words(content);
	if (json_is_array(content))
	{
		StringInfoData lines;
		bool		any = false;
		int			n;
		JsonbValue *parts = json_elements(content, &n);

		initStringInfo(&lines);
		for (int i = 0; i < n; i++)
			add_line(&lines, &any, words_of_part(&parts[i]));
		return any ? (Words) {lines.data, lines.len} : NO_WORDS;
	}
	words = json_member_words(content, "text");
	return words.s != NULL ? words : json_words(content);
}

/* import_text(content jsonb) */
Datum
stepadv_import_text(PG_FUNCTION_ARGS)
{
	JsonbValue	content = json_root(PG_GETARG_JSONB_P(0));
	Words		words = words_of_content(&content);

	if (words.s == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(text_of_words(words));
}

/* ----------
 * Whether it reads like a failure
 * ----------
 */

static bool
matches(Words words, const char *pattern, bool ignore_case)
{
	return DatumGetBool(DirectFunctionCall2Coll(ignore_case ? texticregexeq : textregexeq, DEFAULT_COLLATION_OID,
												PointerGetDatum(text_of_words(words)), CStringGetTextDatum(pattern)));
}

bool
reads_well(Words result)
{
	Words		head = {result.s, pg_mbcharcliplen(result.s, result.length, 200)};
	int			first = 0;
	bool		is_any;

	/* A byte of more than ASCII may be a space as well: any pattern may hold. */
	while (first < head.length && isspace((unsigned char) head.s[first]))
		first++;
	is_any = first < head.length && IS_HIGHBIT_SET(head.s[first]);
	if ((is_any || (first < head.length && head.s[first] == '<')) && matches(head, "^\\s*<returncode>", false))
		return matches(head, "^\\s*<returncode>0</returncode>", false);
	if ((is_any || (first < head.length && head.s[first] == '{')) && matches(head, "^\\s*\\{", false) &&
		matches(result, "\"(exit_code|returncode)\": *-?[0-9]", false))
		return matches(result, "\"(exit_code|returncode)\": *0\\M", false);
	return !matches(head, "^[[:space:][({\"'<]*(error\\M|\\w*(error|exception):|traceback \\(most recent call last\\)|tool_use_error|command failed|fatal:|"
					"invalid action|could not find|no results\\M|the last page searched was not found)", true);
}

/* import_ok(result text) */
Datum
stepadv_import_ok(PG_FUNCTION_ARGS)
{
	text	   *result = PG_GETARG_TEXT_PP(0);

	PG_RETURN_BOOL(reads_well((Words) {VARDATA_ANY(result), VARSIZE_ANY_EXHDR(result)}));
}

/* ----------
 * Messages
 * ----------
 */

static void
hear_call(Conversation *talk, const JsonbValue *call)
{
	TalkItem   *item = add_item(talk, CALL, NO_WORDS, false);
	JsonbValue	function;
	JsonbValue	member;
	bool		has_function = json_member(call, "function", &function);
	Words		name = has_function ? json_member_words(&function, "name") : NO_WORDS;

	item->id = json_member_words(call, "id");
	if (name.s == NULL)
		name = json_member_words(call, "name");
	if (name.s != NULL)
	{
		item->tool.type = jbvString;
		item->tool.val.string.val = (char *) name.s;
		item->tool.val.string.len = name.length;
	}
	if ((has_function && json_member(&function, "arguments", &member)) || json_member(call, "arguments", &member))
		item->args = member;
}

static void
hear_model(Conversation *talk, const JsonbValue *message, Words words)
{
	JsonbValue	thought;
	JsonbValue	calls;
	JsonbValue *list = NULL;
	int			n = 0;

	if (json_member(message, "tool_calls", &calls) && json_is_array(&calls))
		list = json_elements(&calls, &n);
	else if (json_member(message, "function_call", &calls) && json_is_object(&calls))
	{
		list = &calls;
		n = 1;
	}
	if (!json_member(message, "reasoning_content", &thought) || thought.type == jbvNull)
		if (!json_member(message, "reasoning", &thought))
			thought.type = jbvNull;
	add_item(talk, THINK, words_of_content(&thought), true);
	if (words.length > 0 || n == 0)
		add_item(talk, SAY, words, false);
	for (int i = 0; i < n; i++)
		hear_call(talk, &list[i]);
}

static void
hear_message(Conversation *talk, const JsonbValue *message)
{
	Words		role = json_member_words(message, "role");
	JsonbValue	content;
	Words		words = NO_WORDS;

	/* Long, and only counted. */
	if (words_are_one_of(role, told_by))
	{
		note_dropped(talk, WORDS("system messages"));
		return;
	}
	if (json_member(message, "content", &content))
		words = words_of_content(&content);
	if (words_are_one_of(role, seen_by))
		add_item(talk, SEE, words, false);
	else if (words_are_one_of(role, returned_by))
	{
		TalkItem   *item = add_item(talk, RESULT, words, false);

		item->id = json_member_words(message, "tool_call_id");
		if (item->id.s == NULL)
			item->id = json_member_words(message, "id");
	}
	else if (words_are_one_of(role, said_by))
		hear_model(talk, message, words);
	else
		note_dropped(talk, WORDS("messages of an unknown role"));
}

bool
is_of_model(const JsonbValue *message)
{
	return words_are_one_of(json_member_words(message, "role"), said_by);
}

void
hear_messages(Conversation *talk, const JsonbValue *messages, int n)
{
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		hear_message(talk, &messages[i]);
	}
}

/* import_messages(messages jsonb, OUT steps jsonb, OUT dropped jsonb, OUT repaired jsonb) */
Datum
stepadv_import_messages(PG_FUNCTION_ARGS)
{
	Conversation talk = {0};
	JsonbValue	messages = json_root(PG_GETARG_JSONB_P(0));
	int			n;
	JsonbValue *list = json_elements(&messages, &n);

	hear_messages(&talk, list, n);
	PG_RETURN_DATUM(conversation_to_row(fcinfo, &talk));
}
