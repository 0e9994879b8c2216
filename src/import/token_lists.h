/*
 * token_lists.h
 *		Arrays of tokens of a record, by the names that trainers use.
 */
#ifndef STEPADV_TOKEN_LISTS_H
#define STEPADV_TOKEN_LISTS_H

#include "import/json_read.h"

typedef enum TokenList
{
	PROMPT_TOKENS,
	RESPONSE_TOKENS,
	RESPONSE_MASK,
	LOGPROBS,
	N_TOKEN_LISTS
} TokenList;

/* A record without one has NULL elements there. */
typedef struct TokenLists
{
	JsonbValue *elements[N_TOKEN_LISTS];
	int			n[N_TOKEN_LISTS];
} TokenLists;

/* A mask of 0 and 1 is one of truths; anything else stays as it is, to be refused. */
extern TokenLists read_token_lists(const JsonbValue *record);

/* The lists as members of an object that is being written. */
extern void push_token_lists(JsonWriter *state, const TokenLists *lists);

/* Runs of true in the mask; *first and *end of the one that begins at or after *end. */
extern int	count_token_runs(const TokenLists *lists);
extern bool next_token_run(const TokenLists *lists, int *first, int *end);

/* Those of a run, and all before it as its prompt. */
extern void push_token_run(JsonWriter *state, const TokenLists *lists, int first, int end);

#endif							/* STEPADV_TOKEN_LISTS_H */
