/*
 * ordered_rows.c
 *		Puts collected rows in the order of the value.
 *
 * With many rollouts in flight, their rows alternate, whether a trainer writes each step when it is made or a
 * rollout when it ends; but most rollouts have their steps in order.  Then only the rollouts need to be sorted: a
 * first pass finds the rollout of each run of rows and how many rows each has, and a second pass decodes every
 * row into its place in the value.  Own rows of rollouts often come from another table, before or after all
 * steps.  They are stored apart, and do not disturb the order of steps.
 *
 * If several processes have read the rows, each rollout has a few sequences of steps, each in order.  The steps
 * are still decoded into the rollout's place, and sorted there at the end.
 */
#include "postgres.h"

#include "arrays.h"
#include "group/ordered_rows.h"
#include "ids.h"

#define MIN_ROLLOUTS 32

typedef RolloutPlace *PlacePointer;

#define ST_SORT sort_places
#define ST_ELEMENT_TYPE PlacePointer
#define ST_COMPARE(a, b) ((*(a))->rollout_id < (*(b))->rollout_id ? -1 : (*(a))->rollout_id > (*(b))->rollout_id)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* A step number, mapped to unsigned, and its position among the steps of its rollout. */
typedef uint64 StepKey;

#define ST_SORT sort_step_keys
#define ST_ELEMENT_TYPE StepKey
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* ----------
 * The places of rollouts
 * ----------
 */

static uint32
number_of_rollout(RolloutPlaces *places, ids_hash *numbers, int64 rollout_id)
{
	bool		found;
	IdEntry    *entry = ids_insert(numbers, rollout_id, &found);

	if (found)
		return entry->number;
	if (places->n == places->room)
	{
		places->room *= 2;
		places->rollout = repalloc_huge(places->rollout, places->room * sizeof(RolloutPlace));
	}
	places->rollout[places->n] = (RolloutPlace) {.rollout_id = rollout_id, .follower = places->n, .success = SUCCESS_UNKNOWN, .in_order = true};
	entry->number = places->n;
	return places->n++;
}

/* Rollouts mostly alternate in the same order again and again. */
static inline RolloutPlace *
take_turn(RolloutPlaces *places, ids_hash *numbers, RolloutPlace *before, int64 rollout_id, uint32 *turn)
{
	uint32		number = before ? before->follower : 0;

	if (before == NULL || places->rollout[number].rollout_id != rollout_id)
	{
		Size		position = before ? before - places->rollout : 0;

		number = number_of_rollout(places, numbers, rollout_id);
		places->rollout[position].follower = number;
	}
	*turn = number;
	return &places->rollout[number];
}

static pg_attribute_always_inline void
count_steps(const GroupBuilder *builder, RolloutPlaces *places, ids_hash *numbers, bool plain)
{
	RolloutPlace *rollout = NULL;
	uint32	   *turn = places->turns;
	RowWalk		walk = begin_walk(&builder->steps);
	StepRow		row = row_before_first;

	while (next_step_of_kind(&walk, &row, plain))
	{
		if (rollout == NULL || row.rollout_id != rollout->rollout_id)
			rollout = take_turn(places, numbers, rollout, row.rollout_id, turn++);
		/* TRUE is greater than FALSE, which is greater than UNKNOWN. */
		rollout->success = Max(rollout->success, row.success);
		if (rollout->n_steps > 0 && row.step_no <= rollout->last_step_no)
			rollout->in_order = false;
		rollout->last_step_no = row.step_no;
		rollout->n_steps++;
	}
}

static void
count_own_rows(const GroupBuilder *builder, RolloutPlaces *places, ids_hash *numbers)
{
	RolloutPlace *rollout = NULL;
	uint32	   *owner = places->owners;
	RowWalk		walk = begin_walk(&builder->own);
	StepRow		row;

	while (next_own_row(&walk, &row))
	{
		rollout = take_turn(places, numbers, rollout, row.rollout_id, owner++);
		rollout->success = Max(rollout->success, row.success);
		rollout->n_own++;
	}
}

