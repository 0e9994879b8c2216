/*
 * levels.c
 *		Advantages for states at two levels.
 *
 * The advantage is a weighted sum of the targets of the visits of the coarse state x.  The factors depend on whether
 * the visit is one of the fine state y and has the action a:
 *
 *	all of x	-(k n / (N(y) + k) + k) / (N(x) + prior)		each times 1 / (n + k)
 *	of y		-n / (N(y) + k)
 *	of (y,a)	1
 *	of (x,a)	k / N(x,a)
 *
 * with n = N(y,a), or, if advantages are not backed,
 *
 *	all of x	-n / (N(x) + prior)						each times 1 / n
 *	of (y,a)	1
 *
 * Its variance is the sum of the squared factors times the variance of a target of each action of x, as in q_error.c.
 */
#include "postgres.h"

#include "arrays.h"
#include "estimators/levels.h"
#include "sum.h"

void
levels_measure(const GroupColumns *group, const StateLevels *levels, const double *target, const double *weight,
			   RtmcTable *table, FineAnswers *answers, LevelVisits *visits)
{
	uint32		n_pairs = answers->pairs.n;
	Sum		   *state_sum = ALLOCATE_ZEROED_ARRAY(Sum, levels->fine->n);
	Sum		   *pair_sum = ALLOCATE_ZEROED_ARRAY(Sum, n_pairs);

	visits->state_weight = ALLOCATE_ZEROED_ARRAY(double, levels->fine->n);
	visits->pair_weight = ALLOCATE_ZEROED_ARRAY(double, n_pairs);
	visits->pair_squares = ALLOCATE_ZEROED_ARRAY(double, n_pairs);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		pair = answers->pairs.of_step[i];
		int32		state = levels->fine->of_step[i];

		CHECK_ONCE_IN_A_WHILE(i);
		if (state == NO_IDENTITY || !(weight[i] > 0))
			continue;
		visits->state_weight[state] += weight[i];
		visits->pair_weight[pair] += weight[i];
		visits->pair_squares[pair] += weight[i] * weight[i];
		sum_add(&state_sum[state], weight[i] * target[i]);
		sum_add(&pair_sum[pair], weight[i] * target[i]);
	}
	answers->q = ALLOCATE_ARRAY(double, n_pairs);
	answers->advantage = ALLOCATE_ARRAY(double, n_pairs);
	for (uint32 p = 0; p < n_pairs; p++)
	{
		uint32		step = answers->pairs.first_step[p];
		int32		fine = levels->fine->of_step[step];
		double		v = table->state_v[levels->coarse->of_step[step]];
		double		n = visits->pair_weight[p];
		double		fine_v = (sum_value(&state_sum[fine]) + levels->k * v) / (visits->state_weight[fine] + levels->k);

		CHECK_ONCE_IN_A_WHILE(p);
		answers->advantage[p] = levels->backed ?
			(sum_value(&pair_sum[p]) - n * fine_v +
			 levels->k * table->pair_advantage[table->pairs.of_step[step]]) / (n + levels->k) :
			sum_value(&pair_sum[p]) / n - v;
		answers->q[p] = v + answers->advantage[p];
	}
	pfree(state_sum);
	pfree(pair_sum);
	table->fine = answers;
}

/* By state, the sum over its pairs of the sum of squared weights times the variance of a target. */
static double *
sum_variances(const Identities *states, const Identities *pairs, const Identities *coarse_pairs, const double *squares,
			  const double *variance)
{
	double	   *sum = ALLOCATE_ZEROED_ARRAY(double, states->n);

	for (uint32 p = 0; p < pairs->n; p++)
	{
		uint32		step = pairs->first_step[p];

		CHECK_ONCE_IN_A_WHILE(p);
		sum[states->of_step[step]] += squares[p] * variance[coarse_pairs->of_step[step]];
	}
	return sum;
}

static inline double
square(double x)
{
	return x * x;
}

void
levels_errors(const StateLevels *levels, uint32 n_own_steps, const LevelVisits *visits, const SignVariance *sign,
			  double prior, const RtmcTable *table, FineAnswers *answers)
{
	const Identities *pairs = &table->pairs;
	uint32		n_fine = answers->pairs.n;
	double		k = levels->backed ? levels->k : 0;
	double	   *squares = ALLOCATE_ARRAY(double, pairs->n);
	double	   *state_weight = ALLOCATE_ZEROED_ARRAY(double, levels->coarse->n);
	double	   *of_coarse;
	double	   *of_fine;

	for (uint32 p = 0; p < pairs->n; p++)
	{
		CHECK_ONCE_IN_A_WHILE(p);
		squares[p] = square(table->pair_weight[p]) / sign->spread[p].visits;
		state_weight[levels->coarse->of_step[pairs->first_step[p]]] += table->pair_weight[p];
	}
	of_coarse = sum_variances(levels->coarse, pairs, pairs, squares, sign->variance);
	of_fine = sum_variances(levels->fine, &answers->pairs, pairs, visits->pair_squares, sign->variance);
	answers->error = ALLOCATE_ZEROED_ARRAY(double, n_fine);
	answers->confidence = ALLOCATE_ZEROED_ARRAY(double, n_fine);
	for (uint32 f = 0; f < n_fine; f++)
	{
		uint32		step = answers->pairs.first_step[f];
		int32		pair = pairs->of_step[step];
		int32		coarse = levels->coarse->of_step[step];
		int32		fine = levels->fine->of_step[step];
		double		n = visits->pair_weight[f];
		double		of_state = levels->backed ? n / (visits->state_weight[fine] + k) : 0;
		double		in_all = -(levels->backed ? k * of_state + k : n) / (state_weight[coarse] + prior);
		double		in_fine = in_all - of_state;
		double		of_action = k / table->pair_weight[pair];
		double		of_pair = sign->variance[pair];
		double		others = Max(squares[pair] - visits->pair_squares[f], 0) * of_pair;
		double		own = visits->pair_squares[f] * of_pair;
		double		variance = own * square(in_fine + 1 + of_action) + others * square(in_all + of_action) +
			Max(of_fine[fine] - own, 0) * square(in_fine) +
			Max(of_coarse[coarse] - of_fine[fine] - others, 0) * square(in_all);

		CHECK_ONCE_IN_A_WHILE(f);
		/* Pairs are numbered by first appearance: from here on they are only in the history. */
		if (step >= n_own_steps)
			break;
		answers->error[f] = error_in_range(hypot(table->pair_error[pair], answers->q[f] - table->pair_q[pair]));
		answers->confidence[f] = sign_confidence(answers->advantage[f], variance / square(n + k), &sign->outcomes);
	}
	pfree(squares);
	pfree(state_weight);
	pfree(of_coarse);
	pfree(of_fine);
}
