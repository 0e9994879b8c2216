/*
 * ordered_rows.h
 *		Collected rows in the order of the value.
 */
#ifndef STEPADV_GROUP_ORDERED_ROWS_H
#define STEPADV_GROUP_ORDERED_ROWS_H

#include "group/collected_rows.h"

/* A rollout among rows that came in no order, and where these go. */
typedef struct RolloutPlace
{
	int64		rollout_id;
	uint64		n_own;			/* rows of the rollout itself, which are no steps */
	uint64		n_steps;
	uint64		next_own;		/* the place of its next row: of its own, */
	uint64		next_step;		/* and behind these of its steps */
	uint32		follower;		/* whose turn it was after this one's, the last time */
	int32		last_step_no;	/* so far */
	uint8		success;		/* of all its rows */
	bool		in_order;		/* its steps came so, each once */
} RolloutPlace;

typedef struct RolloutPlaces
{
	RolloutPlace *rollout;		/* in the order in which they came first, */
	RolloutPlace **ordered;		/* and of the value */
	uint32		n;
	uint32		room;
	uint32	   *turns;			/* which rollout's it was, one after the other */
} RolloutPlaces;

/* Of rows that did not come sorted. */
extern void find_places(const GroupBuilder *builder, RolloutPlaces *places);
/* Before the first row is placed, once more. */
extern void begin_places(RolloutPlaces *places);
extern void free_places(RolloutPlaces *places);

/* The rollout of the current row, after this one; NULL: the first. */
static inline RolloutPlace *
next_place(const RolloutPlaces *places, RolloutPlace *rollout, const uint32 **turn, int64 rollout_id)
{
	return rollout != NULL && rollout->rollout_id == rollout_id ? rollout : &places->rollout[*(*turn)++];
}

/* When all rows are in the columns, in their places: the steps of every rollout in their order.  False: one is there twice. */
extern bool order_steps(const RolloutPlaces *places, const GroupColumns *group);

/*
 * The rows in the order of the value: rollouts by id, steps by step_no.  Rows
 * that came so are decoded one by one; others all at once, each into its place.
 */
typedef struct OrderedRows
{
	RowWalk		walk;
	StepRow		row;			/* where the walk is */
	char	   *placed;			/* NULL: walk */
	Size		stride;
	uint64		position;
	uint64		n_rows;
} OrderedRows;

/* Places: of rows that did not come sorted, else NULL. */
extern void begin_ordered_rows(OrderedRows *rows, const GroupBuilder *builder, const RolloutPlaces *places);
extern void end_ordered_rows(OrderedRows *rows);

/* NULL after the last one. */
static inline const StepRow *
next_ordered_row(OrderedRows *rows)
{
	if (rows->placed == NULL)
		return next_row(&rows->walk, &rows->row) ? &rows->row : NULL;
	return rows->position < rows->n_rows ? (const StepRow *) (rows->placed + rows->position++ * rows->stride) : NULL;
}

#endif							/* STEPADV_GROUP_ORDERED_ROWS_H */
