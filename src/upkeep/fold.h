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

#endif							/* STEPADV_FOLD_H */
