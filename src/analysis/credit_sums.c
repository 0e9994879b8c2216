/*
 * credit_sums.c
 *		credit_agg(candidates, shuffles, seed, candidate, shuffle, left_out, advantages):
 *		for one group, sums over estimates for rollouts that were left out, and their outcomes.
 *
 * The candidates are the group with different choices of its states, and the same steps.  An input row has the
 * advantages of methods for one candidate, with outcomes shuffled (0: not shuffled), without the rollout
 * `left_out`: an array with a row per step of the others, in the order of the group, and a column per method.
 * Rows with a NULL are ignored.
 *
 * For step t of the rollout left out
 *
 *	x	= mean of the method's advantages over the others' steps of its state and action; 0 without any
 *	x'	= x minus its mean over the others' steps of the state
 *	y	= return from t on - mean over the candidates of the value of its state by the others
 *
 * so y is the same for all candidates.  A candidate with a single state for all steps is a control, and excluded
 * from the mean unless all are such.  The result has a row per candidate and method: the number of steps, the
 * number of those with an x, and for each shuffle from 0 on the sums of x' y, x x and y y.
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
#include "matrix.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_shuffle_outcomes);
PG_FUNCTION_INFO_V1(stepadv_credit_trans);
PG_FUNCTION_INFO_V1(stepadv_credit_final);

/* The group with one shuffle of its outcomes. */
typedef struct Shuffle
{
	RolloutGroup *datum;
	GroupColumns group;
	RolloutFacts facts;
	double	   *returns;		/* by step */
	double	   *y;				/* by step; set if its rollout is known */
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
	bool		counted;		/* for the baseline */
	uint64		n_steps;
	uint64	   *n_covered;		/* by method */
	Triple	   *sums;			/* by shuffle and method */
	bool	   *seen;			/* by shuffle and rollout left out */
} Candidate;

typedef struct CreditSums
{
	GroupColumns group;			/* of the first candidate */
	GroupColumns calls;
	const uint32 *turn_of_call;
	uint32		n_candidates;
	uint32		n_counted;		/* candidates for the baseline */
	uint32		n_shuffles;		/* including number 0, not shuffled */
	int			n_methods;
	Candidate  *candidates;
	Shuffle    *shuffles;
	MemoryContext scratch;		/* for one row */
} CreditSums;

Datum
stepadv_shuffle_outcomes(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(shuffle_outcomes((RolloutGroup *) PG_GETARG_VARLENA_P(0), PG_GETARG_INT32(1), PG_GETARG_INT32(2)));
}

/* ----------
 * The candidates, and the outcomes of rollouts left out
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
				 errmsg("candidate %u does not have the same steps as the first", number + 1),
				 errhint("All candidates must be the same group with different states.")));
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
		candidate->n_covered = ALLOCATE_ZEROED_ARRAY(uint64, check->n_methods);
		candidate->sums = ALLOCATE_ZEROED_ARRAY(Triple, (uint64) check->n_shuffles * check->n_methods);
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
begin_credit_sums(MemoryContext context, ArrayType *array, int32 n_shuffles, int64 seed, int n_methods)
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
	check->n_methods = n_methods;
	check->candidates = ALLOCATE_ZEROED_ARRAY(Candidate, n);
	check->shuffles = ALLOCATE_ZEROED_ARRAY(Shuffle, check->n_shuffles);
	prepare_candidates(check, values, nulls);
	prepare_shuffles(check, first, seed);
	check->scratch = AllocSetContextCreate(context, "stepadv rollout left out", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
	return check;
}

/* A candidate's states with the outcomes of a shuffle. */
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

/* Compute the y of a rollout for one shuffle, and return the y of all steps. */
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

/*
 * The advantages of a method by step of the group; NaN for the rollout left out.  All calls of a turn have the same
 * one; the loop runs backwards, so that of the first call remains.
 */
static const double *
advantages_by_step(const CreditSums *check, uint32 rollout, const double *given, int method)
{
	const GroupColumns *calls = &check->calls;
	double	   *advantage = ALLOCATE_ARRAY(double, check->group.n_steps);
	uint32		row = calls->n_steps - calls->n_rollout_steps[rollout];

	for (uint32 i = 0; i < check->group.n_steps; i++)
		advantage[i] = NAN;
	for (uint32 r = calls->n_rollouts; r-- > 0;)
		for (uint32 i = calls->first_step[r + 1]; r != rollout && i-- > calls->first_step[r];)
			advantage[check->turn_of_call == NULL ? i : check->turn_of_call[i]] = given[(Size) --row * check->n_methods + method];
	return advantage;
}