void
find_places(const GroupBuilder *builder, RolloutPlaces *places)
{
	ids_hash   *numbers = ids_create(CurrentMemoryContext, MIN_ROLLOUTS, NULL);

	places->n = 0;
	places->room = MIN_ROLLOUTS;
	places->rollout = palloc(places->room * sizeof(RolloutPlace));
	/* If not sorted, n_rollouts of a builder counts runs of steps. */
	places->turns = ALLOCATE_ARRAY(uint32, builder->n_rollouts);
	places->owners = ALLOCATE_ARRAY(uint32, builder->n_own);
	if (has_plain_rows(builder))
		count_steps(builder, places, numbers, true);
	else
		count_steps(builder, places, numbers, false);
	count_own_rows(builder, places, numbers);
	ids_destroy(numbers);
	places->ordered = ALLOCATE_ARRAY(RolloutPlace *, places->n);
	for (uint32 r = 0; r < places->n; r++)
		places->ordered[r] = &places->rollout[r];
	sort_places(places->ordered, places->n);
	begin_places(places);
}

void
begin_places(RolloutPlaces *places)
{
	uint64		n_own = 0;
	uint64		n_steps = 0;

	for (uint32 r = 0; r < places->n; r++)
	{
		RolloutPlace *rollout = places->ordered[r];

		rollout->rank = r;
		rollout->next_own = n_own;
		rollout->next_step = n_steps;
		n_own += rollout->n_own;
		n_steps += rollout->n_steps;
	}
}

void
free_places(RolloutPlaces *places)
{
	pfree(places->ordered);
	pfree(places->turns);
	pfree(places->owners);
	pfree(places->rollout);
}

/* ----------
 * Rollouts with steps out of order
 * ----------
 */

/* Room to sort the steps of the largest such rollout; NULL: all rollouts have their steps in order. */
static StepKey *
make_room_for_keys(const RolloutPlaces *places, Size width)
{
	uint64		most = 0;

	for (uint32 r = 0; r < places->n; r++)
		if (!places->rollout[r].in_order)
			most = Max(most, places->rollout[r].n_steps);
	return most == 0 ? NULL : MemoryContextAllocHuge(CurrentMemoryContext, most * (sizeof(StepKey) + width));
}

/* The unsigned result has the same order as step numbers. */
static inline uint32
step_bits(int32 step_no)
{
	return (uint32) step_no ^ ((uint32) 1 << 31);
}

static inline StepKey
step_key(int32 step_no, uint64 place)
{
	return (StepKey) step_bits(step_no) << 32 | place;
}

/* Order a column of 64-bit values of any type. */
static void
order_column(void *column, const StepKey *keys, uint64 n, uint64 *ordered)
{
	const uint64 *values = column;

	for (uint64 i = 0; i < n; i++)
		ordered[i] = values[(uint32) keys[i]];
	memcpy(column, ordered, n * sizeof(uint64));
}

static bool
order_steps_of_rollout(const GroupColumns *group, uint64 first, uint64 n, StepKey *keys)
{
	int32	   *step_no = unconstify(int32 *, group->step_no) + first;
	uint64	   *ordered = keys + n;

	for (uint64 i = 0; i < n; i++)
		keys[i] = step_key(step_no[i], i);
	sort_step_keys(keys, n);
	for (uint64 i = 0; i < n; i++)
	{
		step_no[i] = (int32) step_bits((int32) (keys[i] >> 32));
		if (i > 0 && step_no[i] == step_no[i - 1])
			return false;
	}
	order_column((void *) (group->step_id + first), keys, n, ordered);
	order_column((void *) (group->state + first), keys, n, ordered);
	order_column((void *) (group->action + first), keys, n, ordered);
	order_column((void *) (group->reward + first), keys, n, ordered);
	return true;
}

