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
	uint8		parts;			/* PART_… that some row has */
	uint8		lacking;		/* NULL_…: what some step lacks, */
	uint8		given;			/* and what some step has */
	uint16		has;			/* HAS_… of the value, but for what these say */
	uint8		n_rewards;		/* components, 0 as long as no row gave any */
	GroupUnit	unit;
	bool		forgiving;
	uint64		n_ties;			/* rows of the same place as the one before, in order */
	StepRow		last;			/* its narrow part, and the last turn that was given */
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

void
group_builder_forgive(GroupBuilder *builder)
{
	builder->forgiving = true;
}

/* What the steps alone will come to, so that nobody collects gigabytes in vain. */
static void
refuse_oversize(const GroupBuilder *builder)
{
	GroupShape	shape = {
		.n_rollouts = 1,
		.n_steps = builder->n_steps,
		.has = builder->n_rewards > 0 ? HAS_REWARDS : 0,
		.n_rewards = builder->n_rewards
	};
	Size		size = group_size(&shape);

	if (!AllocSizeIsValid(size))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("rollout group of " UINT64_FORMAT " steps or more would need more than %zu bytes, the limit is %zu",
						builder->n_steps, size, (Size) MaxAllocSize),
				 errhint("Fold fewer rollouts into one group, for example by grouping by policy version too.")));
}

static void
add_chunk(GroupBuilder *builder, Size room)
{
	Size		size = CHUNK_MIN_SIZE;
	RowChunk   *chunk;

	refuse_oversize(builder);
	while ((size * 4 <= builder->allocated && size < CHUNK_MAX_SIZE) ||
		   size < offsetof(RowChunk, rows) + room)
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

/* Which columns the value must have for this row. */
static inline void
note_columns(GroupBuilder *builder, const StepRow *row)
{
	if (row->parts != 0)
	{
		builder->parts |= row->parts;
		if (row->parts & PART_WIDE)
			note_wide(builder, row);
		if (row->parts & PART_EXTRA)
			note_extra(builder, row);
	}
	if (row->is_rollout)
	{
		if (!isnan(row->reward))
			builder->has |= HAS_OUTCOME;
		return;
	}
	builder->n_steps++;
	builder->lacking |= row->nulls;
	builder->given |= ~row->nulls;
}

void
group_builder_add(GroupBuilder *builder, const StepRow *row)
{
	Size		room = encoded_size_limit(row);

	if (builder->n_rows == 0 || builder->last.rollout_id != row->rollout_id)
		builder->n_rollouts++;
	if (builder->sorted && builder->n_rows > 0)
	{
		int			order = compare_rows(&builder->last, row);

		if (order > 0)
			builder->sorted = false;
		else if (order == 0)
			builder->n_ties++;
	}
	note_columns(builder, row);
	if (builder->tail == NULL || builder->tail->limit - builder->tail->end < room)
		add_chunk(builder, room);
	builder->tail->end = encode_step(builder->tail->end, row, &builder->last);
	memcpy(&builder->last, row, offsetof(StepRow, next_state));
	if ((row->parts & PART_EXTRA) && (row->nulls & NULL_TURN) == 0)
		builder->last.turn = row->turn;
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

/* What is said of another group as a whole becomes true of this one. */
static void
merge_shape(GroupBuilder *builder, uint8 n_rewards, GroupUnit unit, bool forgiving)
{
	static const char *const units[] = {"steps", "turns", "turns whose actions are sets"};

	if (builder->n_rows == 0)
		builder->unit = unit;
	else if (builder->unit != unit)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("groups of %s and groups of %s cannot be merged", units[builder->unit], units[unit]),
				 errhint("Merge the groups of steps, and call by_turn on the result.")));
	if (n_rewards > 0 && builder->n_rewards > 0 && n_rewards != builder->n_rewards)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("groups with %d and with %d reward components cannot be merged",
						builder->n_rewards, n_rewards)));
	builder->n_rewards = Max(builder->n_rewards, n_rewards);
	builder->forgiving |= forgiving;
}

void
group_builder_add_builder(GroupBuilder *builder, const GroupBuilder *other)
{
	RowWalk		walk = begin_walk(other);
	StepRow		row = row_before_first;

	if (other->n_rows > 0)
		merge_shape(builder, other->n_rewards, other->unit, other->forgiving);
	while (next_row(&walk, &row))
		group_builder_add(builder, &row);
}

