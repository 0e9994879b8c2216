#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "arrays.h"
#include "compat.h"
#include "group/group.h"

/* ----------
 * Layout
 * ----------
 */

/*
 * All columns of the binary format in order: name, type, count, and the HAS_ bit that it depends on (0: always
 * present). 8-byte columns come first, so that all are aligned without padding.
 */
#define GROUP_COLUMN_LIST(COLUMN) \
	COLUMN(rollout_id, int64, n_rollouts, 0) \
	COLUMN(outcome, double, n_rollouts, HAS_OUTCOME) \
	COLUMN(policy_step, int64, n_rollouts, HAS_POLICY_STEP) \
	COLUMN(step_id, int64, n_steps, 0) \
	COLUMN(state, int64, n_steps, 0) \
	COLUMN(action, int64, n_steps, 0) \
	COLUMN(reward, double, n_steps, 0) \
	COLUMN(next_state, int64, n_steps, HAS_NEXT_STATE) \
	COLUMN(value, double, n_steps, HAS_VALUE) \
	COLUMN(turn_reward, double, n_steps, HAS_TURN_REWARD) \
	COLUMN(cost, double, n_steps, HAS_COST) \
	COLUMN(coarse_state, int64, n_steps, HAS_COARSE_STATE) \
	COLUMN(logp, double, n_steps, HAS_LOGP) \
	COLUMN(step_rewards, double, n_step_rewards, HAS_REWARDS) \
	COLUMN(outcome_rewards, double, n_outcome_rewards, HAS_OUTCOME_REWARDS) \
	COLUMN(n_rollout_steps, uint32, n_rollouts, 0) \
	COLUMN(step_no, int32, n_steps, 0) \
	COLUMN(turn, int32, n_steps, HAS_TURN) \
	COLUMN(success, uint8, n_rollouts, 0) \
	COLUMN(nulls, uint8, n_steps, HAS_NULLS) \
	COLUMN(defects, uint8, n_rollouts, HAS_DEFECTS) \
	COLUMN(truncated, uint8, n_rollouts, HAS_TRUNCATED)

StaticAssertDecl(sizeof(RolloutGroup) == 16, "the columns start on an 8-byte boundary");

#define COLUMN_PRESENT(has, bit) ((bit) == 0 || ((has) & (bit)) != 0)

/* The size of a value of this shape.  It is 64 bits wide, since an invalid header can claim any counts. */
uint64
group_size(const GroupShape *shape)
{
	uint64		n_rollouts = shape->n_rollouts;
	uint64		n_steps = shape->n_steps;
	uint64		n_step_rewards = n_steps * shape->n_rewards;
	uint64		n_outcome_rewards = n_rollouts * shape->n_rewards;
	uint64		size = sizeof(RolloutGroup);

#define COLUMN(name, type, count, bit) \
	if (COLUMN_PRESENT(shape->has, bit)) \
		size += count * sizeof(type);
	GROUP_COLUMN_LIST(COLUMN)
#undef COLUMN
	return size;
}

/* Set the pointers to columns of this shape, which start at columns. */
static void
point_columns(GroupColumns *group, const GroupShape *shape, char *columns)
{
	memset(group, 0, sizeof(*group));
	group->n_rollouts = shape->n_rollouts;
	group->n_steps = shape->n_steps;
	group->n_rewards = shape->n_rewards;
	group->unit = shape->unit;
	group->lenient = shape->lenient;
	group->n_step_rewards = (uint64) group->n_steps * shape->n_rewards;
	group->n_outcome_rewards = (uint64) group->n_rollouts * shape->n_rewards;

#define COLUMN(name, type, count, bit) \
	if (COLUMN_PRESENT(shape->has, bit)) \
	{ \
		group->name = (const type *) columns; \
		columns += group->count * sizeof(type); \
	}
	GROUP_COLUMN_LIST(COLUMN)
#undef COLUMN
}

