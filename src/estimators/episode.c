/*
 * episode.c
 *		Group-relative advantages of whole rollouts: those of GRPO and RLOO, and the episode part of
 *		step-level methods.
 */
#include "postgres.h"

#include "arrays.h"
#include "estimators/episode.h"
#include "estimators/returns.h"
#include "group/facts.h"

/* How often each rollout counts in the statistics of its group. */
static uint32 *
rollout_weights(const GroupColumns *group, const RolloutFacts *facts, bool by_step)
{
	uint32	   *weight = ALLOCATE_ARRAY(uint32, group->n_rollouts);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		weight[r] = !facts->judged[r] ? 0 : by_step ? group->n_rollout_steps[r] : 1;
	return weight;
}

void
episode_advantages(const GroupColumns *group, const RolloutFacts *facts, bool by_step,
				   const NormaliseOptions *options, double *advantage, double *baseline)
{
	uint32	   *weight = rollout_weights(group, facts, by_step);
	double	   *by_rollout = ALLOCATE_ARRAY(double, group->n_rollouts);
	double	   *subtracted = ALLOCATE_ARRAY(double, group->n_rollouts);

	normalise(facts->total, weight, NULL, group->n_rollouts, 1, options, by_rollout, subtracted);
	broadcast_to_steps(group, by_rollout, advantage);
	if (baseline)
		broadcast_to_steps(group, subtracted, baseline);
	pfree(weight);
	pfree(by_rollout);
	pfree(subtracted);
}
