/*
 * ordered_rows.c
 *		Collected rows in the order of the value.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "compat.h"
#include "group/ordered_rows.h"

#define ST_SORT sort_rows
#define ST_ELEMENT_TYPE RowPointer
#define ST_COMPARE(a, b) compare_rows(*(a), *(b))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/*
 * The rows of a rollout mostly come in the order of its steps, however rollouts take
 * turns: they are told apart, and only the steps of a rollout that needs it are sorted.
 * Rows of the rollout itself often come from another table, before or after all steps.
 */
typedef struct RolloutRun
{
	int64		rollout_id;
	uint64		n_own;			/* rows of the rollout itself, which are no steps */
	uint64		n_steps;
	RowPointer	last;			/* step so far */
	RowPointer *own_end;		/* of its rows in order, so far: its own, */
	RowPointer *end;			/* and behind them its steps */
	bool		sorted;
} RolloutRun;

typedef RolloutRun *RunPointer;

#define MIN_RUNS 16

typedef struct RolloutRuns
{
	struct run_number_hash *numbers;
	RolloutRun *run;
	uint32		n;
	uint32		room;
} RolloutRuns;

typedef struct RunNumber
{
	int64		rollout_id;
	uint32		number;
	uint32		status;			/* the hash table's own */
} RunNumber;

#define SH_PREFIX run_number
#define SH_ELEMENT_TYPE RunNumber
#define SH_KEY_TYPE int64
#define SH_KEY rollout_id
#define SH_HASH_KEY(table, key) look_on_the_way(murmurhash32((uint32) (key) ^ (uint32) ((uint64) (key) >> 32)))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "hash_table.h"

#define ST_SORT sort_runs
#define ST_ELEMENT_TYPE RunPointer
#define ST_COMPARE(a, b) ((*(a))->rollout_id < (*(b))->rollout_id ? -1 : (*(a))->rollout_id > (*(b))->rollout_id)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

static uint32
run_of(RolloutRuns *runs, int64 rollout_id)
{
	bool		found;
	RunNumber  *number = run_number_insert(runs->numbers, rollout_id, &found);

	if (found)
		return number->number;
	if (runs->n == runs->room)
	{
		runs->room *= 2;
		runs->run = repalloc_huge(runs->run, runs->room * sizeof(RolloutRun));
	}
	runs->run[runs->n] = (RolloutRun) {.rollout_id = rollout_id, .sorted = true};
	number->number = runs->n;
	return runs->n++;
}

/* Count the rows of every rollout; of each row, which one's it is. */
static void
tell_rollouts_apart(const char *rows, Size stride, uint64 n_rows, uint32 *numbers, RolloutRuns *runs)
{
	RolloutRun *run = NULL;
	uint32		number = 0;

	for (uint64 n = 0; n < n_rows; n++)
	{
		RowPointer	row = (RowPointer) (rows + n * stride);

		if (n % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
		if (run == NULL || run->rollout_id != row->rollout_id)
			number = run_of(runs, row->rollout_id);
		run = &runs->run[number];
		numbers[n] = number;
		if (row->is_rollout)
		{
			run->n_own++;
			continue;
		}
		if (run->last != NULL && compare_rows(run->last, row) > 0)
			run->sorted = false;
		run->last = row;
		run->n_steps++;
	}
}

/* Every rollout gets its place among the pointers. */
static void
place_rollouts(RolloutRuns *runs, RowPointer *pointers)
{
	RunPointer *ordered = MemoryContextAllocHuge(CurrentMemoryContext, runs->n * sizeof(RunPointer));

	for (uint32 r = 0; r < runs->n; r++)
		ordered[r] = &runs->run[r];
	sort_runs(ordered, runs->n);
	for (uint32 r = 0; r < runs->n; r++)
	{
		ordered[r]->own_end = pointers;
		ordered[r]->end = pointers + ordered[r]->n_own;
		pointers = ordered[r]->end + ordered[r]->n_steps;
	}
	pfree(ordered);
}

static void
order_rows(const char *rows, Size stride, uint64 n_rows, RowPointer *pointers)
{
	uint32	   *numbers = MemoryContextAllocHuge(CurrentMemoryContext, n_rows * sizeof(uint32));
	RolloutRuns runs = {
		run_number_create(CurrentMemoryContext, MIN_RUNS, NULL), palloc(MIN_RUNS * sizeof(RolloutRun)), 0, MIN_RUNS
	};

	tell_rollouts_apart(rows, stride, n_rows, numbers, &runs);
	place_rollouts(&runs, pointers);
	for (uint64 n = 0; n < n_rows; n++)
	{
		RolloutRun *run = &runs.run[numbers[n]];
		RowPointer	row = (RowPointer) (rows + n * stride);

		if (row->is_rollout)
			*run->own_end++ = row;
		else
			*run->end++ = row;
	}
	for (uint32 r = 0; r < runs.n; r++)
		if (!runs.run[r].sorted)
			sort_rows(runs.run[r].end - runs.run[r].n_steps, runs.run[r].n_steps);
	run_number_destroy(runs.numbers);
	pfree(runs.run);
	pfree(numbers);
}

/* What no row has is cut off from each. */
static RowPointer *
decode_and_sort(const GroupBuilder *builder)
{
	Size		stride = (builder->parts & PART_POLICY) ? sizeof(StepRow) :
		(builder->parts & PART_EXTRA) ? offsetof(StepRow, coarse_state) :
		(builder->parts & PART_WIDE) ? offsetof(StepRow, turn) : offsetof(StepRow, next_state);
	RowPointer *pointers = MemoryContextAllocHuge(CurrentMemoryContext,
												  builder->n_rows * (sizeof(RowPointer) + stride));
	char	   *rows = (char *) (pointers + builder->n_rows);
	RowWalk		walk = begin_walk(builder);
	StepRow		row = row_before_first;

	for (uint64 n = 0; next_row(&walk, &row); n++)
		memcpy(rows + n * stride, &row, stride);
	order_rows(rows, stride, builder->n_rows, pointers);
	return pointers;
}

void
begin_ordered_rows(OrderedRows *rows, const GroupBuilder *builder)
{
	rows->walk = begin_walk(builder);
	rows->row = row_before_first;
	rows->sorted = builder->sorted ? NULL : decode_and_sort(builder);
	rows->position = 0;
	rows->n_rows = builder->n_rows;
}

void
end_ordered_rows(OrderedRows *rows)
{
	if (rows->sorted)
		pfree(rows->sorted);
}

uint64
count_rollouts(const GroupBuilder *builder, const OrderedRows *rows)
{
	uint64		n = 1;

	if (rows->sorted == NULL)
		return builder->n_rollouts;
	for (uint64 i = 1; i < rows->n_rows; i++)
		n += rows->sorted[i]->rollout_id != rows->sorted[i - 1]->rollout_id;
	return n;
}
