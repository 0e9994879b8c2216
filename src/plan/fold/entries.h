/*
 * entries.h
 *		The hash table itself, which holds the groups of unsorted rows, or of a part of them.
 */
#ifndef STEPADV_GROUP_FOLD_ENTRIES_H
#define STEPADV_GROUP_FOLD_ENTRIES_H

#include "plan/fold/state.h"

/* A new hash table, for about so many groups. */
extern void begin_table(GroupFoldState *fold, long n_groups);

/* From the first group on, the next one that has not been sent, NULL after the last. */
extern void begin_giving_table(GroupFoldState *fold);
extern TupleHashEntry next_entry(GroupFoldState *fold);

/* For EXPLAIN: what memory is taken now. */
extern void note_memory(GroupFoldState *fold);

#endif							/* STEPADV_GROUP_FOLD_ENTRIES_H */
