/*
 * credit_sums.c
 *		credit_agg(candidates, candidate, shuffle, left_out, rollout_id, step_no, advantage):
 *		of one group, estimates of candidates for rollouts that they have not seen, and the outcomes.
 *
 * The candidates are the group with one choice of its states each, all of the same steps.  Rows are those
 * of a method called on candidate k, with outcomes shuffled (0: as they are), without the rollout
 * `left_out`: those of one such call after those of another.  A call without rows has one that is NULL.
 *
 * Of step t of the rollout left out
 *
 *	x	= mean of the method's advantages over the others' steps of its state and action; 0 without any
 *	x'	= that less its mean over the others' steps of the state
 *	y	= return from t on - mean over the candidates of the value of its state by the others
 *
 * so y is one for all candidates; one that has a single state for all steps is a control, and has no part in the
 * mean where others have more.  The result has a row per candidate: steps, those with an x, and of
 * each shuffle from 0 on the sums of x y, x x and y y.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "aggregate.h"
#include "analysis/credit_sums.h"
#include "analysis/shuffle_outcomes.h"
#include "arrays.h"
#include "estimators/leave_one_out.h"
#include "estimators/returns.h"

PG_FUNCTION_INFO_V1(stepadv_shuffle_outcomes);
PG_FUNCTION_INFO_V1(stepadv_credit_trans);
PG_FUNCTION_INFO_V1(stepadv_credit_final);

/* The same group with its outcomes shuffled in one way. */
typedef struct Shuffle
{
	RolloutGroup *datum;
	GroupColumns group;
	RolloutFacts facts;
	double	   *returns;		/* by step */
	double	   *y;				/* by step, as far as its rollout is known */
	bool	   *known;			/* by rollout */
} Shuffle;

typedef struct Triple
{
	Sum			xy;
	Sum			xx;
	Sum			yy;
} Triple;

typedef struct Candidate
{
	LeaveOneOut out;
	bool		counted;		/* has a part in the baseline */
	uint64		n_steps;
	uint64		n_covered;
	Triple	   *sums;			/* by shuffle */
	bool	   *seen;			/* by shuffle and rollout: the call */
} Candidate;

typedef struct CreditSums
{
	GroupColumns group;			/* of the first candidate */
	GroupColumns calls;
	const uint32 *turn_of_call;
	uint32		n_candidates;
	uint32		n_counted;		/* those with a part in the baseline */
	uint32		n_shuffles;		/* with that which is none */
	Candidate  *candidates;
	Shuffle    *shuffles;
	MemoryContext scratch;		/* for one rollout left out */
	int64		candidate;		/* of the call that is read, or -1 */
	int64		shuffle;
	int64		left_out;		/* its number */
	double	   *advantage;		/* by call */
	uint32		next_call;		/* after that of the last row: most likely that of the next */
	uint32		rollout;		/* of the last row */
} CreditSums;

Datum
stepadv_shuffle_outcomes(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(shuffle_outcomes((RolloutGroup *) PG_GETARG_VARLENA_P(0), PG_GETARG_INT32(1), PG_GETARG_INT32(2)));
}

/* ----------
 * The candidates, and what happened to rollouts left out
 * ----------
 */

static void
check_same_steps(const GroupColumns *one, const GroupColumns *other, uint32 number)
{
	bool		same = one->n_rollouts == other->n_rollouts && one->n_steps == other->n_steps && one->unit == other->unit &&
		memcmp(one->rollout_id, other->rollout_id, one->n_rollouts * sizeof(int64)) == 0 &&
		memcmp(one->n_rollout_steps, other->n_rollout_steps, one->n_rollouts * sizeof(uint32)) == 0 &&
		memcmp(one->step_no, other->step_no, one->n_steps * sizeof(int32)) == 0 &&
		memcmp(one->step_id, other->step_id, one->n_steps * sizeof(int64)) == 0;

	if (!same)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("candidate %u has other steps than the first", number + 1),
				 errhint("Candidates are one group, with other states each.")));
}

