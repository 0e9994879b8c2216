#ifndef STEPADV_GROUP_ORDERED_ROWS_H
#define STEPADV_GROUP_ORDERED_ROWS_H

#include "group/collected_rows.h"

/* A rollout among rows that came in no order, or with rows of rollouts themselves, and where these go. */
typedef struct RolloutPlace
{
	int64		rollout_id;
	uint64		n_own;			/* rows of the rollout itself, which are no steps */
	uint64		n_steps;
	uint64		next_own;		/* the place of its next row among those of rollouts themselves, */
	uint64		next_step;		/* and of its next step among steps */
	uint32		rank;			/* of it, in the order of the value */
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
	uint32	   *owners;			/* of rows of rollouts themselves */
} RolloutPlaces;

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
 * The rows in the order of the value: rollouts by id, of each its own rows first, then steps by step_no.  Steps
 * that came so are decoded one by one; others all at once, each into its place.
 */
typedef struct OrderedRows
{
	RowWalk		walk;			/* of steps */
	StepRow		row;			/* where the walk is */
	char	   *placed;			/* NULL: walk */
	Size		stride;
	uint64		position;
	uint64		n_steps;
	StepRow    *own;			/* rows of rollouts themselves */
	uint64		next_own;
	uint64		n_own;
	const StepRow *step;		/* the next one, */
	bool		step_waits;		/* if it is known, until those of its rollout itself have been given */
} OrderedRows;

/* Places: NULL if steps came sorted, and there are no rows of rollouts themselves. */
extern void begin_ordered_rows(OrderedRows *rows, const GroupBuilder *builder, const RolloutPlaces *places);
extern void end_ordered_rows(OrderedRows *rows);

static inline const StepRow *
next_ordered_step(OrderedRows *rows)
{
	if (rows->placed == NULL)
		return next_step(&rows->walk, &rows->row) ? &rows->row : NULL;
	return rows->position < rows->n_steps ? (const StepRow *) (rows->placed + rows->position++ * rows->stride) : NULL;
}

/* NULL after the last one. */
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
