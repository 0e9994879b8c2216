/*
 * messages.c
 *		Messages of the OpenAI chat interface as the conversation that conversation.c
 *		makes steps of.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "import/blocks.h"
#include "import/conversation.h"
#include "import/messages.h"
#include "import/words.h"

PG_FUNCTION_INFO_V1(stepadv_import_messages);
PG_FUNCTION_INFO_V1(stepadv_import_message_items);

static const char *const told_by[] = {"system", "developer", NULL};
static const char *const seen_by[] = {"user", "human", "environment", "exit", NULL};
static const char *const returned_by[] = {"tool", "function", NULL};
static const char *const said_by[] = {"assistant", "ai", "gpt", "model", NULL};

/* ----------
 * Messages
 * ----------
 */

static void
hear_call(Conversation *talk, const JsonbValue *call)
{
	JsonbValue	function;
	JsonbValue	args;
	bool		has_function = json_member(call, "function", &function);
	Words		name = has_function ? json_member_words(&function, "name") : NO_WORDS;

	if (name.s == NULL)
		name = json_member_words(call, "name");
	if (!(has_function && json_member(&function, "arguments", &args)) && !json_member(call, "arguments", &args) && !json_member(call, "args", &args))
		args.type = jbvNull;
	hear_one_call(talk, json_member_words(call, "id"), name, &args);
}

static void
hear_model(Conversation *talk, const JsonbValue *message, const JsonbValue *content)
{
	bool		has_blocks = json_is_array(content);
	Words		words = has_blocks ? words_of_blocks(content) : words_of_content(content);
	JsonbValue	thought;
	JsonbValue	calls;
	JsonbValue *list = NULL;
	TalkItem   *item;
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
	item = add_item(talk, THINK, words_of_content(&thought), true);
	if (item->words.s == NULL && has_blocks)
		item->words = thoughts_of_blocks(content);
	/* A call needs no words. */
	if (words.length > 0 || (n == 0 && !(has_blocks && has_calling_blocks(content))))
		add_item(talk, SAY, words, false);
	for (int i = 0; i < n; i++)
		hear_call(talk, &list[i]);
	/* Some say the same in both places. */
	if (n == 0 && has_blocks)
		hear_calling_blocks(talk, content);
	if (has_blocks)
		(void) hear_returned_blocks(talk, content);
}

static void
hear_return(Conversation *talk, const JsonbValue *message, const JsonbValue *content)
{
	Words		id = json_member_words(message, "tool_call_id");

	/* Of one message there may be several. */
	if (id.s == NULL && json_is_array(content) && hear_returned_blocks(talk, content) > 0)
		return;
	if (id.s == NULL)
		id = json_member_words(message, "id");
	hear_one_result(talk, id, words_of_content(content), message);
}

static void
hear_user(Conversation *talk, const JsonbValue *content)
{
	Words		words;

	if (!json_is_array(content) || hear_returned_blocks(talk, content) == 0)
	{
		add_item(talk, SEE, words_of_content(content), false);
		return;
	}
	words = words_of_blocks(content);
	if (words.s != NULL)
		add_item(talk, SEE, words, false);
}

static void
hear_message(Conversation *talk, const JsonbValue *message)
{
	Words		role = json_member_words(message, "role");
	JsonbValue	content;

	/* Long, and only counted. */
	if (words_are_one_of(role, told_by))
	{
		note_dropped(talk, WORDS("system messages"));
		return;
	}
	if (!json_member(message, "content", &content) && !json_member(message, "parts", &content))
		content.type = jbvNull;
	if (words_are_one_of(role, seen_by))
		hear_user(talk, &content);
	else if (words_are_one_of(role, returned_by))
		hear_return(talk, message, &content);
	else if (words_are_one_of(role, said_by))
		hear_model(talk, message, &content);
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

/* The names that import_steps reads. */
static const char *
name_of_kind(Kind kind)
{
	switch (kind)
	{
		case SEE:
			return "see";
		case RESULT:
			return "result";
		case SAY:
			return "say";
		case THINK:
			return "think";
		default:
			return "call";
	}
}

static void
push_item(JsonWriter *state, TalkItem *item, bool is_new)
{
	const char *kind = name_of_kind(item->kind);

	push_json(state, WJB_BEGIN_OBJECT, NULL);
	push_words(state, "kind", (Words) {kind, strlen(kind)});
	if (item->kind == CALL)
	{
		push_value(state, "tool", &item->tool);
		push_value(state, "args", &item->args);
	}
	else
		push_words(state, "text", item->words);
	if (item->kind == CALL || item->kind == RESULT)
		push_words(state, "id", item->id);
	if (item->ok.type == jbvBool)
		push_value(state, "ok", &item->ok);
	if (is_new)
		push_boolean(state, "new", true);
	push_json(state, WJB_END_OBJECT, NULL);
}

/* import_message_items(messages jsonb): what import_steps takes */
Datum
stepadv_import_message_items(PG_FUNCTION_ARGS)
{
	Conversation talk = {0};
	JsonWriter	state = {0};
	JsonbValue	messages = json_root(PG_GETARG_JSONB_P(0));
	int			n;
	JsonbValue *list = json_elements(&messages, &n);

	push_json(&state, WJB_BEGIN_ARRAY, NULL);
	hear_messages(&talk, list, n);
	for (int i = 0; i < talk.n; i++)
		push_item(&state, &talk.items[i], talk.items[i].kind == THINK);
	for (int i = 0; i < talk.dropped.n; i++)
		for (int64 j = 0; j < talk.dropped.count[i]; j++)
		{
			push_json(&state, WJB_BEGIN_OBJECT, NULL);
			push_words(&state, "kind", WORDS("dropped"));
			push_words(&state, "text", talk.dropped.what[i]);
			push_json(&state, WJB_END_OBJECT, NULL);
		}
	PG_RETURN_JSONB_P(JsonbValueToJsonb(end_json(&state, WJB_END_ARRAY)));
}
