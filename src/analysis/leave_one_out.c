/*
 * leave_one_out.c
 *		What the other rollouts of a group say about the steps of one, and what
 *		then happened to it.
 *
 * A method has seen the others only.  Of a step (s,a) of the rollout left out
 *
 *	said		A(s,a)	= mean of the method's advantages over the others' steps of (s,a)
 *	happened	y		= return from the step on - V(s)
 *
 * where V(s) is the value by the others: batch TD with half a visit's worth of the
 * mean return of first steps, whatever the method, so that all are measured by the same y;
 * of a state that none of them has been in, that mean.  The rollout knew nothing of
 * the others, so over what it does and what befalls it the expectation of f(said) y is that
 * of f(said) (Q - V), for whatever f of what was said.  Three such f add up: A itself, its rank among the
 * others' steps (-1/2 to 1/2, ties in the middle) and its sign.
 *
 * Q - V has mean 0 over the actions of a state, so only what is said of one action
 * more than of another can be right.  V is wrong by as much for all of them; that f(said) is
 * diminished by its mean over the others' steps of the state keeps such errors, and what
 * a method says of states instead of actions, out of the products.  The
 * squares, by which the products are divided, are of f(said) as it was said: what says nothing
 * about actions counts as wrong.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "analysis/leave_one_out.h"
#include "estimators/returns.h"
#include "estimators/values/bellman.h"
#include "hash.h"

/* Visits' worth of the mean return of first steps in the value of a state. */
#define PRIOR_VISITS 0.5

/* Of the largest: what two roundings of the same number differ by at most. */
#define TIE 1e-12

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

/* ----------
 * Which rollouts
 * ----------
 */

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
	uint32		n_all = 0;		/* with those of its history */

	memset(chosen, false, group->n_rollouts * sizeof(bool));
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (!facts->judged[r] || group->n_rollout_steps[r] == 0)
			continue;
		n_all++;
		if (r < facts->n_own)
			candidates[n++] = (Candidate) {(uint64) hash_int64_onto(group->rollout_id[r], seed), r};
	}
	/* By oneself there is nobody to ask. */
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

/* ----------
 * What happened
 * ----------
 */

/* The mean return of the others from where they began. */
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

/* ----------
 * What was said
 * ----------
 */

/* The functions of what was said that are added up. */
enum
{
	SAID, RANK, SIGN, N_SAID
};

/* By the others: of pairs, and the means over their steps of states. */
typedef struct Others
{
	uint32	   *n_pair;			/* steps of which something was said */
	uint32	   *n_state;
	double	   *pair[N_SAID];
	double	   *state[N_SAID];
} Others;

typedef struct SaidPair
{
	double		said;
	uint32		pair;
} SaidPair;

static int
compare_said(const void *a, const void *b)
{
	double		one = ((const SaidPair *) a)->said;
	double		other = ((const SaidPair *) b)->said;

	CHECK_FOR_INTERRUPTS();
	return one < other ? -1 : one > other;
}

static void
measure_said(const LeaveOneOut *out, uint32 rollout, const double *advantage, Others *others)
{
	const GroupColumns *group = out->group;
	uint32		n_pairs = out->pairs.n;
	Sum		   *sum = ALLOCATE_ZEROED_ARRAY(Sum, n_pairs);

	others->n_pair = ALLOCATE_ZEROED_ARRAY(uint32, n_pairs);
	others->pair[SAID] = ALLOCATE_ARRAY(double, n_pairs);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (r == rollout || !out->facts->judged[r])
			continue;
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
			if (isfinite(advantage[i]))
			{
				sum_add(&sum[out->pairs.of_step[i]], advantage[i]);
				others->n_pair[out->pairs.of_step[i]]++;
			}
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < n_pairs; p++)
		others->pair[SAID][p] = others->n_pair[p] == 0 ? 0 : sum_value(&sum[p]) / others->n_pair[p];
	pfree(sum);
}

/*
 * Rank and sign of every pair.  What differs by no more than rounding is the same, and
 * as good as 0 is 0.
 */
