/*
 * state_check.c
 *		state_check(groups): whether states hide information about earlier steps.
 *
 * If the state contains everything that matters, the outcome of a step does not depend on
 * how its rollout came there.  With the value of each state by all groups (batch TD), and
 *
 *		d_t = r_t + gamma V(s_(t+1)) - V(s_t)
 *
 * whose mean within each state is 0, and for a pair e of a state and an action
 *
 *		h_t = (1 if e occurred earlier in the rollout, otherwise 0) minus its mean within the state,
 *		S_r = sum of h_t d_t over the steps of rollout r,
 *
 * Z = sum S_r / sqrt(sum S_r^2) is then nearly normal, as rollouts are independent: a score test with rollouts as
 * clusters.  But outcomes are skewed: if nearly all rollouts succeed, the few after a rare pair may well all
 * succeed, and then have almost no variance of their own.  So the p-value of the sum uses the variance of all
 * visits.  In a state with n visits, h and d are paired at random, so the sum of h d has
 *
 *		variance sum h^2 sum d^2 / (n - 1), third moment n sum h^3 sum d^3 / ((n - 1) (n - 2)),
 *
 * and those of different states add up, since the result of a visit is independent of what came before.  A gamma
 * distribution with these moments is exceeded with the probability that a normal one exceeds the signed
 * root of its deviance (McCullagh and Nelder, Generalized Linear Models, section 8.3).
 * A pair may be good for one later state and bad for another, which cancels in the sum.  So each later state is
 * also tested alone, if enough rollouts come to it with and without the pair.  The p-value of a pair is the least
 * of these, times the number of such states, or that of the sum, if less.  It is corrected for the number of
 * pairs (Bonferroni).
 * Groups whose rollouts all have the same return are left out, since they tell nothing about differences.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"

#include "analysis/identity_fields.h"
#include "analysis/joined_groups.h"
#include "arrays.h"
#include "estimators/values/bellman.h"
#include "estimators/values/neighbours.h"
#include "parameters.h"
#include "rows.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_state_check);

enum
{
	GAMMA, MIN_ROLLOUTS
};

static const Parameter state_check_parameters[] = {
	GAMMA_PARAMETER,
	INTEGER_PARAMETER("min_rollouts", 1, 100000)
};

/* Data for the tests of all pairs. */
typedef struct Record
{
	const GroupColumns *group;
	Identities	states;
	Identities	pairs;
	uint32	   *rollout_of_step;
	double	   *d;				/* by step */
	Sum		   *square;			/* of d, by state */
	Sum		   *cube;
	Adjacency	of_state;		/* the steps of each state, in order */
	Adjacency	of_pair;		/* the first step of each pair in each rollout */
} Record;

/* One row of the result. */
typedef struct Finding
{
	uint32		pair;
	int64		n_rollouts;
	double		difference;
	double		z;
	NullableInt8 state;
	NullableInt8 action;
	double		p_value;		/* corrected for the number of pairs at the end */
} Finding;

/* Leave out groups whose returns are all equal. */
static void
leave_out_uniform(JoinedGroups *joined)
{
	RolloutFacts *facts = &joined->facts;

	for (uint32 g = 0; g < joined->n; g++)
	{
		double		least = INFINITY;
		double		most = -INFINITY;

		for (uint32 r = joined->first_rollout[g]; r < joined->first_rollout[g + 1]; r++)
			if (facts->judged[r])
			{
				least = Min(least, facts->total[r]);
				most = Max(most, facts->total[r]);
			}
		if (least < most)
			continue;
		for (uint32 r = joined->first_rollout[g]; r < joined->first_rollout[g + 1]; r++)
		{
			facts->n_judged -= facts->judged[r];
			facts->judged[r] = false;
		}
	}
}

/* The steps of each identity in order, without those for which `counts` is 0; counts NULL: all steps. */
static void
gather_steps(const GroupColumns *group, const Identities *identities, const uint32 *counts, Adjacency *steps)
{
	int32	   *step = ALLOCATE_ARRAY(int32, group->n_steps);

	for (uint32 i = 0; i < group->n_steps; i++)
		step[i] = counts == NULL || counts[i] != 0 ? (int32) i : NO_IDENTITY;
	find_neighbours(group, identities->n, identities->of_step, step, NULL, steps);
	pfree(step);
}

/* d of each step, and the sums of its squares and cubes by state. */
static double *
find_surprises(Record *record, const RolloutFacts *facts, double gamma)
{
	const GroupColumns *group = record->group;
	BellmanOptions options = {gamma, 0, 0, 0, NULL};
	const int32 *next = find_next_states(group, &record->states, NULL);
	double	   *d = bellman_targets(group, &record->states, next, &options);

	for (uint32 s = 0; s < record->states.n; s++)
	{
		uint32		first = record->of_state.first[s];
		uint32		end = record->of_state.first[s + 1];
		Sum			sum = {0};
		double		mean;

		CHECK_ONCE_IN_A_WHILE(s);
		for (uint32 k = first; k < end; k++)
			sum_add(&sum, d[record->of_state.neighbour[k]]);
		mean = sum_value(&sum) / (end - first);
		for (uint32 k = first; k < end; k++)
		{
			uint32		i = record->of_state.neighbour[k];

			d[i] -= mean;
			if (!isfinite(d[i]))
				refuse_overflow(group, record->rollout_of_step[i], i);
			sum_add(&record->square[s], d[i] * d[i]);
			sum_add(&record->cube[s], d[i] * d[i] * d[i]);
		}
	}
	return d;
}

