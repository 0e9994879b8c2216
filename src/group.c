/*
 * group.c
 *		Building, opening and checking rollout_group values.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "compat.h"
#include "group.h"
#include "step_codec.h"

/* ----------
 * Layout
 * ----------
 */

/*
 * Every column of the binary format in its order: name, type, its count, and
 * the HAS_ bit it depends on (0: always there).  8-byte columns come first, so
 * each is aligned without padding.
 */
#define GROUP_COLUMN_LIST(COLUMN) \
	COLUMN(rollout_id, int64, n_rollouts, 0) \
	COLUMN(outcome, double, n_rollouts, HAS_OUTCOME) \
	COLUMN(step_id, int64, n_steps, 0) \
	COLUMN(state, int64, n_steps, 0) \
	COLUMN(action, int64, n_steps, 0) \
	COLUMN(reward, double, n_steps, 0) \
	COLUMN(next_state, int64, n_steps, HAS_NEXT_STATE) \
	COLUMN(value, double, n_steps, HAS_VALUE) \
	COLUMN(turn_reward, double, n_steps, HAS_TURN_REWARD) \
	COLUMN(cost, double, n_steps, HAS_COST) \
	COLUMN(n_rollout_steps, uint32, n_rollouts, 0) \
	COLUMN(step_no, int32, n_steps, 0) \
	COLUMN(success, uint8, n_rollouts, 0) \
	COLUMN(nulls, uint8, n_steps, HAS_NULLS)

StaticAssertDecl(sizeof(RolloutGroup) == 16, "the columns start on an 8-byte boundary");

#define COLUMN_PRESENT(has, bit) ((bit) == 0 || ((has) & (bit)) != 0)

/* Bytes of a value with these counts. */
Size
group_size(uint64 n_rollouts, uint64 n_steps, uint8 has)
{
	uint64		size = sizeof(RolloutGroup);

#define COLUMN(name, type, count, bit) \
	if (COLUMN_PRESENT(has, bit)) \
		size += count * sizeof(type);
	GROUP_COLUMN_LIST(COLUMN)
#undef COLUMN
	return size;
}

/* Point the columns of `group` into `columns`. */
static void
point_columns(Group *group, char *columns, uint8 has)
{
	uint32		n_rollouts = group->n_rollouts;
	uint32		n_steps = group->n_steps;

#define COLUMN(name, type, count, bit) \
	if (COLUMN_PRESENT(has, bit)) \
	{ \
		group->name = (const type *) columns; \
		columns += count * sizeof(type); \
	} \
	else \
		group->name = NULL;
	GROUP_COLUMN_LIST(COLUMN)
#undef COLUMN
}

#ifdef WORDS_BIGENDIAN
static void
swap_column(char *column, uint32 count, size_t width)
{
	for (uint32 i = 0; i < count; i++, column += width)
	{
		if (width == 8)
			*(uint64 *) column = pg_bswap64(*(uint64 *) column);
		else if (width == 4)
			*(uint32 *) column = pg_bswap32(*(uint32 *) column);
	}
}

/* Turn all columns over, from native to little-endian or back. */
static void
swap_columns(char *columns, uint32 n_rollouts, uint32 n_steps, uint8 has)
{
#define COLUMN(name, type, count, bit) \
	if (COLUMN_PRESENT(has, bit)) \
	{ \
		swap_column(columns, count, sizeof(type)); \
		columns += count * sizeof(type); \
	}
	GROUP_COLUMN_LIST(COLUMN)
#undef COLUMN
}

#define LITTLE_ENDIAN_16(x) pg_bswap16(x)
#define LITTLE_ENDIAN_32(x) pg_bswap32(x)
#else
#define LITTLE_ENDIAN_16(x) (x)
#define LITTLE_ENDIAN_32(x) (x)
#endif