static GroupShape
shape_of_columns(const GroupColumns *group)
{
	GroupShape	shape = {
		group->n_rollouts, group->n_steps, 0, group->n_rewards, group->unit, group->lenient
	};

#define COLUMN(name, type, count, bit) \
	if (group->name != NULL) \
		shape.has |= bit;
	GROUP_COLUMN_LIST(COLUMN)
#undef COLUMN
	return shape;
}

#ifdef WORDS_BIGENDIAN
static void
swap_column(char *column, uint64 count, size_t width)
{
	for (uint64 i = 0; i < count; i++, column += width)
	{
		if (width == 8)
			*(uint64 *) column = pg_bswap64(*(uint64 *) column);
		else if (width == 4)
			*(uint32 *) column = pg_bswap32(*(uint32 *) column);
	}
}

/* Convert all columns from native to little-endian byte order, or back. */
static void
swap_columns(const GroupColumns *group)
{
#define COLUMN(name, type, count, bit) \
	if (group->name != NULL) \
		swap_column((char *) group->name, group->count, sizeof(type));
	GROUP_COLUMN_LIST(COLUMN)
#undef COLUMN
}

#define LITTLE_ENDIAN_32(x) pg_bswap32(x)
#else
#define LITTLE_ENDIAN_32(x) (x)
#endif

static void
set_first_steps(GroupColumns *group, int sqlerrcode)
{
	uint32	   *first_step = ALLOCATE_ARRAY(uint32, (uint64) group->n_rollouts + 1);
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

/* Columns whose presence is stored as a flag. */
static const struct
{
	uint8		flag;
	uint16		has;
}			flagged_columns[] = {
	{FLAG_OUTCOME_REWARDS, HAS_OUTCOME_REWARDS},
	{FLAG_TRUNCATED, HAS_TRUNCATED},
	{FLAG_POLICY_STEP, HAS_POLICY_STEP},
	{FLAG_COARSE_STATE, HAS_COARSE_STATE},
	{FLAG_LOGP, HAS_LOGP}
};

GroupShape
group_shape(const RolloutGroup *datum)
{
	GroupShape	shape = {
		LITTLE_ENDIAN_32(datum->n_rollouts), LITTLE_ENDIAN_32(datum->n_steps), datum->has, datum->n_rewards,
		(GroupUnit) (datum->flags & FLAG_UNIT), (datum->flags & FLAG_LENIENT) != 0
	};

	if (datum->n_rewards > 0)
		shape.has |= HAS_REWARDS;
	for (int i = 0; i < lengthof(flagged_columns); i++)
		if ((datum->flags & flagged_columns[i].flag) != 0)
			shape.has |= flagged_columns[i].has;
	return shape;
}

static bool
header_is_sound(const RolloutGroup *datum)
{
	if (datum->version == 1)
		return (datum->has & ~HAS_VERSION_1) == 0 && datum->flags == 0 && datum->n_rewards == 0;
	return (datum->version > 2 || (datum->flags & ~FLAGS_VERSION_2) == 0) && (datum->flags & FLAG_UNIT) <= UNIT_TURN_SET &&
		datum->n_rewards <= MAX_REWARDS &&
		((datum->flags & FLAG_OUTCOME_REWARDS) == 0 || datum->n_rewards > 0);
}

void
group_open_input(const RolloutGroup *datum, GroupColumns *group, int sqlerrcode)
{
	Size		size = VARSIZE(datum);
	GroupShape	shape;

	if (size < sizeof(RolloutGroup))
		ereport(ERROR,
				(errcode(sqlerrcode),
				 errmsg("invalid rollout_group: %zu bytes are too few for a header", size)));
	if (datum->version < 1 || datum->version > GROUP_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("rollout_group has version %d, this stepadv reads versions 1 to %d",
						datum->version, GROUP_VERSION),
				 errhint("A newer version of stepadv wrote the value. Update the extension.")));

	shape = group_shape(datum);
	if (!header_is_sound(datum) || size != group_size(&shape))
		ereport(ERROR,
				(errcode(sqlerrcode),
				 errmsg("invalid rollout_group: %zu bytes do not hold %u rollouts and %u steps",
						size, (uint32) shape.n_rollouts, (uint32) shape.n_steps)));

#ifdef WORDS_BIGENDIAN
	{
		char	   *copy = palloc(size);

		memcpy(copy, datum, size);
		point_columns(group, &shape, copy + sizeof(RolloutGroup));
		swap_columns(group);
	}
#else
	point_columns(group, &shape, (char *) datum + sizeof(RolloutGroup));
#endif
	set_first_steps(group, sqlerrcode);
}