static void
forget_advantages(CreditSums *check)
{
	for (uint32 i = 0; i < check->calls.n_steps; i++)
		check->advantage[i] = NAN;
}

static void
prepare_candidates(CreditSums *check, const Datum *values, const bool *nulls)
{
	for (uint32 k = 0; k < check->n_candidates; k++)
	{
		Candidate  *candidate = &check->candidates[k];
		GroupColumns *group = palloc(sizeof(GroupColumns));
		RolloutFacts *facts = palloc(sizeof(RolloutFacts));

		CHECK_FOR_INTERRUPTS();
		if (nulls[k])
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("candidate %u is null", k + 1)));
		group_open_by_unit((RolloutGroup *) PG_DETOAST_DATUM_COPY(values[k]), group, NULL);
		check_same_steps(&check->group, group, k);
		find_rollout_facts(group, facts);
		prepare_leave_one_out(group, facts, 1, &candidate->out);
		candidate->counted = candidate->out.states.n > 1;
		check->n_counted += candidate->counted;
		candidate->sums = ALLOCATE_ZEROED_ARRAY(Triple, check->n_shuffles);
		candidate->seen = ALLOCATE_ZEROED_ARRAY(bool, (uint64) check->n_shuffles * group->n_rollouts);
	}
}

static void
prepare_shuffles(CreditSums *check, const RolloutGroup *first, int64 seed)
{
	for (uint32 z = 0; z < check->n_shuffles; z++)
	{
		Shuffle    *shuffle = &check->shuffles[z];

		shuffle->datum = shuffle_outcomes(first, (int32) z, seed);
		group_open_by_unit(shuffle->datum, &shuffle->group, NULL);
		find_rollout_facts(&shuffle->group, &shuffle->facts);
		shuffle->returns = ALLOCATE_ARRAY(double, check->group.n_steps);
		discounted_returns(&shuffle->group, 1, shuffle->returns);
		shuffle->y = ALLOCATE_ARRAY(double, check->group.n_steps);
		shuffle->known = ALLOCATE_ZEROED_ARRAY(bool, check->group.n_rollouts);
		CHECK_FOR_INTERRUPTS();
	}
}

static CreditSums *
begin_credit_sums(MemoryContext context, ArrayType *array, int32 n_shuffles, int64 seed)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	CreditSums *check = palloc0(sizeof(CreditSums));
	RolloutGroup *first;
	Datum	   *values;
	bool	   *nulls;
	int			n;
	int16		length;
	bool		by_value;
	char		align;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align, &values, &nulls, &n);
	if (n == 0 || nulls[0])
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("there is no candidate")));
	first = (RolloutGroup *) PG_DETOAST_DATUM_COPY(values[0]);
	check->turn_of_call = group_open_by_unit(first, &check->group, &check->calls);
	check->n_candidates = (uint32) n;
	check->n_shuffles = (uint32) n_shuffles + 1;
	check->candidates = ALLOCATE_ZEROED_ARRAY(Candidate, n);
	check->shuffles = ALLOCATE_ZEROED_ARRAY(Shuffle, check->n_shuffles);
	prepare_candidates(check, values, nulls);
	prepare_shuffles(check, first, seed);
	check->scratch = AllocSetContextCreate(context, "stepadv rollout left out", ALLOCSET_DEFAULT_SIZES);
	check->candidate = -1;
	check->advantage = ALLOCATE_ARRAY(double, check->calls.n_steps);
	forget_advantages(check);
	MemoryContextSwitchTo(old);
	return check;
}

/* What is a candidate's states, with the outcomes of a shuffle. */
static LeaveOneOut
with_outcomes(const Candidate *candidate, const Shuffle *shuffle, GroupColumns *group)
{
	LeaveOneOut out = candidate->out;

	*group = *candidate->out.group;
	group->reward = shuffle->group.reward;
	group->outcome = shuffle->group.outcome;
	group->success = shuffle->group.success;
	out.group = group;
	out.facts = &shuffle->facts;
	out.returns = shuffle->returns;
	return out;
}

