/*
 * pool.h
 *		The rollouts of a group and of its history as one, for methods that learn
 *		what states are worth from both.
 */
#ifndef STEPADV_GROUP_POOL_H
#define STEPADV_GROUP_POOL_H

#include "group/facts.h"

/*
 * The rollouts of `group`, as they are and in their order, and after them those of
 * `history` that are not among them.  Both have their units.  The result has
 * no reward components, and is forgiving if `group` is.
 */
extern void pool_groups(const GroupColumns *group, const GroupColumns *history, GroupColumns *pooled);

/*
 * The union of groups of which no two have a rollout in common, as rollup makes it, in less time.  NULL: two have one,
 * or they differ in their unit, or have reward components.
 */
extern RolloutGroup *unite_apart(const GroupColumns *groups, uint32 n_groups);

/* An error unless steps are the same of both, opened as they are stored; without rollouts there are none. */
extern void require_same_unit(const GroupColumns *group, const GroupColumns *history);

/*
 * By rollout of a pool what a visit counts: 1 for the first n_own, decay^age for the
 * others, whose age is how many policy steps they lie before the newest of the first.
 * NULL: all count 1.  One of which no policy step is known is an error; in a pool
 * that is forgiving it is not judged, if it is of the history, and if none of the first
 * is known no session is.
 */
extern const double *weigh_by_age(const GroupColumns *pooled, uint32 n_own, double decay, RolloutFacts *facts);

#endif							/* STEPADV_GROUP_POOL_H */
