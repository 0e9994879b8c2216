/*
 * mixed_rollouts.c
 *		Collected rows of rollouts that take turns, each of which mostly has its steps in their order.
 *
 * So come the groups of a trainer that has many rollouts in flight, whether it writes every step
 * as it is made, or a rollout when it ends.  Nothing needs to be sorted then but the rollouts:
 * whose turn it was, and how many rows each has, is found out first, and then every row
 * is decoded into the place that it has in the value.
 *
 * Where several processes have read the rows in turn, those of one come behind those of another: of
 * every rollout a few sequences, each in order.  It has its place all the same, in which its steps
 * are put in order at the end.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "compat.h"
#include "group/mixed_rollouts.h"

#define MIN_ROLLOUTS 32

/* A step's number and where it is among those of its rollout. */
typedef uint64 StepKey;

#define ST_SORT sort_step_keys
#define ST_ELEMENT_TYPE StepKey
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* So few are put in order faster without a choice of what to compare with. */
#define FEW_STEPS 48

typedef struct RolloutNumber
{
	int64		rollout_id;
	uint32		number;
	uint32		status;			/* the hash table's own */
} RolloutNumber;

#define SH_PREFIX rollout_number
#define SH_ELEMENT_TYPE RolloutNumber
#define SH_KEY_TYPE int64
#define SH_KEY rollout_id
#define SH_HASH_KEY(table, key) look_on_the_way(murmurhash32((uint32) (key) ^ (uint32) ((uint64) (key) >> 32)))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "hash_table.h"

typedef MixedRollout *RolloutPointer;

#define ST_SORT sort_mixed_rollouts
#define ST_ELEMENT_TYPE RolloutPointer
#define ST_COMPARE(a, b) ((*(a))->rollout_id < (*(b))->rollout_id ? -1 : (*(a))->rollout_id > (*(b))->rollout_id)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

static uint32
number_of_rollout(MixedRollouts *mixed, rollout_number_hash *numbers, int64 rollout_id)
{
	bool		found;
	RolloutNumber *number = rollout_number_insert(numbers, rollout_id, &found);

	if (found)
		return number->number;
	if (mixed->n == mixed->room)
	{
		mixed->room *= 2;
		mixed->rollout = repalloc_huge(mixed->rollout, mixed->room * sizeof(MixedRollout));
	}
	mixed->rollout[mixed->n] = (MixedRollout) {.rollout_id = rollout_id, .follower = mixed->n, .success = SUCCESS_UNKNOWN, .in_order = true};
	number->number = mixed->n;
	return mixed->n++;
}

/* Rollouts mostly take turns in the same order again and again. */
static inline MixedRollout *
take_turn(MixedRollouts *mixed, rollout_number_hash *numbers, MixedRollout *before, int64 rollout_id, uint32 *turn)
{
	uint32		number = before ? before->follower : 0;

	if (before == NULL || mixed->rollout[number].rollout_id != rollout_id)
	{
		Size		position = before ? before - mixed->rollout : 0;

		number = number_of_rollout(mixed, numbers, rollout_id);
		mixed->rollout[position].follower = number;
	}
	*turn = number;
	return &mixed->rollout[number];
}

/* A step of a rollout that comes after a later one.  False: it is there twice, and rows are to be put in order in another way. */
static pg_noinline bool
note_disorder(MixedRollouts *mixed, MixedRollout *rollout, const StepRow *row)
{
	if (row->step_no == rollout->last_step_no)
		return false;
	rollout->in_order = mixed->in_order = false;
	return true;
}

/* False: see above. */
static bool
count_turns(const GroupBuilder *builder, MixedRollouts *mixed, rollout_number_hash *numbers)
{
	MixedRollout *rollout = NULL;
	uint32	   *turn = mixed->turns;
	StepRow		row = row_before_first;

	for (const RowChunk *chunk = builder->head; chunk != NULL; chunk = chunk->next)
	{
		fetch_chunk_ahead(chunk->next);
		for (const char *bytes = chunk->rows; bytes < chunk->end;)
		{
			bytes = decode_plain_step(bytes, &row, &row);
			if (rollout == NULL || row.rollout_id != rollout->rollout_id)
				rollout = take_turn(mixed, numbers, rollout, row.rollout_id, turn++);
			if (rollout->n_rows > 0 && row.step_no <= rollout->last_step_no && !note_disorder(mixed, rollout, &row))
				return false;
			rollout->last_step_no = row.step_no;
			rollout->n_rows++;
			/* The enum's order makes one row's true outweigh another's false. */
			rollout->success = Max(rollout->success, row.success);
		}
		CHECK_FOR_INTERRUPTS();
	}
	return true;
}

