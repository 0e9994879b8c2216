/*
 * kept_messages.h
 *		A conversation as it was, beside its steps.
 */
#ifndef STEPADV_KEPT_MESSAGES_H
#define STEPADV_KEPT_MESSAGES_H

#include "import/conversation.h"

typedef struct KeptMessages
{
	JsonbValue *messages;
	int			n;
	const Conversation *talk;
	int		   *first_item;		/* of talk, by message, and one more: the number of its items */
} KeptMessages;

/* Messages as items of the conversation, and where each is. */
extern void hear_and_keep(Conversation *talk, JsonbValue *messages, int n, KeptMessages *kept);

/* Member messages of an object that is being written; false if there is nothing to keep. */
extern bool push_kept_messages(JsonWriter *state, const KeptMessages *kept);

#endif							/* STEPADV_KEPT_MESSAGES_H */
