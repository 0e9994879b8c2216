/*
 * conversation.h
 *		A conversation, item by item, and what steps it is.
 */
#ifndef STEPADV_CONVERSATION_H
#define STEPADV_CONVERSATION_H

#include "import/json_read.h"

/* From SEE to SAY what is said to the model, from SAY on what it does itself. */
typedef enum Kind
{
	SEE,						/* or whatever else does not act */
	RESULT,
	SAY,
	THINK,
	CALL
} Kind;

typedef struct TalkItem
{
	Kind		kind;
	int			turn;
	Words		words;
	Words		id;				/* of a call, or of what is its result */
	JsonbValue	tool;			/* of a call; null: it has none */
	JsonbValue	args;
	JsonbValue	ok;				/* of a result, where the source says it; null: it reads like one or not */
} TalkItem;

/* Counts by kind, in the order in which the kinds came. */
#define MAX_COUNTS 64

typedef struct Counts
{
	int			n;
	Words		what[MAX_COUNTS];
	int64		count[MAX_COUNTS];
} Counts;

/* Zeroed, it is a conversation without a word. */
typedef struct Conversation
{
	TalkItem   *items;
	int			n;
	int			n_allocated;
	Counts		dropped;
	Counts		repaired;
	JsonWriter steps;
	Words		seen;			/* in the turn before */
} Conversation;

/* The next item; begins_turn: whatever the item before was. */
extern TalkItem *add_item(Conversation *talk, Kind kind, Words words, bool begins_turn);

/* Something that is not ours to keep. */
extern void note_dropped(Conversation *talk, Words what);

/* Something that was not as it should be. */
extern void note_repaired(Conversation *talk, Words what);

/* Arguments of a call as JSON; false: they are none. */
extern bool parse_arguments(const JsonbValue *raw, JsonbValue *args);

/* Members dropped and repaired of an object that is being written. */
extern void push_conversation_counts(JsonWriter *state, Conversation *talk);

/* The steps alone. */
extern Jsonb *steps_of_conversation(Conversation *talk);

/* Members steps, dropped and repaired of an object that is being written. */
extern void push_conversation(JsonWriter *state, Conversation *talk);

/* The function's result: the same as columns. */
extern Datum conversation_to_row(FunctionCallInfo fcinfo, Conversation *talk);

/* Is it JSON that jsonb can be made of without an error? */
extern bool is_plain_json(Words words);

#endif							/* STEPADV_CONVERSATION_H */
