/*
 * collected_rows.h
 *		The rows that a GroupBuilder has collected, encoded in order of arrival.
 */
#ifndef STEPADV_GROUP_COLLECTED_ROWS_H
#define STEPADV_GROUP_COLLECTED_ROWS_H

#include "miscadmin.h"

#include "group/builder.h"
#include "group/row_codec.h"

/*
 * Encoded rows are stored in a list of chunks that never move; no row spans two.  A chunk is a quarter to half
 * as large as all chunks before it, and a power of two, which an allocator returns without waste.  In a shared
 * RowMemory, the last chunk is extended instead while it is the last piece there, and trimmed to its rows when
 * another group follows.
 */
typedef struct RowChunk
{
	struct RowChunk *next;
	char	   *end;			/* of the rows */
	char	   *limit;			/* of the chunk */
	char		rows[FLEXIBLE_ARRAY_MEMBER];
} RowChunk;

typedef struct RowChunks
{
	RowChunk   *head;
	RowChunk   *tail;
	Size		allocated;
} RowChunks;

struct GroupBuilder
{
	MemoryContext context;
	RowMemory  *memory;			/* shared with other builders; or NULL */
	RowChunks	steps;			/* each encoded relative to the one before */
	RowChunks	own;			/* own rows of rollouts, which seldom follow each other: relative to own_row_base */
	uint64		n_steps;
	uint64		n_own;
	uint64		n_rollouts;		/* number of runs of steps of one rollout: of rollouts, if sorted */
	bool		sorted;			/* all steps so far came in order */
	uint8		parts;			/* PART_… bits that any step has */
	uint8		lacking;		/* NULL_… bits that any step has set, */
	uint8		given;			/* or has not set */
	uint16		has;			/* HAS_… bits of the value, except those that follow from these */
	uint8		n_rewards;		/* components; 0: no row had any */
	GroupUnit	unit;
	bool		lenient;
	uint64		n_ties;			/* steps equal in rollout and step_no to the one before */
	StepRow		last;			/* the last step up to next_state, and the last turn and policy_step of any */
};

/* What the first step, and every own row of a rollout, is encoded relative to. */
static const StepRow row_before_first = {0};
static const StepRow own_row_base = {.step_id = -1, .step_no = -1};

/* Do all steps have exactly the six columns of every value? */
static inline bool
has_plain_rows(const GroupBuilder *builder)
{
	return builder->parts == 0 && builder->n_rewards == 0 && (builder->lacking & (NULL_STATE | NULL_ACTION)) == 0;
}

static inline int
compare_steps(const StepRow *a, const StepRow *b)
{
	if (a->rollout_id != b->rollout_id)
		return a->rollout_id < b->rollout_id ? -1 : 1;
	if (a->step_no != b->step_no)
		return a->step_no < b->step_no ? -1 : 1;
	return 0;
}

/* The usual case: the next step of the current rollout.  False: it is not, and nothing was added. */
static inline bool
add_next_step(GroupBuilder *builder, const StepRow *row)
{
	StepRow    *last = &builder->last;
	RowChunk   *chunk = builder->steps.tail;

	if (!is_plain_step(row) || builder->n_steps == 0 || row->rollout_id != last->rollout_id ||
		row->step_no <= last->step_no || chunk->limit - chunk->end < MAX_ENCODED_STEP)
		return false;
	chunk->end = encode_plain_step(chunk->end, row, last);
	last->step_id = row->step_id;
	last->step_no = row->step_no;
	builder->lacking |= PLAIN_NULLS;
	builder->given |= (uint8) ~PLAIN_NULLS;
	builder->n_steps++;
	return true;
}

/* Iterates over steps in order of arrival: for (…; next_step(&walk, &row);) */
typedef struct RowWalk
{
	const RowChunk *chunk;
	const char *position;
} RowWalk;

/* How many bytes of a chunk to prefetch.  The processor's own prefetching covers the rest. */
#define CHUNK_AHEAD		512
#define CACHE_LINE		64

/*
 * Chunks of groups that are collected at the same time are interleaved in memory, but which one comes next is
 * known early.
 */
static inline void
fetch_chunk_ahead(const RowChunk *chunk)
{
	if (chunk != NULL)
		for (int line = 0; line < CHUNK_AHEAD; line += CACHE_LINE)
			__builtin_prefetch((const char *) chunk + line);
}

static inline RowWalk
begin_walk(const RowChunks *chunks)
{
	RowWalk		walk = {chunks->head, chunks->head ? chunks->head->rows : NULL};

	if (walk.chunk != NULL)
		fetch_chunk_ahead(walk.chunk->next);
	return walk;
}

/* Advance to the next row, if there is one. */
static pg_attribute_always_inline bool
find_next_row(RowWalk *walk)
{
	while (walk->chunk != NULL && walk->position == walk->chunk->end)
	{
		walk->chunk = walk->chunk->next;
		walk->position = walk->chunk ? walk->chunk->rows : NULL;
		if (walk->chunk != NULL)
			fetch_chunk_ahead(walk->chunk->next);
		CHECK_FOR_INTERRUPTS();
	}
	return walk->chunk != NULL;
}

/* *row must still hold the step before. plain: all steps are plain, and only plain columns are set. */
static pg_attribute_always_inline bool
next_step_of_kind(RowWalk *walk, StepRow *row, bool plain)
{
	if (!find_next_row(walk))
		return false;
	walk->position = plain ? decode_plain_step(walk->position, row, row) : decode_step(walk->position, row, row);
	return true;
}

static inline bool
next_step(RowWalk *walk, StepRow *row)
{
	return next_step_of_kind(walk, row, false);
}

static inline bool
next_plain_step(RowWalk *walk, StepRow *row)
{
	return next_step_of_kind(walk, row, true);
}

/* The same for own rows of rollouts. */
static inline bool
next_own_row(RowWalk *walk, StepRow *row)
{
	if (!find_next_row(walk))
		return false;
	walk->position = decode_step(walk->position, row, &own_row_base);
	return true;
}

#endif							/* STEPADV_GROUP_COLLECTED_ROWS_H */