/* The y of a rollout, of one shuffle. */
static const double *
find_happened(const CreditSums *check, Shuffle *shuffle, uint32 rollout)
{
	uint32		first = check->group.first_step[rollout];
	uint32		n = check->group.n_rollout_steps[rollout];
	double	   *value;
	bool	   *known;

	if (shuffle->known[rollout])
		return shuffle->y;
	value = ALLOCATE_ARRAY(double, n);
	known = ALLOCATE_ARRAY(bool, n);
	memcpy(&shuffle->y[first], &shuffle->returns[first], n * sizeof(double));
	for (uint32 k = 0; k < check->n_candidates; k++)
	{
		GroupColumns group;
		LeaveOneOut out = with_outcomes(&check->candidates[k], shuffle, &group);

		if (check->n_counted > 0 && !check->candidates[k].counted)
			continue;
		value_by_others(&out, rollout, value, known);
		for (uint32 i = 0; i < n; i++)
			shuffle->y[first + i] -= value[i] / (check->n_counted > 0 ? check->n_counted : check->n_candidates);
		CHECK_FOR_INTERRUPTS();
	}
	shuffle->known[rollout] = true;
	return shuffle->y;
}

/* ----------
 * Estimates
 * ----------
 */

/* Also of turns: all calls of one got the same; the first is the last to be written. */
static const double *
advantages_by_step(const CreditSums *check)
{
	double	   *advantage;

	if (check->turn_of_call == NULL)
		return check->advantage;
	advantage = ALLOCATE_ARRAY(double, check->group.n_steps);
	for (uint32 i = check->calls.n_steps; i-- > 0;)
		advantage[check->turn_of_call[i]] = check->advantage[i];
	return advantage;
}

static void
add_rollout(Candidate *candidate, Triple *sums, bool counts, uint32 rollout, const double *advantage, const double *y)
{
	const LeaveOneOut *out = &candidate->out;
	uint32		first = out->group->first_step[rollout];
	SaidOfPair *said = measure_said(out, rollout, advantage);
	double	   *of_state = average_by_state(out, said);

	for (uint32 i = first; i < first + out->group->n_rollout_steps[rollout]; i++)
	{
		const SaidOfPair *pair = &said[out->pairs.of_step[i]];
		double		x = pair->mean;

		if (pair->n > 0)
			sum_add(&sums->xy, (x - of_state[out->states.of_step[i]]) * y[i]);
		sum_add(&sums->xx, x * x);
		sum_add(&sums->yy, y[i] * y[i]);
		if (counts)
		{
			candidate->n_steps++;
			candidate->n_covered += pair->n > 0;
		}
	}
}

/* All estimates of a call have been seen. */
static void
finish_call(CreditSums *check)
{
	MemoryContext old;
	uint32		rollout = (uint32) check->left_out;

	if (check->candidate < 0)
		return;
	old = MemoryContextSwitchTo(check->scratch);
	add_rollout(&check->candidates[check->candidate], &check->candidates[check->candidate].sums[check->shuffle],
				check->shuffle == 0, rollout, advantages_by_step(check),
				find_happened(check, &check->shuffles[check->shuffle], rollout));
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->scratch);
	check->candidate = -1;
	forget_advantages(check);
}

static void
begin_call(CreditSums *check, int32 candidate, int32 shuffle, int64 rollout_id)
{
	int64		rollout = group_place_of_rollout(&check->group, rollout_id);
	bool	   *seen = NULL;

	if (check->candidate == candidate - 1 && check->shuffle == shuffle && check->left_out == rollout)
		return;
	finish_call(check);
	if (candidate >= 1 && candidate <= check->n_candidates && shuffle >= 0 && shuffle < check->n_shuffles && rollout >= 0)
		seen = &check->candidates[candidate - 1].seen[(Size) shuffle * check->group.n_rollouts + rollout];
	if (seen == NULL || *seen || !check->candidates[candidate - 1].out.facts->judged[rollout])
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rollout " INT64_FORMAT " cannot be left out here", rollout_id)));
	*seen = true;
	check->candidate = candidate - 1;
	check->shuffle = shuffle;
	check->left_out = rollout;
}

