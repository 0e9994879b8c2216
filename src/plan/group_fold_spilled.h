/*
 * group_fold_spilled.h
 *		Values that the hash table of a GroupFold had no room for.
 */
#ifndef STEPADV_GROUP_FOLD_SPILLED_H
#define STEPADV_GROUP_FOLD_SPILLED_H

#include "plan/group_fold_state.h"

/* A row as the node gives it goes out. */
extern void spill_value(GroupFoldState *fold, TupleTableSlot *row);

/* When all have. */
extern void sort_spilled(GroupFoldState *fold);

/* All of it. */
extern void forget_spilled(GroupFoldState *fold);

/* FROM_SPILLED: the next group of them, NULL after the last. */
extern TupleTableSlot *merge_spilled(GroupFoldState *fold);

#endif							/* STEPADV_GROUP_FOLD_SPILLED_H */
