/*
 * group_fold_table.h
 *		The hash table of a GroupFold whose rows come in no order.
 */
#ifndef STEPADV_GROUP_FOLD_TABLE_H
#define STEPADV_GROUP_FOLD_TABLE_H

#include "plan/group_fold_state.h"

/* Fold all rows from below, or this process's share of them: what follows says fold->phase. */
extern void fold_unsorted(GroupFoldState *fold);
extern void fold_with_others(GroupFoldState *fold);

/* FROM_TABLE: from the first group on, the next one, NULL after the last. */
extern void begin_giving_table(GroupFoldState *fold);
extern TupleTableSlot *next_of_table(GroupFoldState *fold);

/* FROM_PARTS: the next part of what processes sent becomes what was spilled; false after the last. */
extern bool take_merged_part(GroupFoldState *fold);

#endif							/* STEPADV_GROUP_FOLD_TABLE_H */
