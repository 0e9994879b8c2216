/*
 * state_check.c
 *		state_check(groups): what a state does not say of what was done before.
 *
 * If the state tells all that matters, what a step leads to does not depend on how
 * its rollout came there.  With the value of each state by all the groups (batch TD), and
 *
 *		d_t = r_t + gamma V(s_(t+1)) - V(s_t)
 *
 * whose mean within each state is 0, and for a pair e of a state and an action
 *
 *		h_t = 1 where e was done earlier in the rollout, less its mean within the state,
 *		S_r = sum of h_t d_t over the steps of rollout r,
 *
 * Z = sum S_r / sqrt(sum S_r^2) is nearly normal then, as rollouts are independent: a score test, with
 * rollouts as clusters.  After a rare pair few rollouts carry the sums, so that Z is held against Student's t
 * with so many degrees of freedom as there are such rollouts, (sum S_r^2)^2 / sum S_r^4; otherwise it alarms
 * where states tell all.  Of many pairs the probability is that by any of them (Bonferroni).
 * Groups whose rollouts all have one return are left out: where nothing differs, nothing can be
 * said of what made it differ.
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

/* What all pairs are looked at with. */
typedef struct Record
{
	const GroupColumns *group;
	Identities	states;
	Identities	pairs;
	uint32	   *rollout_of_step;
	double	   *d;				/* by step */
	Adjacency	of_state;		/* the steps of each state, in order */
	Adjacency	of_pair;		/* the first such step of each rollout */
} Record;

/* One row of the result. */
typedef struct Finding
{
	uint32		pair;
	int64		n_rollouts;
	double		difference;
	double		z;
	double		n_carrying;		/* rollouts that carry the sum, in effect */
	NullableInt8 state;
	NullableInt8 action;
	double		p;
} Finding;

/* Groups in which no return differs from another take no part. */
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

/* The steps by identity, each identity's in order: those for which `counts` is not NULL and 0 are left out. */
static void
gather_steps(const GroupColumns *group, const Identities *identities, const uint32 *counts, Adjacency *steps)
{
	int32	   *step = ALLOCATE_ARRAY(int32, group->n_steps);

	for (uint32 i = 0; i < group->n_steps; i++)
		step[i] = counts == NULL || counts[i] != 0 ? (int32) i : NO_IDENTITY;
	find_neighbours(group, identities->n, identities->of_step, step, NULL, steps);
	pfree(step);
}

/* By how much each step came out better than its state is worth. */
static double *
find_surprises(const Record *record, const RolloutFacts *facts, double gamma)
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
	record->d = find_surprises(record, &joined->facts, gamma);
}

/* Sums of one pair, by state and by rollout: zero between pairs. */
typedef struct PairSums
{
	uint32	   *n;				/* by state: steps after the pair */
	Sum		   *d;				/* theirs */
	uint32	   *touched;		/* states with any */
	uint32		n_touched;
	Sum		   *score;			/* by rollout */
} PairSums;