void
group_open(const RolloutGroup *datum, GroupColumns *group)
{
	group_open_input(datum, group, ERRCODE_DATA_CORRUPTED);
}

/* The oldest version that can represent this shape. */
static uint8
version_of_shape(const GroupShape *shape)
{
	bool		is_old = (shape->has & ~HAS_VERSION_1) == 0 && shape->n_rewards == 0 &&
		shape->unit == UNIT_STEP && !shape->lenient;

	return is_old ? 1 : (shape->has & ~HAS_VERSION_2) == 0 ? 2 : GROUP_VERSION;
}

static void
write_header(RolloutGroup *datum, const GroupShape *shape)
{
	datum->version = version_of_shape(shape);
	datum->has = shape->has & HAS_STORED;
	datum->flags = shape->unit | (shape->lenient ? FLAG_LENIENT : 0);
	for (int i = 0; i < lengthof(flagged_columns); i++)
		if ((shape->has & flagged_columns[i].has) != 0)
			datum->flags |= flagged_columns[i].flag;
	datum->n_rewards = shape->n_rewards;
	datum->n_rollouts = LITTLE_ENDIAN_32((uint32) shape->n_rollouts);
	datum->n_steps = LITTLE_ENDIAN_32((uint32) shape->n_steps);
}

Size
checked_group_size(const GroupShape *shape)
{
	uint64		size = group_size(shape);

	if (size > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("rollout group of " UINT64_FORMAT " rollouts and " UINT64_FORMAT " steps would need " UINT64_FORMAT " bytes, the limit is %zu",
						shape->n_rollouts, shape->n_steps, size, (Size) MaxAllocSize),
				 errhint("Fold fewer rollouts into one group, for example by grouping by policy version too.")));
	return (Size) size;
}

RolloutGroup *
group_allocate(const GroupShape *shape, GroupColumns *group)
{
	Size		size = checked_group_size(shape);
	RolloutGroup *datum;

	datum = palloc(size);
	SET_VARSIZE(datum, size);
	write_header(datum, shape);
	point_columns(group, shape, (char *) datum + sizeof(RolloutGroup));
	return datum;
}

RolloutGroup *
group_copy(const GroupColumns *group, GroupColumns *copy)
{
	GroupShape	shape = shape_of_columns(group);
	RolloutGroup *datum = group_allocate(&shape, copy);

#define COLUMN(name, type, count, bit) \
	if (group->name != NULL) \
		copy_large((type *) copy->name, group->name, group->count * sizeof(type));
	GROUP_COLUMN_LIST(COLUMN)
#undef COLUMN
	return datum;
}

int64
group_place_of_rollout(const GroupColumns *group, int64 rollout_id)
{
	uint32		from = 0;
	uint32		to = group->n_rollouts;

	while (from < to)
	{
		uint32		middle = from + (to - from) / 2;

		if (group->rollout_id[middle] < rollout_id)
			from = middle + 1;
		else
			to = middle;
	}
	return from < group->n_rollouts && group->rollout_id[from] == rollout_id ? (int64) from : -1;
}

