/*
 * group_fold_table.h
 *		The hash table of a GroupFold whose rows come in no order.
 */
#ifndef STEPADV_GROUP_FOLD_TABLE_H
#define STEPADV_GROUP_FOLD_TABLE_H

#include "plan/group_fold_state.h"

/* Fold all rows from below: what follows says fold->phase. */
extern void hash_rows(GroupFoldState *fold);

/* FROM_TABLE: from the first group on, the next one, NULL after the last. */
extern void begin_giving_table(GroupFoldState *fold);
extern TupleTableSlot *next_of_table(GroupFoldState *fold);

#endif							/* STEPADV_GROUP_FOLD_TABLE_H */