static void
set_first_steps(Group *group, int sqlerrcode)
{
	uint32	   *first_step = MemoryContextAllocHuge(CurrentMemoryContext,
													 ((Size) group->n_rollouts + 1) * sizeof(uint32));
	uint64		next = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		first_step[r] = (uint32) next;
		next += group->n_rollout_steps[r];
		if (next > group->n_steps)
			break;
	}
	if (next != group->n_steps)
		ereport(ERROR,
				(errcode(sqlerrcode),
				 errmsg("invalid rollout_group: the steps of its rollouts are not the %u steps it has",
						group->n_steps)));
	first_step[group->n_rollouts] = group->n_steps;
	group->first_step = first_step;
}

void
group_open_input(const RolloutGroup *datum, Group *group, int sqlerrcode)
{
	Size		size = VARSIZE(datum);
	uint8		has;

	if (size < sizeof(RolloutGroup))
		ereport(ERROR,
				(errcode(sqlerrcode),
				 errmsg("invalid rollout_group: %zu bytes are too few for a header", size)));
	if (datum->version != GROUP_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("rollout_group has version %d, this stepadv reads version %d",
						datum->version, GROUP_VERSION),
				 errhint("A value written by a newer stepadv needs that stepadv or a later one.")));

	memset(group, 0, sizeof(*group));
	group->n_rollouts = LITTLE_ENDIAN_32(datum->n_rollouts);
	group->n_steps = LITTLE_ENDIAN_32(datum->n_steps);
	has = datum->has;
	if ((has & ~HAS_ALL) != 0 || datum->reserved != 0 ||
		size != group_size(group->n_rollouts, group->n_steps, has))
		ereport(ERROR,
				(errcode(sqlerrcode),
				 errmsg("invalid rollout_group: %zu bytes do not hold %u rollouts and %u steps",
						size, group->n_rollouts, group->n_steps)));

#ifdef WORDS_BIGENDIAN
	{
		char	   *copy = palloc(size);

		memcpy(copy, datum, size);
		datum = (RolloutGroup *) copy;
		swap_columns(copy + sizeof(RolloutGroup), group->n_rollouts, group->n_steps, has);
	}
#endif
	point_columns(group, (char *) datum + sizeof(RolloutGroup), has);
	set_first_steps(group, sqlerrcode);
}

void
group_open(const RolloutGroup *datum, Group *group)
{
	group_open_input(datum, group, ERRCODE_DATA_CORRUPTED);
}

RolloutGroup *
group_allocate(uint64 n_rollouts, uint64 n_steps, uint8 has, Group *group)
{
	Size		size = group_size(n_rollouts, n_steps, has);
	RolloutGroup *datum;

	if (!AllocSizeIsValid(size))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("rollout group of " UINT64_FORMAT " rollouts and " UINT64_FORMAT " steps would need %zu bytes, the limit is %zu",
						n_rollouts, n_steps, size, (Size) MaxAllocSize),
				 errhint("Fold fewer rollouts into one group, for example by grouping by policy version too.")));
	datum = palloc(size);
	SET_VARSIZE(datum, size);
	datum->version = GROUP_VERSION;
	datum->has = has;
	datum->reserved = 0;
	datum->n_rollouts = LITTLE_ENDIAN_32(n_rollouts);
	datum->n_steps = LITTLE_ENDIAN_32(n_steps);

	memset(group, 0, sizeof(*group));
	group->n_rollouts = n_rollouts;
	group->n_steps = n_steps;
	point_columns(group, (char *) datum + sizeof(RolloutGroup), has);
	return datum;
}

RolloutGroup *
group_copy(const Group *group, Group *copy)
{
	uint8		has = 0;
	RolloutGroup *datum;

#define COLUMN(name, type, count, bit) \
	if (group->name != NULL) \
		has |= bit;
	GROUP_COLUMN_LIST(COLUMN)
#undef COLUMN
	datum = group_allocate(group->n_rollouts, group->n_steps, has, copy);
#define COLUMN(name, type, count, bit) \
	if (group->name != NULL) \
		memcpy((type *) copy->name, group->name, group->count * sizeof(type));
	GROUP_COLUMN_LIST(COLUMN)
#undef COLUMN
	return datum;
}

