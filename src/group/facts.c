#include "postgres.h"

#include "arrays.h"
#include "group/facts.h"
#include "sum.h"

void
refuse_overflow(const GroupColumns *group, uint32 rollout, uint32 step)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("estimate of rollout " INT64_FORMAT ", step %d is out of range for type double precision",
					group->rollout_id[rollout], group->step_no[step])));
}

void
find_rollout_facts(const GroupColumns *group, RolloutFacts *facts)
{
	facts->judged = ALLOCATE_ARRAY(bool, group->n_rollouts);
	facts->total = ALLOCATE_ARRAY(double, group->n_rollouts);
	facts->n_judged = 0;
	facts->n_own = group->n_rollouts;
	facts->weight = NULL;
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		bool		judged = group->success[r] != SUCCESS_UNKNOWN;
		Sum			total = {0};

		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			double		reward = group->reward[i];

			if (isnan(reward))
				continue;
			judged = true;
			/* Most rewards are 0 and need not be added. */
			if (reward != 0)
				sum_add(&total, reward);
		}
		if (group->outcome != NULL && !isnan(group->outcome[r]))
		{
			judged = true;
			sum_add(&total, group->outcome[r]);
		}
		/* A rollout with such a defect, or whose total overflows in a lenient group, is not judged. */
		if ((group->defects != NULL && (group->defects[r] & DEFECTS_FOR_ALL) != 0) ||
			(group->lenient && !isfinite(sum_value(&total))))
		{
			judged = false;
			total = (Sum) {0};
		}
		facts->judged[r] = judged;
		facts->total[r] = sum_value(&total);
		if (!isfinite(facts->total[r]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("return of rollout " INT64_FORMAT " is out of range for type double precision",
							group->rollout_id[r])));
		if (judged)
			facts->n_judged++;
	}
}

void
leave_out_defects(const GroupColumns *group, uint8 defects, RolloutFacts *facts)
{
	for (uint32 r = 0; group->defects != NULL && r < group->n_rollouts; r++)
		if ((group->defects[r] & defects) != 0 && facts->judged[r])
		{
			facts->judged[r] = false;
			facts->total[r] = 0;
			facts->n_judged--;
		}
}
