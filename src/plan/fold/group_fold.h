#ifndef STEPADV_GROUP_FOLD_H
#define STEPADV_GROUP_FOLD_H

#include "nodes/extensible.h"

/* Called by _PG_init: registers the node and its planner hook. */
extern void install_group_fold(void);

/*
 * Lists in custom_private, from the planner half (offer_fold.c) to the executor half (group_fold.c).  The
 * inputs are columns of the plan below: the keys of the group, the arguments of rollout_agg, and the condition
 * of its FILTER, if any.
 */
enum
{
	FOLD_INPUTS,				/* ints: column numbers in a row from below */
	FOLD_READS,					/* ints: how each input is read (input.h) */
	FOLD_EQUAL,					/* oids: by key, the equality operator */
	FOLD_LESS,					/* oids: by key, the ordering operator */
	FOLD_COLLATIONS,			/* oids: by key */
	FOLD_NULLS_FIRST,			/* ints: by key */
	FOLD_COUNTS,				/* ints: arguments, sorted by the keys, expected groups, lenient */
	N_FOLD_LISTS
};

extern Node *create_group_fold_state(CustomScan *plan);

#endif							/* STEPADV_GROUP_FOLD_H */