/* The last touch after the columns are filled. */
void
group_seal(RolloutGroup *datum)
{
#ifdef WORDS_BIGENDIAN
	swap_columns((char *) datum + sizeof(RolloutGroup),
				 LITTLE_ENDIAN_32(datum->n_rollouts), LITTLE_ENDIAN_32(datum->n_steps), datum->has);
#else
	(void) datum;
#endif
}

/* ----------
 * Checking values that come from outside (text, binary)
 * ----------
 */

#define GROUP_INVALID(sqlerrcode, ...) \
	ereport(ERROR, (errcode(sqlerrcode), errmsg("invalid rollout_group"), errdetail(__VA_ARGS__)))

static void
check_finite(const double *column, uint32 count, const char *name, int sqlerrcode)
{
	if (column == NULL)
		return;
	for (uint32 i = 0; i < count; i++)
		if (isinf(column[i]))
			GROUP_INVALID(sqlerrcode, "The %s at position %u is infinite.", name, i + 1);
}

/*
 * What the builder guarantees and the estimators rely on.  Costs one pass.
 */
void
group_check(const Group *group, int sqlerrcode)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (r > 0 && group->rollout_id[r] <= group->rollout_id[r - 1])
			GROUP_INVALID(sqlerrcode, "The rollout_id " INT64_FORMAT " follows " INT64_FORMAT ": they must increase.",
						  group->rollout_id[r], group->rollout_id[r - 1]);
		if (group->success[r] > SUCCESS_TRUE)
			GROUP_INVALID(sqlerrcode, "The success of rollout " INT64_FORMAT " is neither true nor false nor null.",
						  group->rollout_id[r]);
		for (uint32 i = group->first_step[r] + 1; i < group->first_step[r + 1]; i++)
			if (group->step_no[i] <= group->step_no[i - 1])
				GROUP_INVALID(sqlerrcode, "In rollout " INT64_FORMAT " step_no %d follows %d: they must increase.",
							  group->rollout_id[r], group->step_no[i], group->step_no[i - 1]);
		CHECK_FOR_INTERRUPTS();
	}
	if (group->nulls != NULL)
		for (uint32 i = 0; i < group->n_steps; i++)
			if ((group->nulls[i] & ~NULLS_ALL) != 0)
				GROUP_INVALID(sqlerrcode, "The null bits of the step at position %u are unknown.", i + 1);
	check_finite(group->outcome, group->n_rollouts, "outcome", sqlerrcode);
	check_finite(group->reward, group->n_steps, "reward", sqlerrcode);
	check_finite(group->value, group->n_steps, "value", sqlerrcode);
	check_finite(group->turn_reward, group->n_steps, "turn_reward", sqlerrcode);
	check_finite(group->cost, group->n_steps, "cost", sqlerrcode);
}

/* ----------
 * Building
 * ----------
 */

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
	Size		allocated;
	bool		sorted;			/* rows have come in order so far */
	bool		has_wide;
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

