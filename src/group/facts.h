/*
 * facts.h
 *		What every method needs to know about the rollouts of a group.
 */
#ifndef STEPADV_GROUP_FACTS_H
#define STEPADV_GROUP_FACTS_H

#include "group/group.h"

typedef struct RolloutFacts
{
	bool	   *judged;			/* has a reward or a success on any row, and no defect in DEFECTS_FOR_ALL */
	double	   *total;			/* undiscounted return R_i, with the outcome */
	uint32		n_judged;
	uint32		n_own;			/* the first n_own rollouts are of the group itself, the others of its history */
	const double *weight;		/* of a visit, by rollout; NULL: all weigh 1 */
} RolloutFacts;

extern void find_rollout_facts(const GroupColumns *group, RolloutFacts *facts);

/* For methods that read columns with these defects: rollouts that have any count as not judged. */
extern void leave_out_defects(const GroupColumns *group, uint8 defects, RolloutFacts *facts);

/* Finite input can still overflow.  Raise an error rather than return infinity. */
extern _Noreturn void refuse_overflow(const GroupColumns *group, uint32 rollout, uint32 step);

/* The success given for a rollout, or else whether its return exceeds success_above. */
static inline bool
rollout_succeeded(const GroupColumns *group, const RolloutFacts *facts, uint32 rollout, double success_above)
{
	if (group->success[rollout] != SUCCESS_UNKNOWN)
		return group->success[rollout] == SUCCESS_TRUE;
	return facts->total[rollout] > success_above;
}

#endif							/* STEPADV_GROUP_FACTS_H */