static void
make_record(const JoinedGroups *joined, double gamma, Record *record)
{
	const GroupColumns *group = &joined->columns;

	record->group = group;
	number_states(group, &joined->facts, &record->states);
	number_pairs(group, &record->states, &record->pairs);
	record->rollout_of_step = ALLOCATE_ARRAY(uint32, group->n_steps);
	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
			record->rollout_of_step[i] = r;
	gather_steps(group, &record->states, NULL, &record->of_state);
	gather_steps(group, &record->pairs, find_visits(group, &record->pairs, VISIT_FIRST), &record->of_pair);
	record->square = ALLOCATE_ZEROED_ARRAY(Sum, record->states.n);
	record->cube = ALLOCATE_ZEROED_ARRAY(Sum, record->states.n);
	record->d = find_surprises(record, &joined->facts, gamma);
}

/* A sum whose expectation is 0 if states hide nothing. */
typedef struct Score
{
	double		total;
	double		variance;
	double		third;			/* moment */
} Score;

/* A smaller variance is rounding error. */
#define NOTHING 1e-24

/* The two-sided p-value; NaN without variance. */
static double
probability(const Score *score)
{
	double		z = score->total / sqrt(score->variance);
	double		skewness = score->third / (score->variance * sqrt(score->variance));
	double		x = z * skewness / 2;

	if (!(score->variance > NOTHING))
		return NAN;
	/* Only for the longer tail of the gamma distribution; for the other, the normal tail is longer. */
	if (x > 1e-6)
		z = sqrt(8 * (x - log1p(x))) / skewness;
	return erfc(fabs(z) / M_SQRT2);
}

/* The sums of one pair; comments give the values between pairs. */
typedef struct PairSums
{
	uint32	   *since;			/* by rollout: the first step with the pair; NEVER */
	uint32	   *n;				/* by state: steps after the pair; 0 */
	uint32	   *touched;		/* states with any */
	uint32		n_touched;
	Sum		   *score;			/* by rollout; 0 */
	Score		all;			/* over all states; 0 */
} PairSums;

#define NEVER UINT32_MAX

