/*
 * blocks.h
 *		Messages whose content is a list of typed blocks.
 */
#ifndef STEPADV_BLOCKS_H
#define STEPADV_BLOCKS_H

#include "import/conversation.h"

/* What a list of blocks says by itself: calls, results and thoughts not among it. */
extern Words words_of_blocks(const JsonbValue *content);

/* What the blocks of a message of the model think. */
extern Words thoughts_of_blocks(const JsonbValue *content);

/* Blocks that are calls of the model's: is there any, and as items. */
extern bool has_calling_blocks(const JsonbValue *content);
extern void hear_calling_blocks(Conversation *talk, const JsonbValue *content);

/* Blocks that are results of calls, as items; how many there are. */
extern int	hear_returned_blocks(Conversation *talk, const JsonbValue *content);

/* An item of the model's that calls a tool; members that are none are null. */
extern void hear_one_call(Conversation *talk, Words id, Words name, const JsonbValue *args);

/* An item that is a call's result; message: what says whether it failed. */
extern void hear_one_result(Conversation *talk, Words id, Words words, const JsonbValue *message);

#endif							/* STEPADV_BLOCKS_H */
