#ifndef STEPADV_GROUP_ORDERED_ROWS_H
#define STEPADV_GROUP_ORDERED_ROWS_H

#include "group/collected_rows.h"

/* A rollout whose rows came out of order, or which has rows of its own, and where its rows are to go. */
typedef struct RolloutPlace
{
	int64		rollout_id;
	uint64		n_own;			/* rows of the rollout itself, which are not steps */
	uint64		n_steps;
	uint64		next_own;		/* the place of its next own row among all own rows, */
	uint64		next_step;		/* and of its next step among steps */
	uint32		rank;			/* in the order of the value */
	uint32		follower;		/* the rollout whose run of rows came after this one's, last time */
	int32		last_step_no;	/* so far */
	uint8		success;		/* over all its rows */
	bool		in_order;		/* its step numbers increase */
} RolloutPlace;

typedef struct RolloutPlaces
{
	RolloutPlace *rollout;		/* in order of first appearance, */
	RolloutPlace **ordered;		/* and in the order of the value */
	uint32		n;
	uint32		room;
	uint32	   *turns;			/* the rollout of each run of steps */
	uint32	   *owners;			/* the rollout of each own row */
} RolloutPlaces;

extern void find_places(const GroupBuilder *builder, RolloutPlaces *places);
/* Start placing rows, also a second time. */
extern void begin_places(RolloutPlaces *places);
extern void free_places(RolloutPlaces *places);

/* The rollout of the current row, after this one; NULL: before the first row. */
static inline RolloutPlace *
next_place(const RolloutPlaces *places, RolloutPlace *rollout, const uint32 **turn, int64 rollout_id)
{
	return rollout != NULL && rollout->rollout_id == rollout_id ? rollout : &places->rollout[*(*turn)++];
}

/* After all rows are in their rollout's place: sort the steps of each rollout.  False: a step occurs twice. */
extern bool order_steps(const RolloutPlaces *places, const GroupColumns *group);

/*
 * Iterates over rows in the order of the value: rollouts by id, in each its own rows first, then steps by
 * step_no.  Steps that came in this order are decoded one by one; otherwise all at once, into their places.
 */
typedef struct OrderedRows
{
	RowWalk		walk;			/* over steps */
	StepRow		row;			/* the current step of the walk */
	char	   *placed;			/* all steps, in order; NULL: use the walk */
	Size		stride;
	uint64		position;
	uint64		n_steps;
	StepRow    *own;			/* own rows of rollouts */
	uint64		next_own;
	uint64		n_own;
	const StepRow *step;		/* the next step, */
	bool		step_waits;		/* which is known, but comes after the rollout's own rows */
} OrderedRows;

/* places: NULL if steps came sorted and rollouts have no rows of their own. */
extern void begin_ordered_rows(OrderedRows *rows, const GroupBuilder *builder, const RolloutPlaces *places);
extern void end_ordered_rows(OrderedRows *rows);

static inline const StepRow *
next_ordered_step(OrderedRows *rows)
{
	if (rows->placed == NULL)
		return next_step(&rows->walk, &rows->row) ? &rows->row : NULL;
	return rows->position < rows->n_steps ? (const StepRow *) (rows->placed + rows->position++ * rows->stride) : NULL;
}

/* NULL after the last row. */
static inline const StepRow *
next_ordered_row(OrderedRows *rows)
{
	if (rows->n_own == 0)
		return next_ordered_step(rows);
	if (!rows->step_waits)
		rows->step = next_ordered_step(rows);
	rows->step_waits = rows->next_own < rows->n_own &&
		(rows->step == NULL || rows->own[rows->next_own].rollout_id <= rows->step->rollout_id);
	return rows->step_waits ? &rows->own[rows->next_own++] : rows->step;
}

#endif							/* STEPADV_GROUP_ORDERED_ROWS_H */
