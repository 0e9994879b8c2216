/*
 * verl_talk.h
 *		What was said in an output of verl's, with calls of tools and what came back.
 */
#ifndef STEPADV_VERL_TALK_H
#define STEPADV_VERL_TALK_H

#include "import/conversation.h"

#define CALL_BEGIN "<tool_call>"

/* An input and an output, as items of the conversation. */
extern void hear_verl(Conversation *talk, Words input, Words output);

#endif							/* STEPADV_VERL_TALK_H */