static void
add_rollout(const LeaveOneOut *out, Triple *sums, uint64 *n_covered, uint32 rollout, const double *advantage,
			const double *y)
{
	uint32		first = out->group->first_step[rollout];
	PairEstimate *means = mean_by_pair(out, rollout, advantage);
	double	   *of_state = average_by_state(out, means);

	for (uint32 i = first; i < first + out->group->n_rollout_steps[rollout]; i++)
	{
		const PairEstimate *pair = &means[out->pairs.of_step[i]];
		double		x = pair->mean;

		if (pair->n > 0)
			sum_add(&sums->xy, (x - of_state[out->states.of_step[i]]) * y[i]);
		sum_add(&sums->xx, x * x);
		sum_add(&sums->yy, y[i] * y[i]);
		*n_covered += pair->n > 0;
	}
}

/* Add the advantages of methods for a candidate; each shuffle and rollout may come once. */
static void
add_advantages(CreditSums *check, int32 number, int32 shuffle, int64 rollout_id, const ArrayType *advantages)
{
	int64		rollout = group_place_of_rollout(&check->group, rollout_id);
	Candidate  *candidate = number >= 1 && number <= check->n_candidates ? &check->candidates[number - 1] : NULL;
	bool	   *seen = NULL;
	uint32		n_rows;
	const double *given;
	const double *y;

	if (candidate != NULL && shuffle >= 0 && shuffle < check->n_shuffles && rollout >= 0)
		seen = &candidate->seen[(Size) shuffle * check->group.n_rollouts + rollout];
	if (seen == NULL || *seen || !candidate->out.facts->judged[rollout])
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rollout " INT64_FORMAT " cannot be left out here", rollout_id)));
	*seen = true;
	n_rows = check->calls.n_steps - check->calls.n_rollout_steps[rollout];
	given = read_matrix(advantages, "advantages", n_rows, "step of the other rollouts", check->n_methods,
					   "the methods", false);
	y = find_happened(check, &check->shuffles[shuffle], (uint32) rollout);
	if (shuffle == 0)
		candidate->n_steps += check->group.n_rollout_steps[rollout];
	for (int m = 0; m < check->n_methods; m++)
	{
		uint64		covered = 0;

		add_rollout(&candidate->out, &candidate->sums[(Size) shuffle * check->n_methods + m], &covered,
					(uint32) rollout, advantages_by_step(check, (uint32) rollout, given, m), y);
		if (shuffle == 0)
			candidate->n_covered[m] += covered;
		CHECK_FOR_INTERRUPTS();
	}
}

Datum
stepadv_credit_trans(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	CreditSums *check = PG_ARGISNULL(0) ? NULL : (CreditSums *) PG_GETARG_POINTER(0);
	MemoryContext old;
	ArrayType  *advantages;

	for (int i = 1; i <= 7; i++)
		if (PG_ARGISNULL(i))
		{
			if (check == NULL)
				PG_RETURN_NULL();
			PG_RETURN_POINTER(check);
		}
	advantages = PG_GETARG_ARRAYTYPE_P(7);
	if (check == NULL)
	{
		int32		n_shuffles = PG_GETARG_INT32(2);

		if (n_shuffles < 2 || n_shuffles > MAX_SHUFFLES)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("shuffles must be between 2 and %d, not %d", MAX_SHUFFLES, n_shuffles)));
		check = begin_credit_sums(context, PG_GETARG_ARRAYTYPE_P(1), n_shuffles, PG_GETARG_INT32(3),
								  ARR_NDIM(advantages) == 2 ? ARR_DIMS(advantages)[1] : 1);
	}
	old = MemoryContextSwitchTo(check->scratch);
	add_advantages(check, PG_GETARG_INT32(4), PG_GETARG_INT32(5), PG_GETARG_INT64(6), advantages);
	MemoryContextSwitchTo(old);
	MemoryContextReset(check->scratch);
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
	dims[0] = (int) check->n_candidates * check->n_methods;
	dims[1] = N_COUNTS + 3 * (int) check->n_shuffles;
	sums = ALLOCATE_ARRAY(Datum, (uint64) dims[0] * dims[1]);
	for (int row = 0; row < dims[0]; row++)
	{
		const Candidate *candidate = &check->candidates[row / check->n_methods];
		int			m = row % check->n_methods;

		sums[n++] = Float8GetDatum((double) candidate->n_steps);
		sums[n++] = Float8GetDatum((double) candidate->n_covered[m]);
		for (uint32 z = 0; z < check->n_shuffles; z++)
		{
			const Triple *of_shuffle = &candidate->sums[(Size) z * check->n_methods + m];

			sums[n++] = Float8GetDatum(sum_value(&of_shuffle->xy));
			sums[n++] = Float8GetDatum(sum_value(&of_shuffle->xx));
			sums[n++] = Float8GetDatum(sum_value(&of_shuffle->yy));
		}
	}
	PG_RETURN_ARRAYTYPE_P(construct_md_array(sums, NULL, 2, dims, bounds, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
											 TYPALIGN_DOUBLE));
}
