/*
 * messages.h
 *		What messages say.
 */
#ifndef STEPADV_MESSAGES_H
#define STEPADV_MESSAGES_H

#include "import/conversation.h"

/* Messages, as items of the conversation. */
extern void hear_messages(Conversation *talk, const JsonbValue *messages, int n);

/* Is it the model that speaks? */
extern bool is_of_model(const JsonbValue *message);

#endif							/* STEPADV_MESSAGES_H */