/* The components of one step or rollout, that lie apart in a value. */
static const double *
gather_rewards(const double *columns, uint32 n_columns, uint32 length, uint32 position, double *rewards)
{
	bool		any = false;

	if (columns == NULL)
		return NULL;
	for (uint32 c = 0; c < n_columns; c++)
	{
		rewards[c] = columns[(uint64) c * length + position];
		any |= !isnan(rewards[c]);
	}
	return any ? rewards : NULL;
}

/*
 * What is known of a rollout as a whole travels in a row of its own; one without
 * steps needs that row to exist at all.
 */
static void
add_rollout_row(GroupBuilder *builder, const GroupColumns *group, uint32 rollout, StepRow *row)
{
	double		rewards[MAX_REWARDS];

	row->reward = group->outcome ? group->outcome[rollout] : NAN;
	row->success = group->success[rollout];
	row->defects = group->defects ? group->defects[rollout] : 0;
	row->rewards = gather_rewards(group->outcome_rewards, group->n_rewards, group->n_rollouts, rollout, rewards);
	if (isnan(row->reward) && row->success == SUCCESS_UNKNOWN && row->defects == 0 && row->rewards == NULL &&
		group->n_rollout_steps[rollout] > 0)
		return;
	row->is_rollout = true;
	row->nulls = NULLS_ALL;
	row->parts = row->defects != 0 || row->rewards != NULL ? PART_EXTRA : 0;
	group_builder_add(builder, row);
}

static inline void
take_wide_step(const GroupColumns *group, uint32 step, StepRow *row)
{
	row->next_state = group->next_state ? group->next_state[step] : 0;
	row->value = group->value ? group->value[step] : NAN;
	row->turn_reward = group->turn_reward ? group->turn_reward[step] : NAN;
	row->cost = group->cost ? group->cost[step] : NAN;
}

