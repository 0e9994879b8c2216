#ifndef STEPADV_RETURNS_H
#define STEPADV_RETURNS_H

#include "group/group.h"

/* The reward of a step: 0 if there is none.  The rollout's outcome is added to the last step's. */
static inline double
step_reward(const GroupColumns *group, uint32 rollout, uint32 step)
{
	double		reward = isnan(group->reward[step]) ? 0 : group->reward[step];

	if (group->outcome != NULL && step + 1 == group->first_step[rollout + 1] &&
		!isnan(group->outcome[rollout]))
		reward += group->outcome[rollout];
	return reward;
}

/* G_t = r_t + gamma G_{t+1} for every step of the group. */
extern void discounted_returns(const GroupColumns *group, double gamma, double *returns);

/* Repeat one value per rollout on its steps. */
extern void broadcast_to_steps(const GroupColumns *group, const double *by_rollout, double *by_step);

#endif							/* STEPADV_RETURNS_H */