static void
rank_said(uint32 n_pairs, Others *others)
{
	SaidPair   *order = ALLOCATE_ARRAY(SaidPair, n_pairs);
	uint32		n = 0;
	uint64		n_steps = 0;
	uint64		before = 0;		/* steps of pairs of which less was said */
	double		scale = 0;

	others->pair[RANK] = ALLOCATE_ZEROED_ARRAY(double, n_pairs);
	others->pair[SIGN] = ALLOCATE_ZEROED_ARRAY(double, n_pairs);
	for (uint32 p = 0; p < n_pairs; p++)
		if (others->n_pair[p] > 0)
		{
			order[n++] = (SaidPair) {others->pair[SAID][p], p};
			n_steps += others->n_pair[p];
			scale = Max(scale, fabs(others->pair[SAID][p]));
		}
	qsort(order, n, sizeof(SaidPair), compare_said);
	CHECK_FOR_INTERRUPTS();
	for (uint32 i = 0, end; i < n; i = end)
	{
		uint64		equal = 0;

		for (end = i; end < n && order[end].said - order[i].said <= TIE * scale; end++)
			equal += others->n_pair[order[end].pair];
		for (uint32 j = i; j < end; j++)
		{
			double		said = order[j].said;

			others->pair[RANK][order[j].pair] = (before + equal / 2.0) / n_steps - 0.5;
			others->pair[SIGN][order[j].pair] = fabs(said) <= TIE * scale ? 0 : said > 0 ? 1 : -1;
		}
		before += equal;
	}
	pfree(order);
}

static void
average_by_state(const LeaveOneOut *out, Others *others)
{
	Sum		   *sum = ALLOCATE_ARRAY(Sum, out->states.n);

	others->n_state = ALLOCATE_ZEROED_ARRAY(uint32, out->states.n);
	for (uint32 p = 0; p < out->pairs.n; p++)
		others->n_state[out->states.of_step[out->pairs.first_step[p]]] += others->n_pair[p];
	for (int f = 0; f < N_SAID; f++)
	{
		memset(sum, 0, out->states.n * sizeof(Sum));
		for (uint32 p = 0; p < out->pairs.n; p++)
			sum_add(&sum[out->states.of_step[out->pairs.first_step[p]]], others->n_pair[p] * others->pair[f][p]);
		others->state[f] = ALLOCATE_ARRAY(double, out->states.n);
		for (uint32 s = 0; s < out->states.n; s++)
			others->state[f][s] = others->n_state[s] == 0 ? 0 : sum_value(&sum[s]) / others->n_state[s];
		CHECK_FOR_INTERRUPTS();
	}
	pfree(sum);
}

static void
free_others(Others *others)
{
	pfree(others->n_pair);
	pfree(others->n_state);
	for (int f = 0; f < N_SAID; f++)
	{
		pfree(others->pair[f]);
		pfree(others->state[f]);
	}
}

/* ----------
 * Both
 * ----------
 */

static void
add_step(const LeaveOneOut *out, const Others *others, uint32 step, double happened, Sum *sums)
{
	int32		pair = out->pairs.of_step[step];
	int32		state = out->states.of_step[step];
	double		told[N_SAID];	/* of the action, more than of the state */

	sum_add(&sums[CREDIT_STEPS], 1);
	sum_add(&sums[CREDIT_HAPPENED_SQUARE], happened * happened);
	if (others->n_pair[pair] == 0)
		return;
	for (int f = 0; f < N_SAID; f++)
		told[f] = others->pair[f][pair] - others->state[f][state];
	sum_add(&sums[CREDIT_COVERED], 1);
	sum_add(&sums[CREDIT_HAPPENED_SIZE], fabs(happened));
	sum_add(&sums[CREDIT_SAID_SQUARE], others->pair[SAID][pair] * others->pair[SAID][pair]);
	sum_add(&sums[CREDIT_SAID_HAPPENED], told[SAID] * happened);
	sum_add(&sums[CREDIT_RANK_SQUARE], others->pair[RANK][pair] * others->pair[RANK][pair]);
	sum_add(&sums[CREDIT_RANK_HAPPENED], told[RANK] * happened);
	sum_add(&sums[CREDIT_SIGN_HAPPENED], told[SIGN] * happened);
}

void
add_left_out(const LeaveOneOut *out, uint32 rollout, const double *advantage, Sum *sums)
{
	const GroupColumns *group = out->group;
	uint32		first = group->first_step[rollout];
	uint32		n = group->n_rollout_steps[rollout];
	double	   *value = ALLOCATE_ARRAY(double, n);
	bool	   *known = ALLOCATE_ARRAY(bool, n);
	Others		others;

	value_by_others(out, rollout, value, known);
	measure_said(out, rollout, advantage, &others);
	rank_said(out->pairs.n, &others);
	average_by_state(out, &others);
	sum_add(&sums[CREDIT_ROLLOUTS], 1);
	for (uint32 i = 0; i < n; i++)
		add_step(out, &others, first + i, out->returns[first + i] - value[i], sums);
	free_others(&others);
	pfree(value);
	pfree(known);
}
