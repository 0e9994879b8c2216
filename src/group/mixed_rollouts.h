/*
 * mixed_rollouts.h
 *		Collected rows of rollouts that take turns, each of which mostly has its steps in their order.
 */
#ifndef STEPADV_GROUP_MIXED_ROLLOUTS_H
#define STEPADV_GROUP_MIXED_ROLLOUTS_H

#include "group/collected_rows.h"

typedef struct MixedRollout
{
	int64		rollout_id;
	int32		last_step_no;	/* so far */
	uint32		n_rows;
	uint32		next;			/* where its next row goes in the value */
	uint32		follower;		/* whose turn it was after this one's, the last time */
	uint8		success;		/* what its rows say together */
	bool		in_order;		/* its steps came so */
} MixedRollout;

/* In the order in which they came first, and of the value. */
typedef struct MixedRollouts
{
	MixedRollout *rollout;
	MixedRollout **ordered;
	uint32		n;
	uint32		room;
	uint32	   *turns;			/* which rollout's it was, one after the other */
	bool		in_order;		/* the steps of all are; no: then the columns are put in order when they are there */
} MixedRollouts;

/* False: rows are to be put in order in another way. */
extern bool find_mixed_rollouts(const GroupBuilder *builder, MixedRollouts *mixed);
extern void free_mixed_rollouts(MixedRollouts *mixed);

/* When all rows are in the columns: the steps of every rollout in their order.  False: one is there twice. */
extern bool order_steps(const MixedRollouts *mixed, const GroupColumns *group);

#endif							/* STEPADV_GROUP_MIXED_ROLLOUTS_H */