static void
order_rollouts(MixedRollouts *mixed)
{
	uint32		next = 0;

	mixed->ordered = MemoryContextAllocHuge(CurrentMemoryContext, mixed->n * sizeof(MixedRollout *));
	for (uint32 r = 0; r < mixed->n; r++)
		mixed->ordered[r] = &mixed->rollout[r];
	sort_mixed_rollouts(mixed->ordered, mixed->n);
	for (uint32 r = 0; r < mixed->n; r++)
	{
		mixed->ordered[r]->next = next;
		next += mixed->ordered[r]->n_rows;
	}
}

bool
find_mixed_rollouts(const GroupBuilder *builder, MixedRollouts *mixed)
{
	rollout_number_hash *numbers;
	bool		is_mixed;

	if (builder->sorted || !has_plain_rows(builder) || builder->n_rows > PG_UINT32_MAX)
		return false;
	*mixed = (MixedRollouts) {.room = MIN_ROLLOUTS, .in_order = true};
	mixed->rollout = palloc(mixed->room * sizeof(MixedRollout));
	/* What a builder counts is how often it was another's turn. */
	mixed->turns = MemoryContextAllocHuge(CurrentMemoryContext, builder->n_rollouts * sizeof(uint32));
	numbers = rollout_number_create(CurrentMemoryContext, MIN_ROLLOUTS, NULL);
	is_mixed = count_turns(builder, mixed, numbers);
	rollout_number_destroy(numbers);
	if (is_mixed)
		order_rollouts(mixed);
	else
		free_mixed_rollouts(mixed);
	return is_mixed;
}

void
free_mixed_rollouts(MixedRollouts *mixed)
{
	if (mixed->ordered != NULL)
		pfree(mixed->ordered);
	pfree(mixed->turns);
	pfree(mixed->rollout);
}

/* ----------
 * Steps of rollouts that have not theirs in order
 * ----------
 */

/* Without its sign, so that keys compare as numbers do. */
static inline uint32
step_bits(int32 step_no)
{
	return (uint32) step_no ^ ((uint32) 1 << 31);
}

/* False: two are equal, but for their places. */
static bool
sort_keys(StepKey *keys, uint32 n)
{
	if (n > FEW_STEPS)
		sort_step_keys(keys, n);
	else
		for (uint32 i = 1; i < n; i++)
		{
			StepKey		key = keys[i];
			uint32		place = i;

			for (; place > 0 && keys[place - 1] > key; place--)
				keys[place] = keys[place - 1];
			keys[place] = key;
		}
	for (uint32 i = 1; i < n; i++)
		if (keys[i] >> 32 == keys[i - 1] >> 32)
			return false;
	return true;
}

/* Values of 64 bits, whatever they are. */
static void
order_column(void *column, const StepKey *keys, uint32 n, uint64 *ordered)
{
	const uint64 *values = column;

	for (uint32 i = 0; i < n; i++)
		ordered[i] = values[(uint32) keys[i]];
	memcpy(column, ordered, n * sizeof(uint64));
}

static bool
order_steps_of_rollout(const GroupColumns *group, uint32 first, uint32 n, StepKey *keys, uint64 *ordered)
{
	int32	   *step_no = unconstify(int32 *, group->step_no) + first;

	for (uint32 i = 0; i < n; i++)
		keys[i] = (StepKey) step_bits(step_no[i]) << 32 | i;
	if (!sort_keys(keys, n))
		return false;
	for (uint32 i = 0; i < n; i++)
		step_no[i] = (int32) step_bits((int32) (keys[i] >> 32));
	order_column((void *) (group->step_id + first), keys, n, ordered);
	order_column((void *) (group->state + first), keys, n, ordered);
	order_column((void *) (group->action + first), keys, n, ordered);
	order_column((void *) (group->reward + first), keys, n, ordered);
	return true;
}

bool
order_steps(const MixedRollouts *mixed, const GroupColumns *group)
{
	uint32		most = 0;
	StepKey    *keys;
	bool		done = true;

	if (mixed->in_order)
		return true;
	for (uint32 r = 0; r < mixed->n; r++)
		most = Max(most, mixed->rollout[r].n_rows);
	keys = MemoryContextAllocHuge(CurrentMemoryContext, (Size) most * (sizeof(StepKey) + sizeof(uint64)));
	for (uint32 r = 0; r < mixed->n && done; r++)
	{
		const MixedRollout *rollout = &mixed->rollout[r];

		/* Every row is in its place: the next one would come behind the last. */
		if (!rollout->in_order)
			done = order_steps_of_rollout(group, rollout->next - rollout->n_rows, rollout->n_rows, keys, keys + most);
		if (r % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	pfree(keys);
	return done;
}
