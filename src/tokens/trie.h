/*
 * trie.h
 *		A trie of token sequences: what several prompts and responses share, exactly.
 *
 * A node represents the whole edge that leads to it, so that there are no more
 * than two for every sequence, however long these are; a sequence ends in a node.
 * To insert a sequence costs its tokens: those that it has in common with the one
 * before, as a step has nearly all of them, no more than comparing them.  How many tokens there are in all nodes
 * does not depend on the order in which sequences came.
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
	struct ids_hash *children;	/* by node and first token of the edge; NULL: not made yet */
	int32	   *last;			/* the sequence that was inserted last, in one piece */
	uint32		n_last;
	uint32		last_room;
	uint32		last_node;		/* in which it ends */
} TokenTrie;

/* Position of an insertion: so many tokens of the edge before the end of a node. */
typedef struct TriePlace
{
	uint32		node;
	uint32		missing;		/* tokens of its edge that are not passed yet */
	bool		fresh;			/* the node was made by this insertion, and is a leaf */
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