static void
find_steps_after(const Record *record, uint32 pair, PairSums *sums)
{
	for (uint32 k = record->of_pair.first[pair]; k < record->of_pair.first[pair + 1]; k++)
	{
		uint32		r = record->rollout_of_step[record->of_pair.neighbour[k]];

		sums->since[r] = record->of_pair.neighbour[k];
		for (uint32 i = record->of_pair.neighbour[k] + 1; i < record->group->first_step[r + 1]; i++)
		{
			int32		s = record->states.of_step[i];

			if (sums->n[s]++ == 0)
				sums->touched[sums->n_touched++] = s;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* The moments of a state's score by chance; n: visits, n_after: visits after the pair. */
static void
measure_chance(const Record *record, uint32 s, double n, double n_after, Score *score)
{
	double		square = n_after * (n - n_after) / n;
	double		cube = square * (1 - 2 * n_after / n);

	score->variance = n > 1 ? square * sum_value(&record->square[s]) / (n - 1) : 0;
	score->third = n > 2 ? cube * sum_value(&record->cube[s]) * n / ((n - 1) * (n - 2)) : 0;
}

/*
 * Adds the scores of the steps in a state to those of the rollouts and of all states.  Returns the p-value of the
 * state; NaN if too few rollouts come to it after the pair, or without it.
 */
static double
look_at_state(const Record *record, uint32 s, int64 min_rollouts, PairSums *sums, Sum *difference)
{
	uint32		k = record->of_state.first[s];
	uint32		end = record->of_state.first[s + 1];
	uint32		n = end - k;
	double		mean = (double) sums->n[s] / n;
	uint32		n_with = 0;
	uint32		n_without = 0;
	Sum			d_after = {0};
	Sum			total = {0};
	Score		score;

	while (k < end)
	{
		uint32		r = record->rollout_of_step[record->of_state.neighbour[k]];
		uint32		n_steps[2] = {0, 0};

		for (; k < end && record->rollout_of_step[record->of_state.neighbour[k]] == r; k++)
		{
			uint32		i = record->of_state.neighbour[k];
			bool		after = sums->since[r] != NEVER && i > sums->since[r];

			sum_add(&total, (after - mean) * record->d[i]);
			sum_add(&sums->score[r], (after - mean) * record->d[i]);
			if (after)
				sum_add(&d_after, record->d[i]);
			n_steps[after]++;
		}
		n_without += n_steps[false] > 0;
		n_with += n_steps[true] > 0;
		CHECK_ONCE_IN_A_WHILE(r);
	}
	/* The number of visits after the pair, times their mean of d minus that of the other visits. */
	if (sums->n[s] < n)
		sum_add(difference, sum_value(&d_after) * n / (n - sums->n[s]));
	measure_chance(record, s, n, sums->n[s], &score);
	score.total = sum_value(&total);
	sums->all.total += score.total;
	sums->all.variance += score.variance;
	sums->all.third += score.third;
	return Min(n_with, n_without) >= min_rollouts ? probability(&score) : NAN;
}

/* Fills in the pair's row; false if it has none. */
static bool
look_at_pair(const Record *record, uint32 pair, int64 min_rollouts, PairSums *sums, Finding *finding)
{
	uint32		first = record->of_pair.first[pair];
	uint32		end = record->of_pair.first[pair + 1];
	Sum			difference = {0};
	Sum			square = {0};
	double		least = 1;
	uint32		n_told = 0;

	sums->all = (Score) {0};
	find_steps_after(record, pair, sums);
	for (uint32 k = 0; k < sums->n_touched; k++)
	{
		double		p = look_at_state(record, sums->touched[k], min_rollouts, sums, &difference);

		n_told += !isnan(p);
		least = fmin(least, p);
		sums->n[sums->touched[k]] = 0;
		CHECK_FOR_INTERRUPTS();
	}
	sums->n_touched = 0;
	for (uint32 k = first; k < end; k++)
		sums->since[record->rollout_of_step[record->of_pair.neighbour[k]]] = NEVER;
	for (uint32 r = 0; r < record->group->n_rollouts; r++)
	{
		CHECK_ONCE_IN_A_WHILE(r);
		sum_add(&square, sum_value(&sums->score[r]) * sum_value(&sums->score[r]));
		sums->score[r] = (Sum) {0};
	}
	finding->pair = pair;
	finding->n_rollouts = end - first;
	finding->difference = sum_value(&difference) / finding->n_rollouts;
	finding->z = sums->all.total / sqrt(sum_value(&square));
	finding->p_value = fmin(Max(n_told, 1) * least, probability(&sums->all));
	return sum_value(&square) > NOTHING && sums->all.variance > NOTHING && isfinite(finding->z);
}

/* The least p-value first, then the largest |z|, then the pair that occurred first. */
static int
compare_findings(const void *a, const void *b)
{
	const Finding *x = a;
	const Finding *y = b;

	if (x->p_value != y->p_value)
		return x->p_value < y->p_value ? -1 : 1;
	if (fabs(x->z) != fabs(y->z))
		return fabs(x->z) > fabs(y->z) ? -1 : 1;
	return (x->pair > y->pair) - (x->pair < y->pair);
}

static uint32
find_all(const Record *record, int64 min_rollouts, Finding *findings)
{
	PairSums	sums;
	uint32		n = 0;

	sums.since = ALLOCATE_ARRAY(uint32, record->group->n_rollouts);
	for (uint32 r = 0; r < record->group->n_rollouts; r++)
		sums.since[r] = NEVER;
	sums.n = ALLOCATE_ZEROED_ARRAY(uint32, record->states.n);
	sums.touched = ALLOCATE_ARRAY(uint32, record->states.n);
	sums.n_touched = 0;
	sums.score = ALLOCATE_ZEROED_ARRAY(Sum, record->group->n_rollouts);
	for (uint32 pair = 0; pair < record->pairs.n; pair++)
	{
		CHECK_FOR_INTERRUPTS();
		if (record->of_pair.first[pair + 1] - record->of_pair.first[pair] >= min_rollouts &&
			look_at_pair(record, pair, min_rollouts, &sums, &findings[n]))
			n++;
	}
	qsort(findings, n, sizeof(Finding), compare_findings);
	return n;
}

Datum
stepadv_state_check(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(state_check_parameters)];
	JoinedGroups joined;
	Record		record;
	Finding    *findings;
	uint32		n;

	read_parameters(fcinfo, 1, state_check_parameters, lengthof(state_check_parameters), parameters);
	join_groups(PG_GETARG_ARRAYTYPE_P(0), &joined);
	leave_out_uniform(&joined);
	make_record(&joined, parameters[GAMMA].number, &record);
	findings = ALLOCATE_ARRAY(Finding, record.pairs.n);
	n = find_all(&record, (int64) parameters[MIN_ROLLOUTS].number, findings);
	for (uint32 k = 0; k < n; k++)
	{
		uint32		step = record.pairs.first_step[findings[k].pair];

		findings[k].state = state_field(record.group, step);
		findings[k].action = action_field(record.group, step);
		findings[k].p_value = Min(1, n * findings[k].p_value);
	}

	{
		ResultColumn columns[] = {
			NULLABLE_FIELD_COLUMN(findings, state),
			NULLABLE_FIELD_COLUMN(findings, action),
			FIELD_COLUMN(findings, n_rollouts),
			FIELD_COLUMN(findings, difference),
			FIELD_COLUMN(findings, z),
			FIELD_COLUMN(findings, p_value),
		};

		RETURN_COLUMNS(columns, n);
	}
}
