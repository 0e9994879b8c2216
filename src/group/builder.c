/*
 * builder.c
 *		Rows in any order to a finished rollout_group.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "compat.h"
#include "group/group.h"
#include "group/builder.h"
#include "group/codec.h"

/*
 * Encoded rows collect in a list of chunks that are never moved; no row spans
 * two.  A chunk is a quarter to half as large as all before it together, and a
 * power of two, which an allocator can hand out without waste.
 */
typedef struct RowChunk
{
	struct RowChunk *next;
	char	   *end;			/* of the rows */
	char	   *limit;			/* of the chunk */
	char		rows[FLEXIBLE_ARRAY_MEMBER];
} RowChunk;

#define CHUNK_MIN_SIZE	512
#define CHUNK_MAX_SIZE	((Size) 64 * 1024 * 1024)

struct GroupBuilder
{
	MemoryContext context;
	RowChunk   *head;
	RowChunk   *tail;
	uint64		n_rows;
	uint64		n_steps;		/* of them */
	uint64		n_rollouts;		/* as long as rows come in order */
	Size		allocated;
	bool		sorted;			/* rows have come in order so far */
	bool		has_wide;
	bool		lacks_next_state;	/* some step does */
	uint8		has;			/* HAS_… of the value */
	StepRow		last;			/* its narrow part */
};

/* What the first row is encoded against. */
static const StepRow row_before_first = {0};

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

typedef const StepRow *RowPointer;

#define ST_SORT sort_rows
#define ST_ELEMENT_TYPE RowPointer
#define ST_COMPARE(a, b) compare_rows(*(a), *(b))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

GroupBuilder *
group_builder_create(MemoryContext context)
{
	GroupBuilder *builder = MemoryContextAllocZero(context, sizeof(GroupBuilder));

	builder->context = context;
	builder->sorted = true;
	return builder;
}

/* What the steps alone will come to, so that nobody collects gigabytes in vain. */
static void
refuse_oversize(const GroupBuilder *builder)
{
	Size		size = group_size(1, builder->n_steps, 0);

	if (!AllocSizeIsValid(size))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("rollout group of " UINT64_FORMAT " steps or more would need more than %zu bytes, the limit is %zu",
						builder->n_steps, size, (Size) MaxAllocSize),
				 errhint("Fold fewer rollouts into one group, for example by grouping by policy version too.")));
}

static void
add_chunk(GroupBuilder *builder)
{
	Size		size = CHUNK_MIN_SIZE;
	RowChunk   *chunk;

	refuse_oversize(builder);
	while (size * 4 <= builder->allocated && size < CHUNK_MAX_SIZE)
		size *= 2;
	chunk = MemoryContextAlloc(builder->context, size);
	chunk->next = NULL;
	chunk->end = chunk->rows;
	chunk->limit = (char *) chunk + size;
	if (builder->tail == NULL)
		builder->head = chunk;
	else
		builder->tail->next = chunk;
	builder->tail = chunk;
	builder->allocated += size;
}

/* Which columns the value must have for this row. */
static inline void
note_columns(GroupBuilder *builder, const StepRow *row)
{
	if (row->is_rollout)
	{
		if (!isnan(row->reward))
			builder->has |= HAS_OUTCOME;
		return;
	}
	builder->n_steps++;
	if ((row->nulls & (NULL_STATE | NULL_ACTION)) != 0)
		builder->has |= HAS_NULLS;
	if ((row->nulls & NULL_NEXT_STATE) != 0)
		builder->lacks_next_state = true;
	else
		builder->has |= HAS_NEXT_STATE;
	if (row->is_wide)
	{
		builder->has_wide = true;
		if (!isnan(row->value))
			builder->has |= HAS_VALUE;
		if (!isnan(row->turn_reward))
			builder->has |= HAS_TURN_REWARD;
		if (!isnan(row->cost))
			builder->has |= HAS_COST;
	}
}

void
group_builder_add(GroupBuilder *builder, const StepRow *row)
{
	if (builder->n_rows == 0 || builder->last.rollout_id != row->rollout_id)
		builder->n_rollouts++;
	if (builder->sorted && builder->n_rows > 0 && compare_rows(&builder->last, row) > 0)
		builder->sorted = false;
	note_columns(builder, row);
	if (builder->tail == NULL || builder->tail->limit - builder->tail->end < MAX_ENCODED_STEP)
		add_chunk(builder);
	builder->tail->end = encode_step(builder->tail->end, row, &builder->last);
	memcpy(&builder->last, row, offsetof(StepRow, next_state));
	builder->n_rows++;
}

bool
group_builder_is_empty(const GroupBuilder *builder)
{
	return builder->n_rows == 0;
}

