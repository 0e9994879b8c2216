/*
 * facts.h
 *		What every method reads of the rollouts of a group.
 */
#ifndef STEPADV_GROUP_FACTS_H
#define STEPADV_GROUP_FACTS_H

#include "group/group.h"

typedef struct RolloutFacts
{
	bool	   *judged;			/* has a reward or a success on any row, and no defect that matters to all */
	double	   *total;			/* undiscounted return R_i, outcome included */
	uint32		n_judged;
	uint32		n_own;			/* rollouts of the group itself, the first ones; the others are of its history */
	const double *weight;		/* what a visit by it counts; NULL: 1, whosesoever it is */
} RolloutFacts;

extern void find_rollout_facts(const GroupColumns *group, RolloutFacts *facts);

/* For a method that reads columns where rollouts may have these defects: they are not judged. */
extern void leave_out_defects(const GroupColumns *group, uint8 defects, RolloutFacts *facts);

/* Finite input can still overflow: an error, rather than infinity. */
extern _Noreturn void refuse_overflow(const GroupColumns *group, uint32 rollout, uint32 step);

/* A rollout's own word, else whether its return exceeds success_above. */
static inline bool
rollout_succeeded(const GroupColumns *group, const RolloutFacts *facts, uint32 rollout, double success_above)
{
	if (group->success[rollout] != SUCCESS_UNKNOWN)
		return group->success[rollout] == SUCCESS_TRUE;
	return facts->total[rollout] > success_above;
}

#endif							/* STEPADV_GROUP_FACTS_H */
