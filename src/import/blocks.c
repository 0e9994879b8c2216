/*
 * blocks.c
 *		Messages whose content is a list of typed blocks: those of Anthropic's Messages
 *		interface ({"type": "tool_use", id, name, input}, {"type": "tool_result",
 *		tool_use_id, content, is_error}, {"type": "thinking", thinking}), and the parts
 *		of OpenTelemetry's GenAI messages ({"type": "tool_call", id, name, arguments},
 *		{"type": "tool_call_response", id, response}, {"type": "reasoning", content}).
 *
 * Tools that the provider runs are called and answered within one message of the
 * model's (server_tool_use, web_search_tool_result, …): by the endings of their types.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "import/blocks.h"
#include "import/words.h"

static const char *const thinking[] = {"thinking", "redacted_thinking", "reasoning", NULL};

/* Does the block's type end so? */
static bool
is_block(const JsonbValue *block, const char *ending)
{
	Words		type = json_member_words(block, "type");
	int			length = strlen(ending);

	return type.s != NULL && type.length >= length && memcmp(type.s + type.length - length, ending, length) == 0;
}

static bool
is_call(const JsonbValue *block)
{
	return is_block(block, "tool_use") || is_block(block, "tool_call");
}

static bool
is_result(const JsonbValue *block)
{
	return is_block(block, "tool_result") || is_block(block, "tool_call_response");
}

static bool
is_thought(const JsonbValue *block)
{
	return words_are_one_of(json_member_words(block, "type"), thinking);
}

/* The first member of these names that is there and not null. */
static bool
first_given(const JsonbValue *block, const char *const *names, JsonbValue *value)
{
	for (; *names != NULL; names++)
		if (json_member(block, *names, value) && value->type != jbvNull)
			return true;
	value->type = jbvNull;
	return false;
}

/* ----------
 * Items
 * ----------
 */

void
hear_one_call(Conversation *talk, Words id, Words name, const JsonbValue *args)
{
	TalkItem   *item = add_item(talk, CALL, NO_WORDS, false);

	item->id = id;
	if (name.s != NULL)
	{
		item->tool.type = jbvString;
		item->tool.val.string.val = (char *) name.s;
		item->tool.val.string.len = name.length;
	}
	item->args = *args;
}

void
hear_one_result(Conversation *talk, Words id, Words words, const JsonbValue *message)
{
	TalkItem   *item = add_item(talk, RESULT, words, false);
	JsonbValue	failed;

	item->id = id;
	if ((json_member(message, "is_error", &failed) && failed.type == jbvBool && failed.val.boolean) || words_are(json_member_words(message, "status"), "error"))
	{
		item->ok.type = jbvBool;
		item->ok.val.boolean = false;
	}
}

static Words
thought_of(const JsonbValue *block)
{
	static const char *const members[] = {"thinking", "content", "text", "reasoning", NULL};
	JsonbValue	thought;

	return first_given(block, members, &thought) ? words_of_content(&thought) : NO_WORDS;
}

/* ----------
 * Lists
 * ----------
 */

static Words
join_blocks(const JsonbValue *content, bool thoughts)
{
	StringInfoData lines;
	bool		any = false;
	int			n;
	JsonbValue *blocks = json_elements(content, &n);

	initStringInfo(&lines);
	for (int i = 0; i < n; i++)
	{
		/* Bytes of a picture are no words. */
		if (is_thought(&blocks[i]) != thoughts || is_call(&blocks[i]) || is_result(&blocks[i]) || is_block(&blocks[i], "blob"))
			continue;
		add_line(&lines, &any, thoughts ? thought_of(&blocks[i]) : words_of_part(&blocks[i]));
	}
	return any ? (Words) {lines.data, lines.len} : NO_WORDS;
}

Words
words_of_blocks(const JsonbValue *content)
{
	return join_blocks(content, false);
}

Words
thoughts_of_blocks(const JsonbValue *content)
{
	return join_blocks(content, true);
}

bool
has_calling_blocks(const JsonbValue *content)
{
	int			n;
	JsonbValue *blocks = json_elements(content, &n);

	for (int i = 0; i < n; i++)
		if (is_call(&blocks[i]))
			return true;
	return false;
}

void
hear_calling_blocks(Conversation *talk, const JsonbValue *content)
{
	static const char *const given_as[] = {"input", "arguments", NULL};
	int			n;
	JsonbValue *blocks = json_elements(content, &n);

	for (int i = 0; i < n; i++)
	{
		JsonbValue	args;

		CHECK_FOR_INTERRUPTS();
		if (!is_call(&blocks[i]))
			continue;
		(void) first_given(&blocks[i], given_as, &args);
		hear_one_call(talk, json_member_words(&blocks[i], "id"), json_member_words(&blocks[i], "name"), &args);
	}
}

int
hear_returned_blocks(Conversation *talk, const JsonbValue *content)
{
	static const char *const given_as[] = {"content", "response", "result", NULL};
	int			n;
	int			n_results = 0;
	JsonbValue *blocks = json_elements(content, &n);

	for (int i = 0; i < n; i++)
	{
		JsonbValue	result;
		Words		id;
		Words		words;

		CHECK_FOR_INTERRUPTS();
		if (!is_result(&blocks[i]))
			continue;
		id = json_member_words(&blocks[i], "tool_use_id");
		if (id.s == NULL)
			id = json_member_words(&blocks[i], "id");
		/* A tool may say nothing at all. */
		words = first_given(&blocks[i], given_as, &result) ? words_of_content(&result) : NO_WORDS;
		hear_one_result(talk, id, words.s != NULL ? words : WORDS(""), &blocks[i]);
		n_results++;
	}
	return n_results;
}
