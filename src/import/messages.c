/*
 * messages.c
 *		Messages of the OpenAI chat interface as the items that conversation.c makes
 *		steps of, and what a message's content says.
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "import/json_read.h"
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
begin_item(JsonbParseState **state, const char *kind, Words words)
{
	pushJsonbValue(state, WJB_BEGIN_OBJECT, NULL);
	push_words(state, "kind", (Words) {kind, strlen(kind)});
	push_words(state, "text", words);
}

static void
push_item(JsonbParseState **state, const char *kind, Words words)
{
	begin_item(state, kind, words);
	pushJsonbValue(state, WJB_END_OBJECT, NULL);
}

/* What is NULL in SQL is left out, which is the same to who reads it. */
static void
push_call(JsonbParseState **state, const JsonbValue *call)
{
	JsonbValue	function;
	JsonbValue	member;
	bool		has_function = json_member(call, "function", &function);
	Words		name = has_function ? json_member_words(&function, "name") : NO_WORDS;

	pushJsonbValue(state, WJB_BEGIN_OBJECT, NULL);
	push_words(state, "kind", WORDS("call"));
	if (json_member(call, "id", &member))
		push_value(state, "id", &member);
	push_words(state, "tool", name.s != NULL ? name : json_member_words(call, "name"));
	if ((has_function && json_member(&function, "arguments", &member)) || json_member(call, "arguments", &member))
		push_value(state, "args", &member);
	pushJsonbValue(state, WJB_END_OBJECT, NULL);
}

static void
push_spoken(JsonbParseState **state, const JsonbValue *message, Words words)
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
	begin_item(state, "think", words_of_content(&thought));
	push_boolean(state, "new", true);
	pushJsonbValue(state, WJB_END_OBJECT, NULL);
	if (words.length > 0 || n == 0)
		push_item(state, "say", words);
	for (int i = 0; i < n; i++)
		push_call(state, &list[i]);
}

static void
push_message(JsonbParseState **state, const JsonbValue *message)
{
	Words		role = json_member_words(message, "role");
	JsonbValue	content;
	Words		words = json_member(message, "content", &content) ? words_of_content(&content) : NO_WORDS;

	if (words_are_one_of(role, told_by))
		push_item(state, "dropped", WORDS("system messages"));
	else if (words_are_one_of(role, seen_by))
		push_item(state, "see", words);
	else if (words_are_one_of(role, returned_by))
	{
		Words		id = json_member_words(message, "tool_call_id");

		begin_item(state, "result", words);
		push_words(state, "id", id.s != NULL ? id : json_member_words(message, "id"));
		pushJsonbValue(state, WJB_END_OBJECT, NULL);
	}
	else if (words_are_one_of(role, said_by))
		push_spoken(state, message, words);
	else
		push_item(state, "dropped", WORDS("messages of an unknown role"));
}

/* import_messages(messages jsonb) */
Datum
stepadv_import_messages(PG_FUNCTION_ARGS)
{
	JsonbParseState *state = NULL;
	JsonbValue	messages = json_root(PG_GETARG_JSONB_P(0));
	int			n;
	JsonbValue *list = json_elements(&messages, &n);

	pushJsonbValue(&state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		push_message(&state, &list[i]);
	}
	PG_RETURN_JSONB_P(JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_ARRAY, NULL)));
}
