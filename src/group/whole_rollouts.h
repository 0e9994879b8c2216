/*
 * whole_rollouts.h
 *		Collected rows whose rollouts came whole, or nearly so, but in another order than
 *		the value's: they need not be sorted one by one.
 */
#ifndef STEPADV_GROUP_WHOLE_ROLLOUTS_H
#define STEPADV_GROUP_WHOLE_ROLLOUTS_H

#include "group/collected_rows.h"

/* Rows of a rollout that came one after the other, in the order of its steps. */
typedef struct RowRun
{
	int64		rollout_id;
	int32		first_step_no;
	int32		last_step_no;
	uint32		first;			/* its rows among all, in the order in which they came */
	uint32		n_rows;
	uint8		success;		/* what its rows say together */
} RowRun;

/* All rows, by column, as they came, and the runs in the order of the value. */
typedef struct WholeRollouts
{
	RowRun	   *runs;
	uint32		n_runs;
	uint64		n_rollouts;		/* of them */
	int64	   *step_id;
	int64	   *state;
	int64	   *action;
	double	   *reward;
	int32	   *step_no;
} WholeRollouts;

/* Steps that have the six columns of every value and no other. */
static inline bool
has_plain_rows(const GroupBuilder *builder)
{
	return builder->parts == 0 && builder->n_rewards == 0 && builder->n_steps == builder->n_rows &&
		(builder->lacking & (NULL_STATE | NULL_ACTION)) == 0;
}

/* Runs of fewer rows than that on average are too many to be sorted by comparing. */
#define MIN_ROWS_OF_RUN 4

static inline bool
comes_whole(const GroupBuilder *builder)
{
	return builder->n_rollouts <= builder->n_rows / MIN_ROWS_OF_RUN;
}

/* False: they are to be sorted one by one. */
extern bool collect_whole_rollouts(const GroupBuilder *builder, WholeRollouts *whole);
extern void free_whole_rollouts(WholeRollouts *whole);

#endif							/* STEPADV_GROUP_WHOLE_ROLLOUTS_H */
