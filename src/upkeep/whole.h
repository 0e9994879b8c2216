/*
 * whole.h
 *		Reading the tables as a whole, instead of group by group.
 */
#ifndef STEPADV_UPKEEP_WHOLE_H
#define STEPADV_UPKEEP_WHOLE_H

#include "upkeep/kept.h"

/*
 * Of so many changed groups, and if they are this part of all, a refresh folds everything:
 * one scan of the tables instead of so many.  To fold a group through the index was
 * measured to take between once and twice as long as its part of a fold of all of them.
 */
#define MANY_GROUPS 100
#define LARGE_PART 0.45

/* Whether to fold all groups is cheaper than so many of them one by one. */
extern bool are_most(const Kept *kept, uint64 n);

/* Whether tables may be read as a whole where an index leads to groups. */
extern void allow_sequential_scans(Kept *kept, bool allow);

/* A statement that reads all rows; progress is reported, if that is enabled. */
extern void telling_rows(const Kept *kept, void (*fold) (void *argument), void *argument, const char *units, bool is_asked);

#endif							/* STEPADV_UPKEEP_WHOLE_H */
