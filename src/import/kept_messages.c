/*
 * kept_messages.c
 *		A conversation as it was, beside its steps: all messages with all members,
 *		ids of calls, the system's words and arguments to the letter.
 *
 * Most of it is in the steps already.  A content that is to the letter what a step
 * saw, or what it did, is left to it: {"observation": turn} or {"action": turn} stands
 * in its place, which no content of the chat interface looks like.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "import/kept_messages.h"
#include "import/messages.h"

/* Shorter texts are not worth looking for. */
#define LEAST_LENGTH 64

void
hear_and_keep(Conversation *talk, JsonbValue *messages, int n, KeptMessages *kept)
{
	kept->messages = messages;
	kept->n = n;
	kept->talk = talk;
	kept->first_item = ALLOCATE_ARRAY(int, (Size) n + 1);
	for (int i = 0; i < n; i++)
	{
		kept->first_item[i] = talk->n;
		hear_messages(talk, &messages[i], 1);
	}
	kept->first_item[n] = talk->n;
}

/* Is it all that was seen between two turns of the model's? */
static bool
is_all_seen(const Conversation *talk, int item)
{
	int			turn = talk->items[item].turn;
	int			last = talk->items[talk->n - 1].turn;

	if (talk->items[item].kind > RESULT || turn == last)
		return false;
	return (item == 0 || talk->items[item - 1].turn != turn || talk->items[item - 1].kind > RESULT) &&
		(item + 1 == talk->n || talk->items[item + 1].turn != turn);
}

/* Which column of a step has the content of this message; NULL: none. */
static const char *
find_column(const KeptMessages *kept, int message, const JsonbValue *content, int *turn)
{
	const Conversation *talk = kept->talk;
	int			first = kept->first_item[message];
	int			n = kept->first_item[message + 1] - first;

	if (content->type != jbvString || content->val.string.len < LEAST_LENGTH)
		return NULL;
	if (n == 1 && is_all_seen(talk, first))
	{
		*turn = talk->items[first].turn;
		return "observation";
	}
	/* Thought, even if there is none, and word: no calls. */
	if (n == 2 && talk->items[first].kind == THINK && talk->items[first + 1].kind == SAY)
	{
		*turn = talk->items[first].turn - 1;
		return "action";
	}
	return NULL;
}

static void
push_message(JsonWriter *state, const KeptMessages *kept, int message)
{
	JsonbIterator *it = JsonbIteratorInit(kept->messages[message].val.binary.data);
	JsonbIteratorToken token;
	JsonbValue	value;

	token = JsonbIteratorNext(&it, &value, true);
	push_json(state, WJB_BEGIN_OBJECT, NULL);
	while ((token = JsonbIteratorNext(&it, &value, true)) == WJB_KEY)
	{
		bool		is_content = words_are(json_words(&value), "content");
		const char *column;
		int			turn;

		push_json(state, WJB_KEY, &value);
		(void) JsonbIteratorNext(&it, &value, true);
		if (is_content && (column = find_column(kept, message, &value, &turn)) != NULL)
		{
			push_json(state, WJB_BEGIN_OBJECT, NULL);
			push_integer(state, column, turn);
			push_json(state, WJB_END_OBJECT, NULL);
		}
		else
			push_json(state, WJB_VALUE, &value);
	}
	push_json(state, WJB_END_OBJECT, NULL);
}

bool
push_kept_messages(JsonWriter *state, const KeptMessages *kept)
{
	JsonbValue	content;
	bool		any = false;

	for (int i = 0; i < kept->n; i++)
	{
		/* What looks like what stands for others could not be told from it. */
		if (!json_is_object(&kept->messages[i]) ||
			(json_member(&kept->messages[i], "content", &content) && json_is_object(&content)))
			return false;
		any |= is_of_model(&kept->messages[i]);
	}
	/* Without a step nothing needs it. */
	if (!any)
		return false;
	push_key(state, "messages");
	push_json(state, WJB_BEGIN_ARRAY, NULL);
	for (int i = 0; i < kept->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		push_message(state, kept, i);
	}
	push_json(state, WJB_END_ARRAY, NULL);
	return true;
}
