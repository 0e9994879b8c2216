/*
 * whole_rollouts.c
 *		Collected rows whose rollouts came whole, or nearly so, but in another order than
 *		the value's: they need not be sorted one by one.
 *
 * So come groups of which several processes have read a share: a rollout's later steps before its
 * earlier ones, so that it is not one of those in mixed_rollouts.h.  The rows are decoded into columns as they came; what is put in order
 * are the runs, which then are copied.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "compat.h"
#include "group/whole_rollouts.h"

#define ST_SORT sort_row_runs
#define ST_ELEMENT_TYPE RowRun
#define ST_COMPARE(a, b) \
	((a)->rollout_id != (b)->rollout_id ? ((a)->rollout_id < (b)->rollout_id ? -1 : 1) : \
	 (a)->first_step_no < (b)->first_step_no ? -1 : (a)->first_step_no > (b)->first_step_no)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

static void
allocate_rollouts(const GroupBuilder *builder, WholeRollouts *whole)
{
	uint64		n = builder->n_rows;
	Size		row_size = 4 * sizeof(int64) + sizeof(int32);
	RowRun	   *runs = MemoryContextAllocHuge(CurrentMemoryContext, builder->n_rollouts * sizeof(RowRun) + n * row_size);

	whole->runs = runs;
	whole->n_runs = 0;
	whole->step_id = (int64 *) (runs + builder->n_rollouts);
	whole->state = whole->step_id + n;
	whole->action = whole->state + n;
	whole->reward = (double *) (whole->action + n);
	whole->step_no = (int32 *) (whole->reward + n);
}

/* False: steps of a run are not in their order, or one is there twice. */
static bool
decode_runs(const GroupBuilder *builder, WholeRollouts *whole)
{
	RowWalk		walk = begin_walk(builder);
	StepRow		row = row_before_first;
	RowRun	   *run = NULL;

	for (uint32 n = 0; next_row(&walk, &row); n++)
	{
		if (run == NULL || run->rollout_id != row.rollout_id)
		{
			run = &whole->runs[whole->n_runs++];
			*run = (RowRun) {row.rollout_id, row.step_no, row.step_no, n, 0, SUCCESS_UNKNOWN};
		}
		else if (run->last_step_no >= row.step_no)
			return false;
		run->last_step_no = row.step_no;
		run->n_rows++;
		/* The enum's order makes one row's true outweigh another's false. */
		run->success = Max(run->success, row.success);
		whole->step_id[n] = row.step_id;
		whole->step_no[n] = row.step_no;
		whole->state[n] = row.state;
		whole->action[n] = row.action;
		whole->reward[n] = row.reward;
	}
	return true;
}

/* False: runs of one rollout have steps of each other between theirs. */
static bool
order_runs(WholeRollouts *whole)
{
	sort_row_runs(whole->runs, whole->n_runs);
	whole->n_rollouts = whole->n_runs;
	for (const RowRun *run = whole->runs + 1; run < whole->runs + whole->n_runs; run++)
	{
		if (run->rollout_id != run[-1].rollout_id)
			continue;
		if (run->first_step_no <= run[-1].last_step_no)
			return false;
		whole->n_rollouts--;
	}
	return true;
}

bool
collect_whole_rollouts(const GroupBuilder *builder, WholeRollouts *whole)
{
	if (builder->sorted || !has_plain_rows(builder) || !comes_whole(builder))
		return false;
	allocate_rollouts(builder, whole);
	if (decode_runs(builder, whole) && order_runs(whole))
		return true;
	free_whole_rollouts(whole);
	return false;
}

void
free_whole_rollouts(WholeRollouts *whole)
{
	pfree(whole->runs);
}
