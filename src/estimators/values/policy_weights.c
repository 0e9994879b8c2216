/*
 * policy_weights.c
 *		Weighs visits by the policy's probabilities instead of the frequencies of its actions.
 *
 * Probabilities are computed relative to the most likely action of a state, so that none is out of range.
 */
#include "postgres.h"

#include "arrays.h"
#include "estimators/values/policy_weights.h"
#include "sum.h"

/* The minimum weight, so that a visit stays one: negligible beside 1, but products of two are still above 0. */
#define LEAST_WEIGHT 1e-100

static _Noreturn void
refuse_missing_logp(const GroupColumns *group, uint32 step)
{
	uint32		r = 0;

	while (group->first_step[r + 1] <= step)
		r++;
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("logp of rollout " INT64_FORMAT ", step %d is null, which weights => 'policy' needs",
					group->rollout_id[r], group->step_no[step]),
			 errhint("rollout_agg takes logp, the log-probability of the step's action, as its last argument.")));
}

/* By state, the largest logp of its visits; NaN if any is missing. */
static double *
find_most_likely(const GroupColumns *group, const Identities *states, const double *weight)
{
	double	   *most = ALLOCATE_ARRAY(double, states->n);

	for (uint32 s = 0; s < states->n; s++)
		most[s] = -INFINITY;
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		state = states->of_step[i];
		double		logp = group->logp ? group->logp[i] : NAN;

		CHECK_ONCE_IN_A_WHILE(i);
		if (state == NO_IDENTITY || !(weight[i] > 0))
			continue;
		if (isnan(logp) && !group->lenient)
			refuse_missing_logp(group, i);
		/* Once NaN, it stays NaN. */
		if (isnan(logp) || logp > most[state])
			most[state] = logp;
	}
	return most;
}

/* Sums over the visits of a pair or a state. */
typedef struct PolicySums
{
	double		visits;
	Sum			probability;	/* of a pair: over its visits; of a state: sum of its pairs' means */
} PolicySums;

void
weigh_by_policy(const GroupColumns *group, const Identities *states, const Identities *pairs, double *weight)
{
	double	   *most = find_most_likely(group, states, weight);
	PolicySums *of_pair = ALLOCATE_ZEROED_ARRAY(PolicySums, pairs->n);
	PolicySums *of_state = ALLOCATE_ZEROED_ARRAY(PolicySums, states->n);

	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		pair = pairs->of_step[i];

		CHECK_ONCE_IN_A_WHILE(i);
		if (pair == NO_IDENTITY || !(weight[i] > 0) || isnan(most[states->of_step[i]]))
			continue;
		of_pair[pair].visits += weight[i];
		sum_add(&of_pair[pair].probability, weight[i] * exp(group->logp[i] - most[states->of_step[i]]));
	}
	for (uint32 p = 0; p < pairs->n; p++)
	{
		int32		state = states->of_step[pairs->first_step[p]];

		CHECK_ONCE_IN_A_WHILE(p);
		if (of_pair[p].visits == 0)
			continue;
		of_state[state].visits += of_pair[p].visits;
		sum_add(&of_state[state].probability, sum_value(&of_pair[p].probability) / of_pair[p].visits);
	}
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		pair = pairs->of_step[i];
		int32		state = states->of_step[i];
		double		pi;

		CHECK_ONCE_IN_A_WHILE(i);
		if (pair == NO_IDENTITY || !(weight[i] > 0) || isnan(most[state]))
			continue;
		pi = sum_value(&of_pair[pair].probability) / of_pair[pair].visits / sum_value(&of_state[state].probability);
		weight[i] = Max(weight[i] * pi * of_state[state].visits / of_pair[pair].visits, LEAST_WEIGHT);
	}
	pfree(most);
	pfree(of_pair);
	pfree(of_state);
}
