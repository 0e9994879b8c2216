#include "postgres.h"

#include "utils/memutils.h"

#include "group/collected_rows.h"

#define CHUNK_MIN_SIZE	512
#define OWN_MIN_SIZE	256		/* rollouts usually have one own row */
#define CHUNK_MAX_SIZE	((Size) 64 * 1024 * 1024)

GroupBuilder *
group_builder_create(MemoryContext context)
{
	GroupBuilder *builder = MemoryContextAllocZero(context, sizeof(GroupBuilder));

	builder->context = context;
	builder->sorted = true;
	return builder;
}

GroupBuilder *
group_builder_create_among(RowMemory *memory)
{
	GroupBuilder *builder = memset(take_row_memory(memory, sizeof(GroupBuilder)), 0, sizeof(GroupBuilder));

	builder->context = memory->context;
	builder->memory = memory;
	builder->sorted = true;
	return builder;
}

void
group_builder_set_lenient(GroupBuilder *builder)
{
	builder->lenient = true;
}

/* Checks the size of the steps alone, so that oversized input fails before all of it is collected. */
static void
refuse_oversize(const GroupBuilder *builder)
{
	GroupShape	shape = {
		.n_rollouts = 1,
		.n_steps = builder->n_steps,
		.has = builder->n_rewards > 0 ? HAS_REWARDS : 0,
		.n_rewards = builder->n_rewards
	};
	uint64		size = group_size(&shape);

	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("rollout group of " UINT64_FORMAT " steps or more would need more than " UINT64_FORMAT " bytes, the limit is %zu",
						builder->n_steps, size, (Size) MaxAllocSize),
				 errhint("Fold fewer rollouts into one group, for example by grouping by policy version too.")));
}

/* If rows come group by group, the last chunk is the last piece of the memory and can be extended. */
static bool
lengthen_last_chunk(GroupBuilder *builder, RowChunks *chunks, Size size)
{
	RowChunk   *chunk = chunks->tail;

	if (chunk == NULL || builder->memory == NULL || !move_row_memory_end(builder->memory, chunk->limit, chunk->limit + size))
		return false;
	chunk->limit += size;
	return true;
}

static void
add_chunk(GroupBuilder *builder, RowChunks *chunks, Size size, Size room)
{
	RowChunk   *chunk;

	refuse_oversize(builder);
	while ((size * 4 <= chunks->allocated && size < CHUNK_MAX_SIZE) ||
		   size < offsetof(RowChunk, rows) + room)
		size *= 2;
	chunks->allocated += size;
	if (lengthen_last_chunk(builder, chunks, size))
		return;
	chunk = builder->memory ? take_row_memory(builder->memory, size) : MemoryContextAlloc(builder->context, size);
	chunk->next = NULL;
	chunk->end = chunk->rows;
	chunk->limit = (char *) chunk + size;
	if (chunks->tail == NULL)
		chunks->head = chunk;
	else
		chunks->tail->next = chunk;
	chunks->tail = chunk;
}

static void
shorten_last_chunk(GroupBuilder *builder, RowChunk *chunk, Size least)
{
	char	   *end;

	if (chunk == NULL || builder->memory == NULL || chunk->end - chunk->rows < least / 2)
		return;
	end = (char *) MAXALIGN(chunk->end);
	if (end < chunk->limit && move_row_memory_end(builder->memory, chunk->limit, end))
		chunk->limit = end;
}

void
group_builder_pause(GroupBuilder *builder)
{
	shorten_last_chunk(builder, builder->steps.tail, CHUNK_MIN_SIZE);
	shorten_last_chunk(builder, builder->own.tail, OWN_MIN_SIZE);
}

static pg_noinline void
refuse_components(const StepRow *row, int others)
{
	if (row->is_rollout)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("rewards of rollout " INT64_FORMAT " have %d components, other rows of the group have %d",
						row->rollout_id, row->n_rewards, others),
				 errhint("Give every row of a group an array of the same length, with NULL for what it did not receive.")));
	ereport(ERROR,
			(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
			 errmsg("rewards of rollout " INT64_FORMAT ", step %d have %d components, other rows of the group have %d",
					row->rollout_id, row->step_no, row->n_rewards, others),
			 errhint("Give every row of a group an array of the same length, with NULL for what it did not receive.")));
}