/* Walk the rows in the order they came: for (…; next_row(&walk, &row);) */
typedef struct RowWalk
{
	const RowChunk *chunk;
	const char *position;
} RowWalk;

static RowWalk
begin_walk(const GroupBuilder *builder)
{
	RowWalk		walk = {builder->head, builder->head ? builder->head->rows : NULL};

	return walk;
}

/* `row` must still hold the row before. */
static inline bool
next_row(RowWalk *walk, StepRow *row)
{
	while (walk->chunk != NULL && walk->position == walk->chunk->end)
	{
		walk->chunk = walk->chunk->next;
		walk->position = walk->chunk ? walk->chunk->rows : NULL;
		CHECK_FOR_INTERRUPTS();
	}
	if (walk->chunk == NULL)
		return false;
	walk->position = decode_step(walk->position, row, row);
	return true;
}

void
group_builder_add_builder(GroupBuilder *builder, const GroupBuilder *other)
{
	RowWalk		walk = begin_walk(other);
	StepRow		row = row_before_first;

	while (next_row(&walk, &row))
		group_builder_add(builder, &row);
}

/* Unpack a value into rows again: what combining and rollup do. */
void
group_builder_add_group(GroupBuilder *builder, const RolloutGroup *value)
{
	GroupColumns opened;
	const GroupColumns *group = &opened;
	bool		is_wide;

	group_open(value, &opened);
	is_wide = group->next_state || group->value || group->turn_reward || group->cost;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		double		outcome = group->outcome ? group->outcome[r] : NAN;
		StepRow		row_space = {0};
		StepRow    *row = &row_space;

		row->rollout_id = group->rollout_id[r];

		/*
		 * What is known of the rollout as a whole travels in a row of its own;
		 * one without steps needs that row to exist at all.
		 */
		if (!isnan(outcome) || group->success[r] != SUCCESS_UNKNOWN || group->n_rollout_steps[r] == 0)
		{
			row->is_rollout = true;
			row->reward = outcome;
			row->success = group->success[r];
			row->nulls = NULLS_ALL;
			group_builder_add(builder, row);
			row->is_rollout = false;
			row->success = SUCCESS_UNKNOWN;
		}
		row->is_wide = is_wide;
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			row->step_id = group->step_id[i];
			row->step_no = group->step_no[i];
			row->state = group->state[i];
			row->action = group->action[i];
			row->reward = group->reward[i];
			row->nulls = group->nulls ? group->nulls[i] : 0;
			if (group->next_state == NULL)
				row->nulls |= NULL_NEXT_STATE;
			if (is_wide)
			{
				row->next_state = group->next_state ? group->next_state[i] : 0;
				row->value = group->value ? group->value[i] : NAN;
				row->turn_reward = group->turn_reward ? group->turn_reward[i] : NAN;
				row->cost = group->cost ? group->cost[i] : NAN;
			}
			group_builder_add(builder, row);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

static void
refuse_duplicate(const StepRow *row)
{
	if (row->is_rollout)
		ereport(ERROR,
				(errcode(ERRCODE_CARDINALITY_VIOLATION),
				 errmsg("rollout " INT64_FORMAT " has two rows without a step_no that both carry a reward",
						row->rollout_id),
				 errhint("A row without a step_no stands for the rollout itself, whose outcome can be given once.")));
	ereport(ERROR,
			(errcode(ERRCODE_CARDINALITY_VIOLATION),
			 errmsg("rollout " INT64_FORMAT " has two rows for step %d", row->rollout_id, row->step_no),
			 errhint("Look for a join that multiplies rows, or for two rollouts that share a rollout_id.")));
}

/*
 * The rows in the order of the value: rollouts by id, steps by step_no.  Rows
 * that came so are decoded one by one; others all at once, to be sorted.
 */
typedef struct OrderedRows
{
	RowWalk		walk;
	StepRow		row;			/* where the walk is */
	RowPointer *sorted;			/* NULL: walk */
	uint64		position;
	uint64		n_rows;
} OrderedRows;

/* Without wide rows, what only they have is cut off from each. */
static RowPointer *
decode_and_sort(const GroupBuilder *builder)
{
	Size		stride = builder->has_wide ? sizeof(StepRow) : offsetof(StepRow, next_state);
	RowPointer *pointers = MemoryContextAllocHuge(CurrentMemoryContext,
												  builder->n_rows * (sizeof(RowPointer) + stride));
	char	   *rows = (char *) (pointers + builder->n_rows);
	RowWalk		walk = begin_walk(builder);
	StepRow		row = row_before_first;

	for (uint64 n = 0; next_row(&walk, &row); n++)
	{
		pointers[n] = (RowPointer) (rows + n * stride);
		memcpy(rows + n * stride, &row, stride);
	}
	sort_rows(pointers, builder->n_rows);
	return pointers;
}

static void
begin_ordered_rows(OrderedRows *rows, const GroupBuilder *builder)
{
	rows->walk = begin_walk(builder);
	rows->row = row_before_first;
	rows->sorted = builder->sorted ? NULL : decode_and_sort(builder);
	rows->position = 0;
	rows->n_rows = builder->n_rows;
}

static inline const StepRow *
next_ordered_row(OrderedRows *rows)
{
	if (rows->sorted == NULL)
		return next_row(&rows->walk, &rows->row) ? &rows->row : NULL;
	return rows->position < rows->n_rows ? rows->sorted[rows->position++] : NULL;
}

static uint64
count_rollouts(const GroupBuilder *builder, const OrderedRows *rows)
{
	uint64		n = 1;

	if (rows->sorted == NULL)
		return builder->n_rollouts;
	for (uint64 i = 1; i < rows->n_rows; i++)
		n += rows->sorted[i]->rollout_id != rows->sorted[i - 1]->rollout_id;
	return n;
}

/* Columns of a value being built, through which they may be written. */
#define WRITABLE(type, column) ((type *) (column))

static void
begin_rollout(const GroupColumns *group, uint32 rollout, const StepRow *row)
{
	WRITABLE(int64, group->rollout_id)[rollout] = row->rollout_id;
	WRITABLE(uint32, group->n_rollout_steps)[rollout] = 0;
	WRITABLE(uint8, group->success)[rollout] = SUCCESS_UNKNOWN;
	if (group->outcome)
		WRITABLE(double, group->outcome)[rollout] = NAN;
	CHECK_FOR_INTERRUPTS();
}

static void
fill_outcome(const GroupColumns *group, uint32 rollout, const StepRow *row)
{
	if (isnan(row->reward))
		return;
	if (!isnan(group->outcome[rollout]))
		refuse_duplicate(row);
	WRITABLE(double, group->outcome)[rollout] = row->reward;
}

static void
fill_wide_step(const GroupColumns *group, uint32 step, const StepRow *row)
{
	if (group->next_state)
		WRITABLE(int64, group->next_state)[step] = row->is_wide ? row->next_state : 0;
	if (group->value)
		WRITABLE(double, group->value)[step] = row->is_wide ? row->value : NAN;
	if (group->turn_reward)
		WRITABLE(double, group->turn_reward)[step] = row->is_wide ? row->turn_reward : NAN;
	if (group->cost)
		WRITABLE(double, group->cost)[step] = row->is_wide ? row->cost : NAN;
}

RolloutGroup *
group_builder_finish(const GroupBuilder *builder)
{
	uint8		has = builder->has |
		((builder->has & HAS_NEXT_STATE) != 0 && builder->lacks_next_state ? HAS_NULLS : 0);
	bool		has_wide = (has & ~(HAS_OUTCOME | HAS_NULLS)) != 0;
	uint8		known_nulls = (has & HAS_NEXT_STATE) ? NULLS_ALL : NULL_STATE | NULL_ACTION;
	OrderedRows rows;
	const StepRow *row;
	GroupColumns group;
	RolloutGroup *datum;
	int64		rollout = -1;	/* position of the current one */
	uint32		first = 0;		/* its first step */
	uint32		step = 0;

	begin_ordered_rows(&rows, builder);
	datum = group_allocate(count_rollouts(builder, &rows), builder->n_steps, has, &group);
	while ((row = next_ordered_row(&rows)) != NULL)
	{
		if (rollout < 0 || group.rollout_id[rollout] != row->rollout_id)
		{
			begin_rollout(&group, ++rollout, row);
			first = step;
		}
		/* The enum's order makes one row's true outweigh another's false. */
		if (row->success > group.success[rollout])
			WRITABLE(uint8, group.success)[rollout] = row->success;
		if (row->is_rollout)
		{
			fill_outcome(&group, rollout, row);
			continue;
		}
		if (step > first && group.step_no[step - 1] == row->step_no)
			refuse_duplicate(row);
		WRITABLE(uint32, group.n_rollout_steps)[rollout] = step + 1 - first;
		WRITABLE(int64, group.step_id)[step] = row->step_id;
		WRITABLE(int32, group.step_no)[step] = row->step_no;
		WRITABLE(int64, group.state)[step] = row->state;
		WRITABLE(int64, group.action)[step] = row->action;
		WRITABLE(double, group.reward)[step] = row->reward;
		if (group.nulls)
			WRITABLE(uint8, group.nulls)[step] = row->nulls & known_nulls;
		if (has_wide)
			fill_wide_step(&group, step, row);
		step++;
	}
	if (rows.sorted)
		pfree(rows.sorted);
	group_seal(datum);
	return datum;
}
