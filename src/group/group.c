/*
 * group.c
 *		Layout of rollout_group values; opening, making and checking them.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "compat.h"
#include "group/group.h"

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
point_columns(GroupColumns *group, char *columns, uint8 has)
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
set_first_steps(GroupColumns *group, int sqlerrcode)
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
group_open_input(const RolloutGroup *datum, GroupColumns *group, int sqlerrcode)
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
group_open(const RolloutGroup *datum, GroupColumns *group)
{
	group_open_input(datum, group, ERRCODE_DATA_CORRUPTED);
}

RolloutGroup *
group_allocate(uint64 n_rollouts, uint64 n_steps, uint8 has, GroupColumns *group)
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
group_copy(const GroupColumns *group, GroupColumns *copy)
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
group_check(const GroupColumns *group, int sqlerrcode)
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
