#ifndef STEPADV_KEPT_DIGESTS_H
#define STEPADV_KEPT_DIGESTS_H

#include "long_work.h"
#include "upkeep/kept.h"

/* Run a statement on the groups from .. to - 1 as a set. */
extern void kept_execute_set(Kept *kept, KeptStatement statement, SPITupleTable *groups, uint64 from, uint64 to);

/*
 * Update the digests of groups whose values are kept.  await_steps: which groups have rollouts whose steps
 * are yet to come.
 */
extern void keep_digests(Kept *kept, SPITupleTable *groups, const bool *await_steps, LongWork *work);

/* Compute the digests of all groups, about n_groups.  is_asked: report progress. */
extern void keep_all_digests(Kept *kept, bool is_asked, uint64 n_groups);

/* Compute the digests left to readers; returns their number.  No other session may change kept groups meanwhile. */
extern uint64 keep_digests_left(Kept *kept);

/* Report progress: a group's value or its digests are done, each half of the work if there are digests. */
extern void group_done(const Kept *kept, LongWork *work);

#endif							/* STEPADV_KEPT_DIGESTS_H */
