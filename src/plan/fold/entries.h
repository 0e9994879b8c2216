/*
 * entries.h
 *		The hash table itself, which holds the groups of unsorted rows, or of a part of them.
 */
#ifndef STEPADV_GROUP_FOLD_ENTRIES_H
#define STEPADV_GROUP_FOLD_ENTRIES_H

#include "plan/fold/current_group.h"

/* A new hash table, for about so many groups. */
extern void begin_table(GroupFoldState *fold, long n_groups);

/* From the first group on, the next one that has not been sent, NULL after the last. */
extern void begin_giving_table(GroupFoldState *fold);
extern TupleHashEntry next_entry(GroupFoldState *fold);

/* For EXPLAIN: what memory is taken now. */
extern void note_memory(GroupFoldState *fold);

/*
 * The groups of the table that rows were of a short while ago.  Where rollouts of many groups are under
 * way, and each is written when it ends, rows go from one of these groups to another and back.  Groups
 * are known again by how their keys are written, before the table is asked as the operators of the keys want it.
 */
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

#endif							/* STEPADV_GROUP_FOLD_ENTRIES_H */
