/*
 * recent.h
 *		The groups of the table that rows were of a short while ago.
 *
 * Where rollouts of many groups are under way, and each is written when it ends, rows
 * go from one of these groups to another and back.  Groups are known again by how their
 * keys are written, before the table is asked as the operators of the keys want it.
 */
#ifndef STEPADV_GROUP_FOLD_RECENT_H
#define STEPADV_GROUP_FOLD_RECENT_H

#include "plan/fold/group.h"

typedef struct RecentGroup
{
	MinimalTuple keys;			/* NULL: none */
	GroupBuilder *builder;
	Datum	   *values;			/* of the keys, */
	bool	   *nulls;			/* as in the tuple */
} RecentGroup;

/* Where the group of the row at hand is to be found, or put; NULL: it is not worth the while yet. */
extern RecentGroup *recent_group(GroupFoldState *fold);

/* The current group is. */
extern void remember_group(const GroupFoldState *fold, RecentGroup *recent);

static inline bool
is_recent(const GroupFoldState *fold, const RecentGroup *recent)
{
	return recent->keys != NULL && has_keys(fold, recent->values, recent->nulls);
}

#endif							/* STEPADV_GROUP_FOLD_RECENT_H */