void
group_add_defect(GroupColumns *group, uint32 rollout, uint8 defect)
{
	/* Copy the defects once, however many rollouts are marked. */
	if (!group->owns_defects)
	{
		uint8	   *defects = ALLOCATE_ZEROED_ARRAY(uint8, group->n_rollouts);

		if (group->defects != NULL)
			memcpy(defects, group->defects, group->n_rollouts);
		group->defects = defects;
		group->owns_defects = true;
	}
	((uint8 *) group->defects)[rollout] |= defect;
}

/* Must be called last, after the columns are filled. */
void
group_seal(RolloutGroup *datum)
{
#ifdef WORDS_BIGENDIAN
	GroupShape	shape = group_shape(datum);
	GroupColumns group;

	point_columns(&group, &shape, (char *) datum + sizeof(RolloutGroup));
	swap_columns(&group);
#else
	(void) datum;
#endif
}

/* ----------
 * Checks of external values (text, binary)
 * ----------
 */

#define GROUP_INVALID(sqlerrcode, ...) \
	ereport(ERROR, (errcode(sqlerrcode), errmsg("invalid rollout_group"), errdetail(__VA_ARGS__)))

static void
check_finite(const double *column, uint64 count, const char *name, int sqlerrcode)
{
	if (column == NULL)
		return;
	for (uint64 i = 0; i < count; i++)
	{
		if (isinf(column[i]))
			GROUP_INVALID(sqlerrcode, "The %s at position " UINT64_FORMAT " is infinite.", name, i + 1);
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

/* Takes one pass over the columns. */
void
group_check(const GroupColumns *group, int sqlerrcode)
{
	uint8		known_nulls = NULLS_IDENTITIES | (group->turn ? NULL_TURN : 0) |
		(group->coarse_state ? NULL_COARSE_STATE : 0);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (r > 0 && group->rollout_id[r] <= group->rollout_id[r - 1])
			GROUP_INVALID(sqlerrcode, "The rollout_id " INT64_FORMAT " follows " INT64_FORMAT ": they must increase.",
						  group->rollout_id[r], group->rollout_id[r - 1]);
		if (group->success[r] > SUCCESS_TRUE)
			GROUP_INVALID(sqlerrcode, "The success of rollout " INT64_FORMAT " is neither true nor false nor null.",
						  group->rollout_id[r]);
		if (group->truncated != NULL && group->truncated[r] > TRUNCATION_TRUE)
			GROUP_INVALID(sqlerrcode, "Whether rollout " INT64_FORMAT " is truncated is neither true nor false nor null.",
						  group->rollout_id[r]);
		for (uint32 i = group->first_step[r] + 1; i < group->first_step[r + 1]; i++)
			if (group->step_no[i] <= group->step_no[i - 1])
				GROUP_INVALID(sqlerrcode, "In rollout " INT64_FORMAT " step_no %d follows %d: they must increase.",
							  group->rollout_id[r], group->step_no[i], group->step_no[i - 1]);
		CHECK_FOR_INTERRUPTS();
	}
	if (group->nulls != NULL)
		for (uint32 i = 0; i < group->n_steps; i++)
			if ((group->nulls[i] & ~known_nulls) != 0)
				GROUP_INVALID(sqlerrcode, "The null bits of the step at position %u are unknown.", i + 1);
	check_finite(group->outcome, group->n_rollouts, "outcome", sqlerrcode);
	check_finite(group->reward, group->n_steps, "reward", sqlerrcode);
	check_finite(group->value, group->n_steps, "value", sqlerrcode);
	check_finite(group->turn_reward, group->n_steps, "turn_reward", sqlerrcode);
	check_finite(group->cost, group->n_steps, "cost", sqlerrcode);
	check_finite(group->logp, group->n_steps, "logp", sqlerrcode);
	check_finite(group->step_rewards, group->n_step_rewards, "reward component", sqlerrcode);
	check_finite(group->outcome_rewards, group->n_outcome_rewards, "outcome's reward component", sqlerrcode);
}