bool
order_steps(const RolloutPlaces *places, const GroupColumns *group)
{
	StepKey    *keys = make_room_for_keys(places, sizeof(uint64));
	bool		done = true;

	for (uint32 r = 0; keys != NULL && r < places->n && done; r++)
	{
		const RolloutPlace *rollout = &places->rollout[r];

		CHECK_ONCE_IN_A_WHILE(r);
		/* All rows have been placed, so next_step is the end of the rollout's steps. */
		if (!rollout->in_order)
			done = order_steps_of_rollout(group, rollout->next_step - rollout->n_steps, rollout->n_steps, keys);
	}
	if (keys != NULL)
		pfree(keys);
	return done;
}

/* ----------
 * Rows of every kind
 * ----------
 */

static void
order_rows_of_rollout(char *rows, Size stride, uint64 n, StepKey *keys)
{
	char	   *ordered = (char *) (keys + n);

	for (uint64 i = 0; i < n; i++)
		keys[i] = step_key(((const StepRow *) (rows + i * stride))->step_no, i);
	sort_step_keys(keys, n);
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		memcpy(ordered + i * stride, rows + (uint32) keys[i] * stride, stride);
	}
	copy_large(rows, ordered, n * stride);
}

static char *
place_steps(const GroupBuilder *builder, const RolloutPlaces *places, Size stride)
{
	char	   *rows = allocate_large(array_size(builder->n_steps, stride));
	RolloutPlace *rollout = NULL;
	const uint32 *turn = places->turns;
	RowWalk		walk = begin_walk(&builder->steps);
	StepRow		row = row_before_first;
	StepKey    *keys;

	while (next_step(&walk, &row))
	{
		rollout = next_place(places, rollout, &turn, row.rollout_id);
		memcpy(rows + rollout->next_step++ * stride, &row, stride);
	}
	keys = make_room_for_keys(places, stride);
	for (uint32 r = 0; keys != NULL && r < places->n; r++)
	{
		CHECK_ONCE_IN_A_WHILE(r);
		rollout = &places->rollout[r];
		if (!rollout->in_order)
			order_rows_of_rollout(rows + (rollout->next_step - rollout->n_steps) * stride, stride, rollout->n_steps, keys);
	}
	if (keys != NULL)
		pfree(keys);
	return rows;
}

/* Decode the own rows of rollouts into their places. */
static StepRow *
place_own_rows(const GroupBuilder *builder, const RolloutPlaces *places)
{
	StepRow    *rows = ALLOCATE_ARRAY(StepRow, builder->n_own);
	const uint32 *owner = places->owners;
	RowWalk		walk = begin_walk(&builder->own);
	StepRow		row;

	while (next_own_row(&walk, &row))
		rows[places->rollout[*owner++].next_own++] = row;
	return rows;
}

/* Leave out the trailing parts that no step has. */
static Size
size_of_rows(const GroupBuilder *builder)
{
	return (builder->parts & PART_POLICY) ? sizeof(StepRow) :
		(builder->parts & PART_EXTRA) ? offsetof(StepRow, coarse_state) :
		(builder->parts & PART_WIDE) ? offsetof(StepRow, turn) : offsetof(StepRow, next_state);
}

void
begin_ordered_rows(OrderedRows *rows, const GroupBuilder *builder, const RolloutPlaces *places)
{
	*rows = (OrderedRows) {
		begin_walk(&builder->steps), row_before_first, .stride = size_of_rows(builder), .n_steps = builder->n_steps, .n_own = builder->n_own
	};
	if (!builder->sorted)
		rows->placed = place_steps(builder, places, rows->stride);
	if (builder->n_own > 0)
		rows->own = place_own_rows(builder, places);
}

void
end_ordered_rows(OrderedRows *rows)
{
	if (rows->placed)
		pfree(rows->placed);
	if (rows->own)
		pfree(rows->own);
}
