#ifndef STEPADV_GROUP_FOLD_H
#define STEPADV_GROUP_FOLD_H

#include "nodes/extensible.h"

/* For _PG_init: makes the planner know the node. */
extern void install_group_fold(void);

/*
 * What the planner's half (offer_fold.c) passes to the executor's
 * (group_fold.c), each a list in custom_private.  Inputs are the keys of the
 * group, the arguments of rollout_agg, and the condition of its FILTER, if any:
 * columns of the plan below.
 */
enum
{
	FOLD_INPUTS,				/* ints: where they are in a row from below */
	FOLD_READS,					/* ints: how each of them is read (input.h) */
	FOLD_EQUAL,					/* oids: by key, the operator = */
	FOLD_LESS,					/* oids: by key, the operator < or > of its order */
	FOLD_COLLATIONS,			/* oids: by key */
	FOLD_NULLS_FIRST,			/* ints: by key */
	FOLD_COUNTS,				/* ints: arguments, sorted by the keys or not, groups expected, forgiving or not */
	N_FOLD_LISTS
};

extern Node *create_group_fold_state(CustomScan *plan);

#endif							/* STEPADV_GROUP_FOLD_H */
