#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "arrays.h"
#include "ids.h"
#include "tokens/trie.h"

/* Tokens per call of memcmp. */
#define STRIDE 64

/* A node and the first token of an edge to a child; all bits of both, so that keys identify edges. */
static inline int64
child_key(uint32 node, int32 token)
{
	return (int64) ((uint64) node << 32 | (uint32) token);
}

void
trie_init(TokenTrie *trie, MemoryContext context)
{
	*trie = (TokenTrie) {.context = context, .n_nodes = 1, .nodes_room = 16, .tokens_room = 256};
	trie->nodes = MemoryContextAllocZero(context, trie->nodes_room * sizeof(TrieNode));
	trie->tokens = MemoryContextAlloc(context, trie->tokens_room * sizeof(int32));
}

static void
append_tokens(TokenTrie *trie, const int32 *tokens, uint32 n)
{
	if (trie->n_tokens + n > trie->tokens_room)
	{
		trie->tokens_room = Max(trie->tokens_room * 2, trie->n_tokens + n);
		trie->tokens = repalloc_huge(trie->tokens, trie->tokens_room * sizeof(int32));
	}
	memcpy(trie->tokens + trie->n_tokens, tokens, n * sizeof(int32));
	trie->n_tokens += n;
}

static uint32
add_node(TokenTrie *trie, uint32 parent, uint64 start, uint32 depth)
{
	if (trie->n_nodes == trie->nodes_room)
	{
		if (trie->nodes_room > PG_UINT32_MAX / 2)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("too many steps to compare their tokens")));
		trie->nodes_room *= 2;
		trie->nodes = repalloc_huge(trie->nodes, trie->nodes_room * sizeof(TrieNode));
	}
	trie->nodes[trie->n_nodes] = (TrieNode) {.start = start, .depth = depth, .parent = parent};
	return trie->n_nodes++;
}

/* The entry for the child of a node; a new entry has the node TRIE_ROOT, which is never a child. */
static IdEntry *
child_entry(TokenTrie *trie, uint32 node, int32 token)
{
	bool		found;
	IdEntry    *child;

	if (trie->children == NULL)
		trie->children = ids_create(trie->context, 16, NULL);
	child = ids_insert(trie->children, child_key(node, token), &found);
	if (!found)
		child->number = TRIE_ROOT;
	return child;
}

/* The length of the common prefix. */
static uint32
common_prefix(const int32 *one, const int32 *other, uint32 n)
{
	uint32		i = 0;

	while (n - i >= STRIDE && memcmp(one + i, other + i, STRIDE * sizeof(int32)) == 0)
	{
		i += STRIDE;
		if (i % (STRIDE * 16384) == 0)
			CHECK_FOR_INTERRUPTS();
	}
	while (i < n && one[i] == other[i])
		i++;
	return i;
}

/* Return a node at the place, splitting its edge if needed. */
static uint32
trie_end(TokenTrie *trie, TriePlace *place)
{
	uint32		below = place->node;
	uint32		parent = trie->nodes[below].parent;
	uint32		depth = trie->nodes[below].depth - place->missing;
	uint64		start = trie->nodes[below].start;
	uint32		node;

	if (place->missing == 0)
		return below;
	node = add_node(trie, parent, start, depth);
	trie->nodes[below].start = start + (depth - trie->nodes[parent].depth);
	trie->nodes[below].parent = node;
	child_entry(trie, parent, trie->tokens[start])->number = node;
	child_entry(trie, node, trie->tokens[trie->nodes[below].start])->number = below;
	*place = (TriePlace) {.node = node};
	return node;
}

/* Add new tokens below a node, as a leaf. */
static void
add_leaf(TokenTrie *trie, TriePlace *place, IdEntry *child, const int32 *tokens, uint32 n)
{
	uint64		start = trie->n_tokens;

	append_tokens(trie, tokens, n);
	child->number = add_node(trie, place->node, start, trie->nodes[place->node].depth + n);
	*place = (TriePlace) {.node = child->number, .fresh = true};
}

/* Continue inserting a sequence at the place. */
static void
trie_insert(TokenTrie *trie, TriePlace *place, const int32 *tokens, uint32 n)
{
	while (n > 0)
	{
		uint32		common;

		if (place->missing == 0 && place->fresh)
		{
			/* The edge of a new leaf ends at the end of the tokens, so extend it. */
			append_tokens(trie, tokens, n);
			trie->nodes[place->node].depth += n;
			return;
		}
		if (place->missing == 0)
		{
			IdEntry    *child = child_entry(trie, place->node, tokens[0]);

			if (child->number == TRIE_ROOT)
			{
				add_leaf(trie, place, child, tokens, n);
				return;
			}
			place->node = child->number;
			place->missing = edge_length(trie, child->number);
		}
		common = common_prefix(trie->tokens + trie->nodes[place->node].start + (edge_length(trie, place->node) - place->missing),
							   tokens, Min(n, place->missing));
		if (common < Min(n, place->missing))
		{
			place->missing -= common;
			(void) trie_end(trie, place);
		}
		else
			place->missing -= common;
		tokens += common;
		n -= common;
	}
}

/* The place at the given depth on the path to a node. */
static TriePlace
place_above(const TokenTrie *trie, uint32 node, uint32 depth)
{
	while (trie->nodes[node].parent != node && trie->nodes[trie->nodes[node].parent].depth >= depth)
		node = trie->nodes[node].parent;
	return (TriePlace) {.node = node, .missing = trie->nodes[node].depth - depth};
}

/* Insert the first tokens of a sequence, starting where it differs from the previous one. */
void
trie_begin_sequence(TokenTrie *trie, TriePlace *place, const int32 *tokens, uint32 n)
{
	uint32		common = common_prefix(trie->last, tokens, Min(n, trie->n_last));

	*place = place_above(trie, trie->last_node, common);
	trie->n_last = common;
	trie_continue_sequence(trie, place, tokens + common, n - common);
}

/* Insert more tokens of the sequence. */
void
trie_continue_sequence(TokenTrie *trie, TriePlace *place, const int32 *tokens, uint32 n)
{
	uint64		length = (uint64) trie->n_last + n;

	if (length > trie->last_room)
	{
		trie->last_room = Max((uint64) trie->last_room * 2, length);	/* arrays of 1 GB at most: no overflow */
		trie->last = trie->last == NULL ? MemoryContextAllocHuge(trie->context, (Size) trie->last_room * sizeof(int32)) :
			repalloc_huge(trie->last, (Size) trie->last_room * sizeof(int32));
	}
	if (n > 0)
		memcpy(trie->last + trie->n_last, tokens, (Size) n * sizeof(int32));
	trie->n_last = length;
	trie_insert(trie, place, tokens, n);
}

/* Return the node of the sequence, where the next one may begin. */
uint32
trie_end_sequence(TokenTrie *trie, TriePlace *place)
{
	trie->last_node = trie_end(trie, place);
	return trie->last_node;
}

/*
 * The length of the common prefix of the sequences that end in two nodes: replace the
 * deeper node by its parent until both are the same.  Each edge has at least one token,
 * so this takes at most as many steps as there are tokens.
 */
uint32
trie_shared_depth(const TokenTrie *trie, uint32 one, uint32 other)
{
	while (one != other)
		if (trie->nodes[one].depth >= trie->nodes[other].depth)
			one = trie->nodes[one].parent;
		else
			other = trie->nodes[other].parent;
	return trie->nodes[one].depth;
}
