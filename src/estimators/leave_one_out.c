/*
 * leave_one_out.c
 *		Estimates for the steps of one rollout from the others of its group, compared with what it received.
 *
 * The method sees only the others.  For a step (s,a) of the rollout left out,
 *
 *	estimate		A(s,a)	= mean of the method's advantages over the others' steps of (s,a)
 *	happened	y		= return from the step on - V(s)
 *
 * where V(s) is the value estimated from the others: by batch TD with a prior of half a visit with the mean return
 * of first steps, for all methods, so that all are compared with the same y.  If none of the others visited the
 * state, V(s) is that mean.  The rollout is independent of the others, so the expectation of A y over its actions
 * and their results is that of A (Q - V).
 *
 * Q - V has mean 0 over the actions of a state, so only differences between the estimates of actions can be right.
 * The error of V is the same for all of them.  Subtracting from A its mean over the others' steps in the state keeps
 * this error, and estimates of states rather than actions, out of the slope of y on A.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/leave_one_out.h"
#include "estimators/returns.h"
#include "estimators/values/bellman.h"
#include "hash.h"
#include "sum.h"

/* Visits that the mean return of first steps counts in the value of a state. */
#define PRIOR_VISITS 0.5

void
prepare_leave_one_out(const GroupColumns *group, const RolloutFacts *facts, double gamma, LeaveOneOut *out)
{
	out->group = group;
	out->facts = facts;
	out->gamma = gamma;
	out->returns = ALLOCATE_ARRAY(double, group->n_steps);
	discounted_returns(group, gamma, out->returns);
	number_states(group, facts, &out->states);
	number_pairs(group, &out->states, &out->pairs);
	out->next = find_next_states(group, &out->states, NULL);
}

typedef struct Candidate
{
	uint64		hash;
	uint32		rollout;
} Candidate;

static int
compare_candidates(const void *a, const void *b)
{
	const Candidate *one = a;
	const Candidate *other = b;

	CHECK_FOR_INTERRUPTS();
	if (one->hash != other->hash)
		return one->hash < other->hash ? -1 : 1;
	return one->rollout < other->rollout ? -1 : one->rollout > other->rollout;
}

void
choose_left_out(const GroupColumns *group, const RolloutFacts *facts, uint32 most, int64 seed, bool *chosen)
{
	Candidate  *candidates = ALLOCATE_ARRAY(Candidate, group->n_rollouts);
	uint32		n = 0;
	uint32		n_all = 0;		/* with those of the history */

	memset(chosen, false, group->n_rollouts * sizeof(bool));
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (!facts->judged[r] || group->n_rollout_steps[r] == 0)
			continue;
		n_all++;
		if (r < facts->n_own)
			candidates[n++] = (Candidate) {(uint64) hash_int64_onto(group->rollout_id[r], seed), r};
	}
	/* A single rollout cannot be compared with others. */
	if (n_all < 2)
		n = 0;
	if (n > most)
	{
		qsort(candidates, n, sizeof(Candidate), compare_candidates);
		n = most;
	}
	for (uint32 i = 0; i < n; i++)
		chosen[candidates[i].rollout] = true;
	pfree(candidates);
}

/* The mean return of the others from their first steps. */
static double
start_value_by_others(const LeaveOneOut *out, uint32 rollout)
{
	const GroupColumns *group = out->group;
	Sum			sum = {0};
	uint32		n = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (r != rollout && out->facts->judged[r] && group->n_rollout_steps[r] > 0)
		{
			sum_add(&sum, out->returns[group->first_step[r]]);
			n++;
		}
	return n == 0 ? 0 : sum_value(&sum) / n;
}

void
value_by_others(const LeaveOneOut *out, uint32 rollout, double *value, bool *known)
{
	const GroupColumns *group = out->group;
	uint32		first = group->first_step[rollout];
	uint32		n = group->n_rollout_steps[rollout];
	double		start_value = start_value_by_others(out, rollout);
	BellmanOptions options = {out->gamma, 0, PRIOR_VISITS, start_value};
	Identities	others = out->states;
	uint32	   *visits = ALLOCATE_ZEROED_ARRAY(uint32, others.n);
	Sum		   *sum = ALLOCATE_ZEROED_ARRAY(Sum, others.n);
	double	   *target;

	others.of_step = ALLOCATE_ARRAY(int32, group->n_steps);
	memcpy(others.of_step, out->states.of_step, group->n_steps * sizeof(int32));
	for (uint32 i = first; i < first + n; i++)
		others.of_step[i] = NO_IDENTITY;
	target = bellman_targets(group, &others, out->next, &options);
	for (uint32 i = 0; i < group->n_steps; i++)
		if (others.of_step[i] != NO_IDENTITY)
		{
			sum_add(&sum[others.of_step[i]], target[i]);
			visits[others.of_step[i]]++;
		}
	for (uint32 i = 0; i < n; i++)
	{
		int32		state = out->states.of_step[first + i];

		known[i] = visits[state] > 0;
		value[i] = (sum_value(&sum[state]) + PRIOR_VISITS * start_value) / (visits[state] + PRIOR_VISITS);
	}
	pfree(target);
	pfree(others.of_step);
	pfree(visits);
	pfree(sum);
}

PairEstimate *
mean_by_pair(const LeaveOneOut *out, uint32 rollout, const double *advantage)
{
	const GroupColumns *group = out->group;
	PairEstimate *means = ALLOCATE_ZEROED_ARRAY(PairEstimate, out->pairs.n);
	Sum		   *sum = ALLOCATE_ZEROED_ARRAY(Sum, out->pairs.n);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (r == rollout || !out->facts->judged[r])
			continue;
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
			if (isfinite(advantage[i]))
			{
				sum_add(&sum[out->pairs.of_step[i]], advantage[i]);
				means[out->pairs.of_step[i]].n++;
			}
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < out->pairs.n; p++)
		if (means[p].n > 0)
			means[p].mean = sum_value(&sum[p]) / means[p].n;
	pfree(sum);
	return means;
}

double *
average_by_state(const LeaveOneOut *out, const PairEstimate *means)
{
	double	   *mean = ALLOCATE_ZEROED_ARRAY(double, out->states.n);
	Sum		   *sum = ALLOCATE_ZEROED_ARRAY(Sum, out->states.n);
	uint32	   *n = ALLOCATE_ZEROED_ARRAY(uint32, out->states.n);

	for (uint32 p = 0; p < out->pairs.n; p++)
	{
		int32		state = out->states.of_step[out->pairs.first_step[p]];

		sum_add(&sum[state], means[p].n * means[p].mean);
		n[state] += means[p].n;
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 s = 0; s < out->states.n; s++)
		if (n[s] > 0)
			mean[s] = sum_value(&sum[s]) / n[s];
	pfree(sum);
	pfree(n);
	return mean;
}
