/*
 * messages.h
 *		What messages say.
 */
#ifndef STEPADV_MESSAGES_H
#define STEPADV_MESSAGES_H

#include "import/conversation.h"

/* Text of a content: a string, a list of parts, or nothing. */
extern Words words_of_content(const JsonbValue *content);
extern Words words_of_part(const JsonbValue *part);

/* False where a tool's result begins like an error or has an exit status other than 0. */
extern bool reads_well(Words result);

/* One text below another; one that is NULL is none. */
extern void add_line(StringInfo lines, bool *any, Words words);

/* Messages, as items of the conversation. */
extern void hear_messages(Conversation *talk, const JsonbValue *messages, int n);

/* Is it the model that speaks? */
extern bool is_of_model(const JsonbValue *message);

#endif							/* STEPADV_MESSAGES_H */