static void
note_extra(GroupBuilder *builder, const StepRow *row)
{
	if (row->n_rewards > 0 && row->n_rewards != builder->n_rewards)
	{
		if (builder->n_rewards > 0)
			refuse_components(row, builder->n_rewards);
		builder->n_rewards = row->n_rewards;
	}
	if (row->defects != 0)
		builder->has |= HAS_DEFECTS;
	if (row->is_rollout && row->rewards != NULL)
		builder->has |= HAS_OUTCOME_REWARDS;
	if (row->truncated != TRUNCATION_UNKNOWN)
		builder->has |= HAS_TRUNCATED;
	if (row->has_policy_step)
		builder->has |= HAS_POLICY_STEP;
}

/* Remember what later rows with this part are encoded relative to. */
static inline void
remember_extra(GroupBuilder *builder, const StepRow *row)
{
	if ((row->nulls & NULL_TURN) == 0)
		builder->last.turn = row->turn;
	if (row->has_policy_step)
		builder->last.policy_step = row->policy_step;
}

static inline void
note_wide(GroupBuilder *builder, const StepRow *row)
{
	if (!isnan(row->value))
		builder->has |= HAS_VALUE;
	if (!isnan(row->turn_reward))
		builder->has |= HAS_TURN_REWARD;
	if (!isnan(row->cost))
		builder->has |= HAS_COST;
}

/* Record which columns the value must have for this row. */
static inline void
note_columns(GroupBuilder *builder, const StepRow *row)
{
	if (row->parts != 0)
	{
		if (row->parts & PART_WIDE)
			note_wide(builder, row);
		if (row->parts & PART_EXTRA)
			note_extra(builder, row);
		if ((row->parts & PART_POLICY) && !isnan(row->logp))
			builder->has |= HAS_LOGP;
	}
	if (row->is_rollout)
	{
		if (!isnan(row->reward))
			builder->has |= HAS_OUTCOME;
		return;
	}
	builder->parts |= row->parts;
	builder->lacking |= row->nulls;
	builder->given |= ~row->nulls;
}

/* A plain step after rollouts have alternated needs no further checks.  False: other row, not added. */
static inline bool
add_in_turn(GroupBuilder *builder, const StepRow *row)
{
	StepRow    *last = &builder->last;
	RowChunk   *chunk = builder->steps.tail;

	if (builder->sorted || !is_plain_step(row) || chunk->limit - chunk->end < MAX_ENCODED_STEP)
		return false;
	chunk->end = encode_plain_step(chunk->end, row, last);
	builder->n_rollouts += row->rollout_id != last->rollout_id;
	last->rollout_id = row->rollout_id;
	last->step_id = row->step_id;
	last->step_no = row->step_no;
	builder->lacking |= PLAIN_NULLS;
	builder->given |= (uint8) ~PLAIN_NULLS;
	builder->n_steps++;
	return true;
}

/* A chunk with room for a row after the existing ones. */
static RowChunk *
chunk_for_row(GroupBuilder *builder, RowChunks *chunks, Size size, const StepRow *row)
{
	Size		room = encoded_size_limit(row);

	if (chunks->tail == NULL || chunks->tail->limit - chunks->tail->end < room)
		add_chunk(builder, chunks, size, room);
	return chunks->tail;
}

static void
add_own_row(GroupBuilder *builder, const StepRow *row)
{
	RowChunk   *chunk;

	note_columns(builder, row);
	chunk = chunk_for_row(builder, &builder->own, OWN_MIN_SIZE, row);
	chunk->end = encode_step(chunk->end, row, &own_row_base);
	builder->n_own++;
}

void
group_builder_add(GroupBuilder *builder, const StepRow *row)
{
	RowChunk   *chunk;

	if (likely(add_next_step(builder, row)) || add_in_turn(builder, row))
		return;
	if (row->is_rollout)
	{
		add_own_row(builder, row);
		return;
	}
	if (builder->n_steps == 0 || builder->last.rollout_id != row->rollout_id)
		builder->n_rollouts++;
	if (builder->sorted && builder->n_steps > 0)
	{
		int			order = compare_steps(&builder->last, row);

		if (order > 0)
			builder->sorted = false;
		else if (order == 0)
			builder->n_ties++;
	}
	note_columns(builder, row);
	chunk = chunk_for_row(builder, &builder->steps, CHUNK_MIN_SIZE, row);
	chunk->end = encode_step(chunk->end, row, &builder->last);
	memcpy(&builder->last, row, offsetof(StepRow, next_state));
	if (row->parts & PART_EXTRA)
		remember_extra(builder, row);
	builder->n_steps++;
}

bool
group_builder_is_empty(const GroupBuilder *builder)
{
	return builder->n_steps == 0 && builder->n_own == 0;
}

void
group_builder_fetch_ahead(const GroupBuilder *builder)
{
	fetch_chunk_ahead(builder->steps.head);
	fetch_chunk_ahead(builder->own.head);
}
