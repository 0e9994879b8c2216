/*
 * table.h
 *		The hash table of a GroupFold whose rows come in no order.
 */
#ifndef STEPADV_GROUP_FOLD_TABLE_H
#define STEPADV_GROUP_FOLD_TABLE_H

#include "plan/fold/state.h"

/* Fold all rows from below, or this process's share of them: what follows says fold->phase. */
extern void fold_unsorted(GroupFoldState *fold);
extern void fold_with_others(GroupFoldState *fold);

/* A new hash table, for about so many groups. */
extern void begin_table(GroupFoldState *fold, long n_groups);

/* From the first group on, the next one that has not been sent, NULL after the last. */
extern void begin_giving_table(GroupFoldState *fold);
extern TupleHashEntry next_entry(GroupFoldState *fold);

/* FROM_TABLE: as a row; NULL after the last. */
extern TupleTableSlot *next_of_table(GroupFoldState *fold);

/* FROM_SPILL: what went out of the table and was not met again, NULL after the last; false: nothing went out. */
extern bool begin_giving_spill(GroupFoldState *fold);
extern TupleTableSlot *next_of_spill(GroupFoldState *fold);
extern void forget_spill(GroupFoldState *fold);

/* For EXPLAIN: what memory is taken now. */
extern void note_memory(GroupFoldState *fold);

#endif							/* STEPADV_GROUP_FOLD_TABLE_H */