static void
take_advantage(CreditSums *check, int64 rollout_id, int32 step_no, double advantage)
{
	const GroupColumns *calls = &check->calls;
	int64		call = check->next_call;

	/* Rows mostly come in the order of the group. */
	if (call >= calls->n_steps || calls->rollout_id[check->rollout] != rollout_id || calls->step_no[call] != step_no ||
		call < calls->first_step[check->rollout] || call >= calls->first_step[check->rollout + 1])
	{
		int64		rollout = group_place_of_rollout(calls, rollout_id);

		call = rollout < 0 ? -1 : find_step(calls, (uint32) rollout, step_no);
		if (call < 0)
			return;
		check->rollout = (uint32) rollout;
	}
	check->advantage[call] = advantage;
	check->next_call = (uint32) call + 1;
}

/* credit_agg(candidates, n_shuffles, seed, candidate, shuffle, left_out, rollout_id, step_no, advantage) */
Datum
stepadv_credit_trans(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	CreditSums *check = PG_ARGISNULL(0) ? NULL : (CreditSums *) PG_GETARG_POINTER(0);

	for (int i = 1; i <= 6; i++)
		if (PG_ARGISNULL(i))
		{
			if (check == NULL)
				PG_RETURN_NULL();
			PG_RETURN_POINTER(check);
		}
	if (check == NULL)
	{
		int32		n_shuffles = PG_GETARG_INT32(2);

		if (n_shuffles < 2 || n_shuffles > MAX_SHUFFLES)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("shuffles must be between 2 and %d, not %d", MAX_SHUFFLES, n_shuffles)));
		check = begin_credit_sums(context, PG_GETARG_ARRAYTYPE_P(1), n_shuffles, PG_GETARG_INT32(3));
	}
	begin_call(check, PG_GETARG_INT32(4), PG_GETARG_INT32(5), PG_GETARG_INT64(6));
	if (!PG_ARGISNULL(7) && !PG_ARGISNULL(8) && !PG_ARGISNULL(9))
		take_advantage(check, PG_GETARG_INT64(7), PG_GETARG_INT32(8), PG_GETARG_FLOAT8(9));
	PG_RETURN_POINTER(check);
}

Datum
stepadv_credit_final(PG_FUNCTION_ARGS)
{
	CreditSums *check;
	Datum	   *sums;
	int			dims[2];
	int			bounds[2] = {1, 1};
	Size		n = 0;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	check = (CreditSums *) PG_GETARG_POINTER(0);
	finish_call(check);
	dims[0] = (int) check->n_candidates;
	dims[1] = N_COUNTS + 3 * (int) check->n_shuffles;
	sums = ALLOCATE_ARRAY(Datum, (uint64) dims[0] * dims[1]);
	for (uint32 k = 0; k < check->n_candidates; k++)
	{
		const Candidate *candidate = &check->candidates[k];

		sums[n++] = Float8GetDatum((double) candidate->n_steps);
		sums[n++] = Float8GetDatum((double) candidate->n_covered);
		for (uint32 z = 0; z < check->n_shuffles; z++)
		{
			sums[n++] = Float8GetDatum(sum_value(&candidate->sums[z].xy));
			sums[n++] = Float8GetDatum(sum_value(&candidate->sums[z].xx));
			sums[n++] = Float8GetDatum(sum_value(&candidate->sums[z].yy));
		}
	}
	PG_RETURN_ARRAYTYPE_P(construct_md_array(sums, NULL, 2, dims, bounds, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
											 TYPALIGN_DOUBLE));
}
