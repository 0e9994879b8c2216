/*
 * trie.h
 *		A trie of token sequences, for the exact prefixes that prompts and responses share.
 *
 * A node represents the whole edge that leads to it, so there are at most two nodes
 * per sequence, however long it is; a sequence ends in a node.  Inserting a sequence
 * takes time linear in its tokens; those shared with the previous sequence, for steps
 * nearly all, are only compared.  The total number of tokens does not depend on the
 * order of insertion.
 */
#ifndef STEPADV_TOKENS_TRIE_H
#define STEPADV_TOKENS_TRIE_H

#include "nodes/pg_list.h"
#include "utils/palloc.h"

#define TRIE_ROOT 0

typedef struct TrieNode
{
	uint64		start;			/* of the edge that leads to it, in the trie's tokens */
	uint32		depth;			/* tokens from the root to its end */
	uint32		parent;
} TrieNode;

typedef struct TokenTrie
{
	MemoryContext context;
	TrieNode   *nodes;
	uint32		n_nodes;
	uint32		nodes_room;
	int32	   *tokens;			/* of all edges */
	uint64		n_tokens;
	uint64		tokens_room;
	struct ids_hash *children;	/* by node and first token of the edge; NULL: not created yet */
	int32	   *last;			/* the sequence inserted last, contiguous */
	uint32		n_last;
	uint32		last_room;
	uint32		last_node;		/* the node where it ends */
} TokenTrie;

/* A position in the trie: `missing` tokens before the end of a node's edge. */
typedef struct TriePlace
{
	uint32		node;
	uint32		missing;		/* tokens of its edge after the position */
	bool		fresh;			/* the node is a leaf created by this insertion */
} TriePlace;

extern void trie_init(TokenTrie *trie, MemoryContext context);
extern void trie_begin_sequence(TokenTrie *trie, TriePlace *place, const int32 *tokens, uint32 n);
extern void trie_continue_sequence(TokenTrie *trie, TriePlace *place, const int32 *tokens, uint32 n);
extern uint32 trie_end_sequence(TokenTrie *trie, TriePlace *place);
extern uint32 trie_shared_depth(const TokenTrie *trie, uint32 one, uint32 other);

static inline uint32
edge_length(const TokenTrie *trie, uint32 node)
{
	return trie->nodes[node].depth - trie->nodes[trie->nodes[node].parent].depth;
}

#endif							/* STEPADV_TOKENS_TRIE_H */
