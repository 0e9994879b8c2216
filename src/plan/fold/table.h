#ifndef STEPADV_GROUP_FOLD_TABLE_H
#define STEPADV_GROUP_FOLD_TABLE_H

#include "plan/fold/group_fold_state.h"

/* Fold all rows from below, or this process's share, and set fold->phase. */
extern void fold_unsorted(GroupFoldState *fold);
extern void fold_with_others(GroupFoldState *fold);

/* FROM_TABLE: the next group as a row; NULL after the last. */
extern TupleTableSlot *next_of_table(GroupFoldState *fold);

/* FROM_SPILL: spilled groups that were not met again, NULL after the last; false: nothing was spilled. */
extern bool begin_giving_spill(GroupFoldState *fold);
extern TupleTableSlot *next_of_spill(GroupFoldState *fold);
extern void forget_spill(GroupFoldState *fold);

#endif							/* STEPADV_GROUP_FOLD_TABLE_H */