/* Unpack a value into rows again: what combining and rollup do. */
void
group_builder_add_group(GroupBuilder *builder, const RolloutGroup *value)
{
	GroupColumns opened;
	const GroupColumns *group = &opened;
	bool		is_wide;
	bool		has_extra;
	uint8		always_null;
	double		rewards[MAX_REWARDS];

	group_open(value, &opened);
	is_wide = group->next_state || group->value || group->turn_reward || group->cost;
	has_extra = group->turn || group->step_rewards;
	always_null = (group->next_state ? 0 : NULL_NEXT_STATE) | (group->turn ? 0 : NULL_TURN);
	if (group->n_rollouts > 0 || builder->n_rows == 0)
		merge_shape(builder, group->n_rewards, group->unit, group->forgiving);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		StepRow		row_space = {0};
		StepRow    *row = &row_space;

		row->rollout_id = group->rollout_id[r];
		row->n_rewards = group->n_rewards;
		add_rollout_row(builder, group, r, row);
		row->is_rollout = false;
		row->success = SUCCESS_UNKNOWN;
		row->defects = 0;
		row->parts = (is_wide ? PART_WIDE : 0) | (has_extra ? PART_EXTRA : 0);
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			row->step_id = group->step_id[i];
			row->step_no = group->step_no[i];
			row->state = group->state[i];
			row->action = group->action[i];
			row->reward = group->reward[i];
			row->nulls = (group->nulls ? group->nulls[i] : 0) | always_null;
			if (is_wide)
				take_wide_step(group, i, row);
			if (has_extra)
			{
				row->turn = group->turn ? group->turn[i] : 0;
				row->rewards = gather_rewards(group->step_rewards, group->n_rewards, group->n_steps, i, rewards);
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

/* What no row has is cut off from each. */
static RowPointer *
decode_and_sort(const GroupBuilder *builder)
{
	Size		stride = (builder->parts & PART_EXTRA) ? sizeof(StepRow) :
		(builder->parts & PART_WIDE) ? offsetof(StepRow, turn) : offsetof(StepRow, next_state);
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

/*
 * Rows that a forgiving value holds against their rollout: of one step but the
 * first, and further outcomes.
 */
typedef struct Repeated
{
	uint64		n_steps;
	uint64		n_outcomes;
} Repeated;

static void
find_repeated(const GroupBuilder *builder, const OrderedRows *rows, Repeated *repeated)
{
	OrderedRows walk = *rows;
	const StepRow *row;
	int64		rollout_id = 0;
	int32		step_no = 0;
	bool		has_outcome = false;
	bool		has_step = false;

	if (!builder->forgiving || (rows->sorted == NULL && builder->n_ties == 0))
		return;
	for (uint64 n = 0; (row = next_ordered_row(&walk)) != NULL; n++)
	{
		if (n == 0 || row->rollout_id != rollout_id)
			has_outcome = has_step = false;
		rollout_id = row->rollout_id;
		if (row->is_rollout && !isnan(row->reward))
		{
			repeated->n_outcomes += has_outcome;
			has_outcome = true;
		}
		if (row->is_rollout)
			continue;
		repeated->n_steps += has_step && row->step_no == step_no;
		step_no = row->step_no;
		has_step = true;
	}
}

static inline int
compare_bits(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(int64));
}

/*
 * Of two rows of one step the one with the lesser step_id stays, and of equal
 * ones any that the rows themselves decide, not the order in which they came.
 */
static bool
takes_place(const GroupColumns *group, uint32 step, const StepRow *row, uint8 known)
{
	bool		is_wide = (row->parts & PART_WIDE) != 0;
	uint8		nulls = group->nulls ? group->nulls[step] : 0;
	int			order = 0;

	if (group->step_id[step] != row->step_id)
		return row->step_id < group->step_id[step];
	if (nulls != (row->nulls & known))
		return (row->nulls & known) < nulls;
	if (group->state[step] != row->state)
		return row->state < group->state[step];
	if (group->action[step] != row->action)
		return row->action < group->action[step];
	order = compare_bits(&row->reward, &group->reward[step]);
	if (order == 0 && group->next_state)
		order = compare_bits(is_wide ? &row->next_state : &(int64) {0}, &group->next_state[step]);
	if (order == 0 && group->value)
		order = compare_bits(is_wide ? &row->value : &(double) {NAN}, &group->value[step]);
	if (order == 0 && group->turn_reward)
		order = compare_bits(is_wide ? &row->turn_reward : &(double) {NAN}, &group->turn_reward[step]);
	if (order == 0 && group->cost)
		order = compare_bits(is_wide ? &row->cost : &(double) {NAN}, &group->cost[step]);
	if (order == 0 && group->turn && (row->nulls & NULL_TURN) == 0)
		return row->turn < group->turn[step];
	return order < 0;
}

static void
begin_rollout(const GroupColumns *group, uint32 rollout, const StepRow *row)
{
	WRITABLE(int64, group->rollout_id)[rollout] = row->rollout_id;
	WRITABLE(uint32, group->n_rollout_steps)[rollout] = 0;
	WRITABLE(uint8, group->success)[rollout] = SUCCESS_UNKNOWN;
	if (group->outcome)
		WRITABLE(double, group->outcome)[rollout] = NAN;
	if (group->defects)
		WRITABLE(uint8, group->defects)[rollout] = 0;
	if (group->outcome_rewards)
		for (uint32 c = 0; c < group->n_rewards; c++)
			WRITABLE(double, group->outcome_rewards)[(uint64) c * group->n_rollouts + rollout] = NAN;
	CHECK_FOR_INTERRUPTS();
}

/* Each component may come from another row, as the outcome itself may. */
static void
fill_outcome(const GroupColumns *group, uint32 rollout, const StepRow *row)
{
	if (!isnan(row->reward))
	{
		double	   *outcome = WRITABLE(double, group->outcome) + rollout;

		if (isnan(*outcome))
			*outcome = row->reward;
		else if (!group->forgiving)
			refuse_duplicate(row);
		else
		{
			WRITABLE(uint8, group->defects)[rollout] |= DEFECT_OUTCOME;
			*outcome = Min(*outcome, row->reward);
		}
	}
	if ((row->parts & PART_EXTRA) == 0 || row->rewards == NULL)
		return;
	for (uint32 c = 0; c < group->n_rewards; c++)
	{
		double	   *reward = WRITABLE(double, group->outcome_rewards) + (uint64) c * group->n_rollouts + rollout;

		if (isnan(row_reward(row, c)))
			continue;
		if (!isnan(*reward) && !group->forgiving)
			refuse_duplicate(row);
		*reward = isnan(*reward) ? row_reward(row, c) : Min(*reward, row_reward(row, c));
	}
}

static void
fill_wide_step(const GroupColumns *group, uint32 step, const StepRow *row)
{
	bool		is_wide = (row->parts & PART_WIDE) != 0;

	if (group->next_state)
		WRITABLE(int64, group->next_state)[step] = is_wide ? row->next_state : 0;
	if (group->value)
		WRITABLE(double, group->value)[step] = is_wide ? row->value : NAN;
	if (group->turn_reward)
		WRITABLE(double, group->turn_reward)[step] = is_wide ? row->turn_reward : NAN;
	if (group->cost)
		WRITABLE(double, group->cost)[step] = is_wide ? row->cost : NAN;
}

static void
fill_extra_step(const GroupColumns *group, uint32 step, const StepRow *row)
{
	bool		has_rewards = (row->parts & PART_EXTRA) != 0 && row->rewards != NULL;

	if (group->turn)
		WRITABLE(int32, group->turn)[step] = (row->nulls & NULL_TURN) ? 0 : row->turn;
	if (group->step_rewards)
		for (uint32 c = 0; c < group->n_rewards; c++)
			WRITABLE(double, group->step_rewards)[(uint64) c * group->n_steps + step] =
				has_rewards ? row_reward(row, c) : NAN;
}

/* The NULL_… bits of a value with these columns: what all steps lack goes without saying. */
static inline uint8
known_nulls(uint16 has)
{
	return NULL_STATE | NULL_ACTION |
		((has & HAS_NEXT_STATE) ? NULL_NEXT_STATE : 0) | ((has & HAS_TURN) ? NULL_TURN : 0);
}

static GroupShape
finished_shape(const GroupBuilder *builder, const OrderedRows *rows)
{
	Repeated	repeated = {0};
	GroupShape	shape = {
		count_rollouts(builder, rows), builder->n_steps, builder->has, builder->n_rewards, builder->unit, builder->forgiving
	};

	find_repeated(builder, rows, &repeated);
	shape.n_steps -= repeated.n_steps;
	if (repeated.n_steps > 0 || repeated.n_outcomes > 0)
		shape.has |= HAS_DEFECTS;

	shape.has |= (builder->given & NULL_NEXT_STATE) ? HAS_NEXT_STATE : 0;
	shape.has |= (builder->given & NULL_TURN) ? HAS_TURN : 0;
	if ((builder->lacking & known_nulls(shape.has)) != 0)
		shape.has |= HAS_NULLS;
	if (shape.n_rewards > 0)
		shape.has |= HAS_REWARDS;
	return shape;
}

RolloutGroup *
group_builder_finish(const GroupBuilder *builder)
{
	OrderedRows rows;
	const StepRow *row;
	GroupShape	shape;
	GroupColumns group;
	RolloutGroup *datum;
	bool		has_wide;
	bool		has_extra;
	uint8		nulls;
	int64		rollout = -1;	/* position of the current one */
	uint32		first = 0;		/* its first step */
	uint32		step = 0;

	begin_ordered_rows(&rows, builder);
	shape = finished_shape(builder, &rows);
	datum = group_allocate(&shape, &group);
	has_wide = group.next_state || group.value || group.turn_reward || group.cost;
	has_extra = group.turn || group.step_rewards;
	nulls = known_nulls(shape.has);
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
		if (group.defects && (row->parts & PART_EXTRA))
			WRITABLE(uint8, group.defects)[rollout] |= row->defects;
		if (row->is_rollout)
		{
			fill_outcome(&group, rollout, row);
			continue;
		}
		if (step > first && group.step_no[step - 1] == row->step_no)
		{
			if (!group.forgiving)
				refuse_duplicate(row);
			WRITABLE(uint8, group.defects)[rollout] |= DEFECT_STEP;
			if (!takes_place(&group, step - 1, row, nulls))
				continue;
			step--;
		}
		WRITABLE(uint32, group.n_rollout_steps)[rollout] = step + 1 - first;
		WRITABLE(int64, group.step_id)[step] = row->step_id;
		WRITABLE(int32, group.step_no)[step] = row->step_no;
		WRITABLE(int64, group.state)[step] = row->state;
		WRITABLE(int64, group.action)[step] = row->action;
		WRITABLE(double, group.reward)[step] = row->reward;
		if (group.nulls)
			WRITABLE(uint8, group.nulls)[step] = row->nulls & nulls;
		if (has_wide)
			fill_wide_step(&group, step, row);
		if (has_extra)
			fill_extra_step(&group, step, row);
		step++;
	}
	if (rows.sorted)
		pfree(rows.sorted);
	group_seal(datum);
	return datum;
}
