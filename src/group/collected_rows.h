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

typedef struct RowChunks
{
	RowChunk   *head;
	RowChunk   *tail;
	Size		allocated;
} RowChunks;

struct GroupBuilder
{
	MemoryContext context;
	RowMemory  *memory;			/* that it shares with others, in the context; or NULL */
	RowChunks	steps;			/* each encoded against the one before */
	RowChunks	own;			/* rows of rollouts themselves, which mostly come apart: encoded against own_row_base */
	uint64		n_steps;
	uint64		n_own;
	uint64		n_rollouts;		/* of steps, as long as these come in order */
	bool		sorted;			/* steps have come in order so far */
	uint8		parts;			/* PART_… that some step has */
	uint8		lacking;		/* NULL_…: what some step lacks, */
	uint8		given;			/* and what some step has */
	uint16		has;			/* HAS_… of the value, except for these */
	uint8		n_rewards;		/* components, 0 as long as no row gave any */
	GroupUnit	unit;
	bool		forgiving;
	uint64		n_ties;			/* steps of the same place as the one before, in order */
	StepRow		last;			/* step: its narrow part, and the last turn and policy_step that were given */
};

/* What the first step is encoded against, and what every row of a rollout itself. */
static const StepRow row_before_first = {0};
static const StepRow own_row_base = {.step_id = -1, .step_no = -1};

/* Have all steps the six columns of every value and no other? */
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

/* The usual case: the next step of the current rollout.  False: it belongs to another, and nothing was done. */
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

static inline void
group_builder_add_step(GroupBuilder *builder, const StepRow *row)
{
	if (!likely(add_next_step(builder, row)))
		group_builder_add(builder, row);
}

/* Walk the steps in the order they came: for (…; next_step(&walk, &row);) */
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
begin_walk(const RowChunks *chunks)
{
	RowWalk		walk = {chunks->head, chunks->head ? chunks->head->rows : NULL};

	if (walk.chunk != NULL)
		fetch_chunk_ahead(walk.chunk->next);
	return walk;
}

/* Is there another row?  Then the walk is at it. */
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

/* `row` must still hold the step before.  Plain: all are, and only their columns are added. */
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

/* The same of rows of rollouts themselves. */
static inline bool
next_own_row(RowWalk *walk, StepRow *row)
{
	if (!find_next_row(walk))
		return false;
	walk->position = decode_step(walk->position, row, &own_row_base);
	return true;
}

#endif							/* STEPADV_GROUP_COLLECTED_ROWS_H */
