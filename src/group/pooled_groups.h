/*
 * pooled_groups.h
 *		Combines the rollouts of a group and of its history, for methods that learn state values from both.
 */
#ifndef STEPADV_GROUP_POOLED_GROUPS_H
#define STEPADV_GROUP_POOLED_GROUPS_H

#include "group/facts.h"

/*
 * Combine the rollouts of group, unchanged and in order, with those of history that group does not have, which
 * follow.  Both have been opened by their units.  The result has no reward components, and is lenient if group
 * is.
 */
extern void pool_groups(const GroupColumns *group, const GroupColumns *history, GroupColumns *pooled);

/*
 * The union of groups without common rollouts; the same as rollup, but faster.  NULL if two groups have a
 * rollout in common, or they differ in their unit or have reward components.
 */
extern RolloutGroup *unite_apart(const GroupColumns *groups, uint32 n_groups);

/* An error unless both groups, opened as stored, have the same unit, or the history has no rollouts. */
extern void require_same_unit(const GroupColumns *group, const GroupColumns *history);

/*
 * The weight of a visit, by rollout of a pool: 1 for the first n_own, decay^age for the others, where the age
 * is the number of policy steps before the newest one of the first.  NULL: all weigh 1.  A rollout without a
 * policy step is an error.  In a lenient pool, a history rollout without one counts as not judged instead; if
 * none of the first has one, no rollout is judged.
 */
extern const double *weigh_by_age(const GroupColumns *pooled, uint32 n_own, double decay, RolloutFacts *facts);

#endif							/* STEPADV_GROUP_POOLED_GROUPS_H */
