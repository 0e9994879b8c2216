#ifndef STEPADV_FOLD_H
#define STEPADV_FOLD_H

#include "long_work.h"
#include "upkeep/kept.h"

/*
 * Fold these groups, in the order of their keys, and their digests.  have_grown: rows were only added to
 * them.  work, unless NULL, reports progress.
 */
extern void fold_these(Kept *kept, SPITupleTable *groups, bool have_grown, LongWork *work);

/* Fold all groups; returns their number.  is_asked: by refresh(full). */
extern uint64 fold_all(Kept *kept, bool is_asked);

#endif							/* STEPADV_FOLD_H */
