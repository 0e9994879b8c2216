/*
 * collected_rows.h
 *		The rows that a GroupBuilder has collected, encoded, in the order they came.
 */
#ifndef STEPADV_GROUP_COLLECTED_ROWS_H
#define STEPADV_GROUP_COLLECTED_ROWS_H

#include "miscadmin.h"

#include "group/builder.h"
#include "group/row_codec.h"

/*
 * Encoded rows collect in a list of chunks that are never moved; no row spans
 * two.  A chunk is a quarter to half as large as all before it together, and a
 * power of two, which an allocator can hand out without waste.  Of a memory for rows the last
 * chunk of all is made longer instead, and is as long as its rows when another group's turn comes.
 */
typedef struct RowChunk
{
	struct RowChunk *next;
	char	   *end;			/* of the rows */
	char	   *limit;			/* of the chunk */
	char		rows[FLEXIBLE_ARRAY_MEMBER];
} RowChunk;

struct GroupBuilder
{
	MemoryContext context;
	RowMemory  *memory;			/* that it shares with others, in the context; or NULL */
	RowChunk   *head;
	RowChunk   *tail;
	uint64		n_rows;
	uint64		n_steps;		/* of them */
	uint64		n_rollouts;		/* as long as rows come in order */
	Size		allocated;
	bool		sorted;			/* rows have come in order so far */
	uint8		parts;			/* PART_… that some row has */
	uint8		lacking;		/* NULL_…: what some step lacks, */
	uint8		given;			/* and what some step has */
	uint16		has;			/* HAS_… of the value, except for these */
	uint8		n_rewards;		/* components, 0 as long as no row gave any */
	GroupUnit	unit;
	bool		forgiving;
	uint64		n_ties;			/* rows of the same place as the one before, in order */
	StepRow		last;			/* its narrow part, and the last turn and policy_step that were given */
};

/* What the first row is encoded against. */
static const StepRow row_before_first = {0};

/* Have all rows the six columns of every value and no other? */
static inline bool
has_plain_rows(const GroupBuilder *builder)
{
	return builder->parts == 0 && builder->n_rewards == 0 && builder->n_steps == builder->n_rows &&
		(builder->lacking & (NULL_STATE | NULL_ACTION)) == 0;
}

/* Rollout rows sort before the steps of their rollout. */
static inline int
compare_rows(const StepRow *a, const StepRow *b)
{
	if (a->rollout_id != b->rollout_id)
		return a->rollout_id < b->rollout_id ? -1 : 1;
	if (a->is_rollout != b->is_rollout)
		return a->is_rollout ? -1 : 1;
	if (a->step_no != b->step_no)
		return a->step_no < b->step_no ? -1 : 1;
	return 0;
}

/* The usual case: the next step of the current rollout.  False: it belongs to another, and nothing was done. */
static inline bool
add_next_step(GroupBuilder *builder, const StepRow *row)
{
	StepRow    *last = &builder->last;
	RowChunk   *chunk = builder->tail;

	if (!is_plain_step(row) || builder->n_rows == 0 || row->rollout_id != last->rollout_id || last->is_rollout ||
		row->step_no <= last->step_no || chunk->limit - chunk->end < MAX_ENCODED_STEP)
		return false;
	chunk->end = encode_plain_step(chunk->end, row, last);
	last->step_id = row->step_id;
	last->step_no = row->step_no;
	builder->lacking |= PLAIN_NULLS;
	builder->given |= (uint8) ~PLAIN_NULLS;
	builder->n_steps++;
	builder->n_rows++;
	return true;
}

/* Walk the rows in the order they came: for (…; next_row(&walk, &row);) */
typedef struct RowWalk
{
	const RowChunk *chunk;
	const char *position;
} RowWalk;

/* So much of a chunk is fetched ahead; what follows, a processor sees coming by itself. */
#define CHUNK_AHEAD		512
#define CACHE_LINE		64

/*
 * Chunks of groups that were collected at the same time lie between each other.  That
 * one will be read is known long before.
 */
static inline void
fetch_chunk_ahead(const RowChunk *chunk)
{
	if (chunk != NULL)
		for (int line = 0; line < CHUNK_AHEAD; line += CACHE_LINE)
			__builtin_prefetch((const char *) chunk + line);
}

static inline RowWalk
begin_walk(const GroupBuilder *builder)
{
	RowWalk		walk = {builder->head, builder->head ? builder->head->rows : NULL};

	if (walk.chunk != NULL)
		fetch_chunk_ahead(walk.chunk->next);
	return walk;
}

/* `row` must still hold the row before.  Plain: all rows are, and only their columns are added. */
static pg_attribute_always_inline bool
next_row_of_kind(RowWalk *walk, StepRow *row, bool plain)
{
	while (walk->chunk != NULL && walk->position == walk->chunk->end)
	{
		walk->chunk = walk->chunk->next;
		walk->position = walk->chunk ? walk->chunk->rows : NULL;
		if (walk->chunk != NULL)
			fetch_chunk_ahead(walk->chunk->next);
		CHECK_FOR_INTERRUPTS();
	}
	if (walk->chunk == NULL)
		return false;
	walk->position = plain ? decode_plain_step(walk->position, row, row) : decode_step(walk->position, row, row);
	return true;
}

static inline bool
next_row(RowWalk *walk, StepRow *row)
{
	return next_row_of_kind(walk, row, false);
}

static inline bool
next_plain_row(RowWalk *walk, StepRow *row)
{
	return next_row_of_kind(walk, row, true);
}

#endif							/* STEPADV_GROUP_COLLECTED_ROWS_H */
