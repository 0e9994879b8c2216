/*
 * verl_talk.c
 *		Calls of tools and their results inside an output of verl's, as chat templates of
 *		Hermes' kind write them, as the conversation that conversation.c makes steps of.
 *
 * A result stands between a call and the next word "assistant" on a line of its own, with
 * the template's marks or without them.
 */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "import/conversation.h"
#include "import/verl_talk.h"

#define CALL_END "</tool_call>"
#define RESULT_BEGIN "<tool_response>"
#define RESULT_END "</tool_response>"
#define MESSAGE_BEGIN "<|im_start|>"
#define MESSAGE_END "<|im_end|>"
#define OWN_WORD "assistant\n"

static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* What stands before one is no beginning of a word. */
static bool
is_of_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (unsigned char) c >= 128;
}

static char *
behind_spaces(char *s)
{
	while (is_space(*s))
		s++;
	return s;
}

static char *
behind_mark(char *s, const char *mark)
{
	return strncmp(s, mark, strlen(mark)) == 0 ? s + strlen(mark) : s;
}

static char *
before_spaces(char *begin, char *end)
{
	while (end > begin && is_space(end[-1]))
		end--;
	return end;
}

static char *
before_mark(char *begin, char *end, const char *mark)
{
	size_t		length = strlen(mark);

	return end - begin >= length && strncmp(end - length, mark, length) == 0 ? end - length : end;
}

/* Without the spaces and ends of lines around it. */
static Words
trimmed(char *begin, char *end)
{
	while (begin < end && (*begin == ' ' || *begin == '\n'))
		begin++;
	while (end > begin && (end[-1] == ' ' || end[-1] == '\n'))
		end--;
	return (Words) {begin, end - begin};
}

/* The next <tag>…</tag>: where it begins, what is in it and where it ends; NULL: none. */
static char *
next_block(char *s, const char *begin, const char *end, Words *content, char **rest)
{
	char	   *block = strstr(s, begin);
	char	   *close = block != NULL ? strstr(block + strlen(begin), end) : NULL;

	if (close == NULL)
		return NULL;
	content->s = block + strlen(begin);
	content->length = close - content->s;
	*rest = close + strlen(end);
	return block;
}

/* Up to the end of a call behind which something comes back, and what comes behind that. */
static char *
cut_chunk(char **rest)
{
	char	   *chunk = *rest;

	for (char *call = strstr(chunk, CALL_END); call != NULL; call = strstr(call, CALL_END))
	{
		char	   *who;

		call += strlen(CALL_END);
		who = behind_spaces(behind_mark(behind_spaces(behind_mark(behind_spaces(call), MESSAGE_END)), MESSAGE_BEGIN));
		*rest = behind_mark(who, *who == 'u' ? "user\n" : "tool\n");
		if (*rest > who)
		{
			*call = '\0';
			return chunk;
		}
	}
	*rest = NULL;
	return chunk;
}

/* Ends what came back where the model speaks again, which it gives; NULL: nowhere. */
static char *
cut_results(char *chunk)
{
	for (char *word = strstr(chunk, OWN_WORD); word != NULL; word = strstr(word + 1, OWN_WORD))
		if (word == chunk || !is_of_word(word[-1]))
		{
			char	   *said = word + strlen(OWN_WORD);
			char	   *end = before_spaces(chunk, before_mark(chunk, before_spaces(chunk, before_mark(chunk, word, MESSAGE_BEGIN)), MESSAGE_END));

			*end = '\0';
			return said;
		}
	return NULL;
}

/* One block for each call, or all that came back. */
static void
hear_results(Conversation *talk, char *back, int chunk)
{
	Words		content;
	char	   *s = back;
	int			n = 0;

	while (next_block(s, RESULT_BEGIN, RESULT_END, &content, &s) != NULL)
	{
		TalkItem   *item = add_item(talk, RESULT, trimmed((char *) content.s, (char *) content.s + content.length), false);

		item->id.s = psprintf("c%d.%d", chunk - 1, ++n);
		item->id.length = strlen(item->id.s);
	}
	if (n == 0)
	{
		TalkItem   *item = add_item(talk, RESULT, (Words) {back, strlen(back)}, false);

		item->id.s = psprintf("c%d.1", chunk - 1);
		item->id.length = strlen(item->id.s);
	}
}

static void
hear_call(Conversation *talk, Words content, int chunk, int n)
{
	TalkItem   *item = add_item(talk, CALL, NO_WORDS, false);
	JsonbValue	whole;

	item->id.s = psprintf("c%d.%d", chunk, n);
	item->id.length = strlen(item->id.s);
	item->args.type = jbvString;
	item->args.val.string.val = (char *) content.s;
	item->args.val.string.len = content.length;
	if (parse_arguments(&item->args, &whole))
	{
		(void) json_member(&whole, "name", &item->tool);
		if (json_member(&whole, "arguments", &item->args))
			return;
	}
	content = trimmed((char *) content.s, (char *) content.s + content.length);
	item->args.val.string.val = (char *) content.s;
	item->args.val.string.len = content.length;
}

/* What the model said, and its calls. */
static void
hear_said(Conversation *talk, char *said, int chunk)
{
	StringInfoData rest;
	Words		words;
	Words		content;
	char	   *s = said;
	char	   *block;
	char	   *next;
	char	   *end;
	int			n = 0;

	initStringInfo(&rest);
	for (; (block = next_block(s, CALL_BEGIN, CALL_END, &content, &next)) != NULL; s = next)
		appendBinaryStringInfo(&rest, s, block - s);
	appendStringInfoString(&rest, s);
	end = before_spaces(rest.data, rest.data + rest.len);
	words = trimmed(rest.data, before_mark(rest.data, end, MESSAGE_END) < end ? before_spaces(rest.data, before_mark(rest.data, end, MESSAGE_END)) : rest.data + rest.len);
	add_item(talk, words.length == 0 && strstr(said, CALL_BEGIN) != NULL ? THINK : SAY, words.length > 0 ? words : NO_WORDS, true);
	for (s = said; next_block(s, CALL_BEGIN, CALL_END, &content, &s) != NULL;)
		hear_call(talk, content, chunk, ++n);
}

void
hear_verl(Conversation *talk, Words input, Words output)
{
	char	   *rest = pnstrdup(output.s, output.length);

	add_item(talk, SEE, input, false);
	for (int chunk = 1; rest != NULL; chunk++)
	{
		char	   *said = cut_chunk(&rest);

		CHECK_FOR_INTERRUPTS();
		if (chunk == 1)
		{
			char	   *who = behind_mark(said, MESSAGE_BEGIN);

			if (behind_mark(who, OWN_WORD) > who)
				said = behind_mark(who, OWN_WORD);
		}
		else
		{
			char	   *back = said;

			said = cut_results(back);
			hear_results(talk, back, chunk);
		}
		if (said != NULL)
			hear_said(talk, said, chunk);
	}
}
