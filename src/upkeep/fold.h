#ifndef STEPADV_FOLD_H
#define STEPADV_FOLD_H

#include "long_work.h"
#include "upkeep/kept.h"

/*
 * These groups, which are in the order of their keys, and their digests.
 * have_grown: rows were added to them, nothing else.  work, unless NULL, reports how far
 * it is.
 */
extern void fold_these(Kept *kept, SPITupleTable *groups, bool have_grown, LongWork *work);

/* All of them; returns how many. is_asked: by refresh(full). */
extern uint64 fold_all(Kept *kept, bool is_asked);

#endif							/* STEPADV_FOLD_H */