bool
group_builder_is_empty(const GroupBuilder *builder)
{
	return builder->n_rows == 0;
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

void
group_builder_add(GroupBuilder *builder, const StepRow *row)
{
	if (builder->sorted && builder->n_rows > 0 && compare_rows(&builder->last, row) > 0)
		builder->sorted = false;
	if (builder->tail == NULL || builder->tail->limit - builder->tail->end < MAX_ENCODED_STEP)
		add_chunk(builder);
	builder->tail->end = encode_step(builder->tail->end, row, &builder->last);
	memcpy(&builder->last, row, offsetof(StepRow, next_state));
	builder->n_rows++;
	builder->n_steps += !row->is_rollout;
	builder->has_wide |= row->is_wide;
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
group_builder_add_group(GroupBuilder *builder, const Group *group)
{
	bool		is_wide = group->next_state || group->value || group->turn_reward || group->cost;

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

/* What the rows of a builder come to: counts, columns, and no duplicates. */
typedef struct Census
{
	uint64		n_rollouts;
	uint64		n_steps;
	uint8		has;
} Census;

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

static Census
take_census(RowPointer *rows, uint64 n_rows)
{
	Census		census = {0};
	bool		has_null_next_state = false;
	bool		has_outcome = false;	/* the current rollout */

	for (uint64 i = 0; i < n_rows; i++)
	{
		const StepRow *row = rows[i];

		if (i == 0 || rows[i - 1]->rollout_id != row->rollout_id)
		{
			census.n_rollouts++;
			has_outcome = false;
		}
		if (row->is_rollout)
		{
			if (isnan(row->reward))
				continue;
			if (has_outcome)
				refuse_duplicate(row);
			has_outcome = true;
			census.has |= HAS_OUTCOME;
			continue;
		}
		census.n_steps++;
		if (i > 0 && compare_rows(rows[i - 1], row) == 0)
			refuse_duplicate(row);
		if ((row->nulls & (NULL_STATE | NULL_ACTION)) != 0)
			census.has |= HAS_NULLS;
		if ((row->nulls & NULL_NEXT_STATE) != 0)
			has_null_next_state = true;
		else
			census.has |= HAS_NEXT_STATE;
		if (row->is_wide)
		{
			if (!isnan(row->value))
				census.has |= HAS_VALUE;
			if (!isnan(row->turn_reward))
				census.has |= HAS_TURN_REWARD;
			if (!isnan(row->cost))
				census.has |= HAS_COST;
		}
	}
	if ((census.has & HAS_NEXT_STATE) != 0 && has_null_next_state)
		census.has |= HAS_NULLS;
	return census;
}

/*
 * The rows, decoded, in the order of the value: rollouts by id, steps by
 * step_no.  Without wide rows, what only they have is cut off from each.
 */
static RowPointer *
ordered_rows(const GroupBuilder *builder)
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
	if (!builder->sorted)
		sort_rows(pointers, builder->n_rows);
	return pointers;
}

/* Columns of a value being built, through which they may be written. */
#define WRITABLE(type, column) ((type *) (column))

static void
fill_wide_step(const Group *group, uint32 step, const StepRow *row)
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
	RowPointer *rows = ordered_rows(builder);
	Census		census = take_census(rows, builder->n_rows);
	bool		has_wide = (census.has & ~(HAS_OUTCOME | HAS_NULLS)) != 0;
	uint8		known_nulls = (census.has & HAS_NEXT_STATE) ? NULLS_ALL : NULL_STATE | NULL_ACTION;
	Group		group;
	RolloutGroup *datum = group_allocate(census.n_rollouts, census.n_steps, census.has, &group);
	int64		rollout = -1;	/* position of the current one */
	uint32		step = 0;

	for (uint64 i = 0; i < builder->n_rows; i++)
	{
		const StepRow *row = rows[i];

		if (i == 0 || rows[i - 1]->rollout_id != row->rollout_id)
		{
			rollout++;
			WRITABLE(int64, group.rollout_id)[rollout] = row->rollout_id;
			WRITABLE(uint32, group.n_rollout_steps)[rollout] = 0;
			WRITABLE(uint8, group.success)[rollout] = SUCCESS_UNKNOWN;
			if (group.outcome)
				WRITABLE(double, group.outcome)[rollout] = NAN;
			CHECK_FOR_INTERRUPTS();
		}
		/* The enum's order makes one row's true outweigh another's false. */
		if (row->success > group.success[rollout])
			WRITABLE(uint8, group.success)[rollout] = row->success;
		if (row->is_rollout)
		{
			if (!isnan(row->reward))
				WRITABLE(double, group.outcome)[rollout] = row->reward;
			continue;
		}
		WRITABLE(uint32, group.n_rollout_steps)[rollout]++;
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
	pfree(rows);
	group_seal(datum);
	return datum;
}
