/*
 * fold.h
 *		Folding kept groups again.
 */
#ifndef STEPADV_FOLD_H
#define STEPADV_FOLD_H

#include "upkeep/kept.h"

/* These groups, which are in the order of their keys. */
extern void fold_these(Kept *kept, SPITupleTable *groups);

/* All of them; how many. */
extern uint64 fold_all(Kept *kept);

/*
 * Those that wait; how many there were.  is_alone: nobody else changes kept
 * groups meanwhile, so all may be folded where that is cheaper.
 */
extern uint64 fold_waiting(Kept *kept, bool is_alone);

/*
 * Do what may fail because of the data in a subtransaction; false if it failed.
 * Where it only reads, to undo it costs nothing.
 */
extern bool succeeds(void (*work) (void *argument), void *argument);

/* Whether tables may be read as a whole where an index leads to groups. */
extern void allow_sequential_scans(Kept *kept, bool allow);

/* Whether to fold all groups is cheaper than so many of them one by one. */
extern bool are_most(const Kept *kept, uint64 n);

#endif							/* STEPADV_FOLD_H */