static void
add_steps_after(const Record *record, uint32 pair, PairSums *sums)
{
	const GroupColumns *group = record->group;

	for (uint32 k = record->of_pair.first[pair]; k < record->of_pair.first[pair + 1]; k++)
	{
		uint32		r = record->rollout_of_step[record->of_pair.neighbour[k]];

		for (uint32 i = record->of_pair.neighbour[k] + 1; i < group->first_step[r + 1]; i++)
		{
			int32		s = record->states.of_step[i];

			if (sums->n[s]++ == 0)
				sums->touched[sums->n_touched++] = s;
			sum_add(&sums->d[s], record->d[i]);
			sum_add(&sums->score[r], record->d[i]);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* Take the mean of h within each state off, and say how much better rollouts do after the pair. */
static double
centre(const Record *record, uint32 pair, PairSums *sums)
{
	uint32		n_rollouts = record->of_pair.first[pair + 1] - record->of_pair.first[pair];
	Sum			difference = {0};

	for (uint32 k = 0; k < sums->n_touched; k++)
	{
		uint32		s = sums->touched[k];
		uint32		first = record->of_state.first[s];
		uint32		n = record->of_state.first[s + 1] - first;
		double		mean = (double) sums->n[s] / n;

		for (uint32 j = first; j < first + n; j++)
		{
			uint32		i = record->of_state.neighbour[j];

			sum_add(&sums->score[record->rollout_of_step[i]], -mean * record->d[i]);
		}
		/* The mean of d after the pair less that of the other visits, by the visits after it. */
		if (sums->n[s] < n)
			sum_add(&difference, sum_value(&sums->d[s]) * n / (n - sums->n[s]));
		CHECK_FOR_INTERRUPTS();
	}
	return sum_value(&difference) / n_rollouts;
}

/* The pair's row; false where nothing can be said. */
static bool
look_at_pair(const Record *record, uint32 pair, PairSums *sums, Finding *finding)
{
	uint32		n_rollouts = record->group->n_rollouts;
	Sum			total = {0};
	Sum			square = {0};
	Sum			fourth = {0};

	add_steps_after(record, pair, sums);
	finding->pair = pair;
	finding->n_rollouts = record->of_pair.first[pair + 1] - record->of_pair.first[pair];
	finding->difference = centre(record, pair, sums);
	for (uint32 r = 0; r < n_rollouts; r++)
	{
		double		score = sum_value(&sums->score[r]);

		CHECK_ONCE_IN_A_WHILE(r);
		sum_add(&total, score);
		sum_add(&square, score * score);
		sum_add(&fourth, score * score * score * score);
		sums->score[r] = (Sum) {0};
	}
	for (uint32 k = 0; k < sums->n_touched; k++)
	{
		sums->n[sums->touched[k]] = 0;
		sums->d[sums->touched[k]] = (Sum) {0};
	}
	sums->n_touched = 0;
	finding->z = sum_value(&total) / sqrt(sum_value(&square));
	finding->n_carrying = sum_value(&square) * sum_value(&square) / sum_value(&fourth);
	/* What rounding leaves of nothing is nothing. */
	return sum_value(&square) > 1e-24 && isfinite(finding->z) && isfinite(finding->n_carrying);
}

/* The surest first; of equal ones the one that was done first. */
static int
compare_findings(const void *a, const void *b)
{
	const Finding *x = a;
	const Finding *y = b;

	if (fabs(x->z) != fabs(y->z))
		return fabs(x->z) > fabs(y->z) ? -1 : 1;
	return (x->pair > y->pair) - (x->pair < y->pair);
}

static uint32
find_all(const Record *record, int64 min_rollouts, Finding *findings)
{
	PairSums	sums;
	uint32		n = 0;

	sums.n = ALLOCATE_ZEROED_ARRAY(uint32, record->states.n);
	sums.d = ALLOCATE_ZEROED_ARRAY(Sum, record->states.n);
	sums.touched = ALLOCATE_ARRAY(uint32, record->states.n);
	sums.n_touched = 0;
	sums.score = ALLOCATE_ZEROED_ARRAY(Sum, record->group->n_rollouts);
	for (uint32 pair = 0; pair < record->pairs.n; pair++)
	{
		CHECK_FOR_INTERRUPTS();
		if (record->of_pair.first[pair + 1] - record->of_pair.first[pair] >= min_rollouts &&
			look_at_pair(record, pair, &sums, &findings[n]))
			n++;
	}
	qsort(findings, n, sizeof(Finding), compare_findings);
	return n;
}

/* Two-sided, of Student's t, by Wallace's normal approximation (1959). */
static double
probability(const Finding *finding)
{
	double		n = finding->n_carrying;
	double		z = sqrt(n * log1p(finding->z * finding->z / n)) * (8 * n + 1) / (8 * n + 3);

	return erfc(z / M_SQRT2);
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
		findings[k].p = Min(1, n * probability(&findings[k]));
	}

	{
		ResultColumn columns[] = {
			NULLABLE_FIELD_COLUMN(findings, state),
			NULLABLE_FIELD_COLUMN(findings, action),
			FIELD_COLUMN(findings, n_rollouts),
			FIELD_COLUMN(findings, difference),
			FIELD_COLUMN(findings, z),
			FIELD_COLUMN(findings, p),
		};

		RETURN_COLUMNS(columns, n);
	}
}
