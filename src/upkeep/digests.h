#ifndef STEPADV_UPKEEP_DIGESTS_H
#define STEPADV_UPKEEP_DIGESTS_H

#include "long_work.h"
#include "upkeep/kept.h"

/* A statement about the groups from one to before another, as a whole. */
extern void kept_execute_set(Kept *kept, KeptStatement statement, SPITupleTable *groups, uint64 from, uint64 to);

/* Of these groups, whose values are kept.  await_steps: which of them have rollouts whose steps are about to come. */
extern void keep_digests(Kept *kept, SPITupleTable *groups, const bool *await_steps, LongWork *work);

/* Of all groups, about so many. is_asked: reports progress. */
extern void keep_all_digests(Kept *kept, bool is_asked, uint64 n_groups);

/* Groups whose digests were left to readers; returns how many. No other session may change kept groups. */
extern uint64 keep_digests_left(Kept *kept);

/* A group's value is kept: half of the work with it, if there is more than that. */
extern void group_done(const Kept *kept, LongWork *work);

#endif							/* STEPADV_UPKEEP_DIGESTS_H */
