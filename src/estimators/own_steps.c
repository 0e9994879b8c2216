/*
 * own_steps.c
 *		Advantages on the scale that trainers expect, for methods whose scale is that of rewards: divided by
 *		their standard deviation over the steps of the group, as GRPO divides returns.
 */
#include "postgres.h"

#include "arrays.h"
#include "estimators/own_steps.h"

void
normalise_own_steps(const GroupColumns *group, const RolloutFacts *facts, Normalisation normalisation,
					double epsilon, double *advantage)
{
	NormaliseOptions options = {normalisation, epsilon, SINGLETON_ZERO, NULL};
	int32	   *set;

	if (normalisation == NORMALISE_NONE || group->n_steps == 0)
		return;
	set = ALLOCATE_ARRAY(int32, group->n_steps);
	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			CHECK_ONCE_IN_A_WHILE(i);
			set[i] = facts->judged[r] && r < facts->n_own ? 0 : NO_SET;
		}
	normalise(advantage, NULL, set, group->n_steps, 1, &options, advantage, NULL);
	pfree(set);
}
