/*
 * make.c
 *		Computes group_digest, the digest of one group.
 *
 * Advantages are an array with a row per step, in the order of the value (by rollout_id and step_no, like the
 * rows of all functions of a group), and an entry per method.  Measures of rollouts that come from elsewhere
 * are an array with a row per rollout, whose ids are a separate list in any order; two rows for one rollout
 * complete each other.  NULL means unknown.
 *
 * The signs of all methods on a step are a pattern, a number in base 4.  Its lowest digit is the outcome of
 * the rollout (OUTCOME_…); a digit per method follows: 0 for a negative advantage, 1 for one near zero, 2 for
 * a positive one, 3 for none.  Where two methods disagree on a step, their distance is the difference of
 * their advantages, each divided by its root mean square in the group.  Methods whose root mean square there
 * is not above a threshold do not count.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "analysis/measures.h"
#include "analysis/summary.h"
#include "checked_arguments.h"
#include "arrays.h"
#include "digest/bytes.h"
#include "matrix.h"

PG_FUNCTION_INFO_V1(stepadv_group_digest);

/* The arguments of group_digest. */
enum
{
	ARG_ROLLOUTS,
	ARG_METHODS,
	ARG_ADVANTAGES,
	ARG_MEASURES,
	ARG_MEASURED_ROLLOUTS,
	ARG_MEASURED,
	ARG_CALLS,
	ARG_CALLS_BY_STEP,
	ARG_SUCCESS_ABOVE,
	ARG_SIGN_THRESHOLD,
	ARG_DIFFERENCE_THRESHOLD,
	ARG_HORIZON_WIDTH
};

/* An array with a row per step or rollout and an entry per name, in that order; NaN means NULL. */
typedef struct Matrix
{
	int			width;
	double	   *numbers;		/* NULL: there are no rows */
} Matrix;

/* The input of a digest. */
typedef struct Making
{
	Digest		digest;
	GroupColumns group;			/* in the value's unit */
	GroupColumns calls;			/* as stored */
	RolloutFacts facts;
	const uint32 *first;		/* by call: see first_times; NULL: not computed yet */
	int		   *outcome;		/* by rollout: OUTCOME_… */
	Labels	   *labels;			/* of calls; NULL if none are given */
	bool		by_step;		/* labels are by step_id, not by rollout_id and step_no */
	double		success_above;
} Making;

/* ----------
 * Arguments
 * ----------
 */

static double
number_argument(FunctionCallInfo fcinfo, int arg, const char *name, double least)
{
	double		number;

	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must not be null", name)));
	number = PG_GETARG_FLOAT8(arg);
	if (!isfinite(number) || number < least)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 least == -INFINITY ? errmsg("%s must be a finite number", name) : errmsg("%s must be a finite number of at least %g", name, least)));
	return number;
}

static Category *
names_argument(FunctionCallInfo fcinfo, int arg, const char *what, int *n)
{
	ArrayType  *array = PG_ARGISNULL(arg) ? NULL : PG_GETARG_ARRAYTYPE_P(arg);
	Category   *names;
	Datum	   *texts;

	if (array == NULL || ARR_NDIM(array) > 1 || ARR_HASNULL(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be a list of names without nulls", what)));
	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, n);
	names = ALLOCATE_ARRAY(Category, *n);
	for (int i = 0; i < *n; i++)
	{
		text	   *name = DatumGetTextPP(texts[i]);

		names[i] = (Category) {VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)};
		for (int j = 0; j < i; j++)
		{
			if (names[j].length == names[i].length && memcmp(names[j].bytes, names[i].bytes, names[i].length) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("%s names \"%.*s\" twice", what, (int) names[i].length, names[i].bytes)));
		}
	}
	return names;
}

/* Without rows or names there are no numbers, even if an array is given. */
static Matrix
matrix_argument(FunctionCallInfo fcinfo, int arg, const char *what, uint32 n_rows, const char *of_what, int width, const char *names)
{
	Matrix		matrix = {width, NULL};

	if ((Size) n_rows * width == 0)
		return matrix;
	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("%s must be given for %s", what, names)));
	matrix.numbers = read_matrix(PG_GETARG_ARRAYTYPE_P(arg), what, n_rows, of_what, width, names, true);
	return matrix;
}

/* ----------
 * Counts
 * ----------
 */

static void
count_group(Making *making)
{
	Digest	   *digest = &making->digest;
	GroupSummary summary = {0};

	summarise_group(&making->group, &making->facts, making->success_above, &summary);
	digest->counts[COUNT_GROUPS] = 1;
	digest->counts[COUNT_JUDGED_GROUPS] = summary.n_judged > 0;
	digest->counts[COUNT_INFORMATIVE_GROUPS] = summary.n_judged > 0 && !summary.uniform;
	digest->counts[COUNT_ROLLOUTS] = summary.n_rollouts;
	digest->counts[COUNT_JUDGED] = summary.n_judged;
	digest->counts[COUNT_SUCCESSES] = summary.n_successes;
	digest->counts[COUNT_STEPS] = summary.n_steps;
	digest->counts[COUNT_JUDGED_STEPS] = summary.n_judged_steps;
	digest->counts[COUNT_SHARED_STEPS] = summary.n_shared_steps;
	for (uint32 r = 0; r < making->group.n_rollouts; r++)
	{
		digest->counts[COUNT_TRUNCATED] += rollout_is_truncated(&making->group, r);
		if (making->facts.judged[r])
			sum_add(&digest->returns, making->facts.total[r]);
	}
}

static void
add_reward(RewardTotals *totals, double reward)
{
	if (isnan(reward))
		return;
	totals->n++;
	sum_add(&totals->sum, reward);
}

/* Sum each reward component over the steps and outcomes of judged rollouts. */
static void
sum_rewards(Making *making)
{
	const GroupColumns *calls = &making->calls;

	digest_make_room_for_rewards(&making->digest, calls->n_rewards);
	for (uint32 c = 0; c < calls->n_rewards; c++)
	{
		RewardTotals *totals = &making->digest.rewards[c];

		for (uint32 r = 0; r < calls->n_rollouts; r++)
		{
			if (!making->facts.judged[r])
				continue;
			for (uint32 i = calls->first_step[r]; calls->step_rewards != NULL && i < calls->first_step[r + 1]; i++)
				add_reward(totals, calls->step_rewards[(uint64) c * calls->n_steps + i]);
			if (calls->outcome_rewards != NULL)
				add_reward(totals, calls->outcome_rewards[(uint64) c * calls->n_rollouts + r]);
			CHECK_FOR_INTERRUPTS();
		}
	}
}

/* ----------
 * Advantages
 * ----------
 */

static inline void
add_to_advantages(AdvantageTotals *totals, double advantage)
{
	totals->n++;
	totals->n_positive += advantage > 0;
	totals->n_negative += advantage < 0;
	sum_add(&totals->sum, advantage);
	sum_add(&totals->abs_sum, fabs(advantage));
}

/* Equal numbers, which often follow each other, to be counted together. */
typedef struct Run
{
	int64		number;
	int64		n;
} Run;

static inline void
end_run(counts_hash **counts, MemoryContext context, Run *run)
{
	if (run->n > 0)
		count_in(counts, context, run->number, run->n);
	run->n = 0;
}

static inline void
count_next(counts_hash **counts, MemoryContext context, Run *run, int64 number)
{
	if (run->number != number)
		end_run(counts, context, run);
	run->number = number;
	run->n++;
}

/*
 * Sums stay in registers while they grow, and equal advantages, as within a rollout, share the computation of
 * a bin.
 */
static void
add_method(Making *making, const Matrix *advantages, int method)
{
	AdvantageTotals totals = making->digest.advantages[method];
	counts_hash *bins = totals.bins;
	const double *advantage = advantages->numbers + method;
	double		before = NAN;
	int64		bin = 0;
	Run			run = {0};

	for (uint32 i = 0; i < making->calls.n_steps; i++, advantage += advantages->width)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (isnan(*advantage))
			continue;
		add_to_advantages(&totals, *advantage);
		if (fabs(*advantage) > LEAST_SQUARED)
			sum_add(&totals.square_sum, *advantage * *advantage);
		totals.least = Min(totals.least, *advantage);
		totals.greatest = Max(totals.greatest, *advantage);
		if (*advantage != before)
			bin = bin_of_advantage(*advantage);
		before = *advantage;
		count_next(&bins, making->digest.context, &run, bin);
	}
	end_run(&bins, making->digest.context, &run);
	totals.bins = bins;
	making->digest.advantages[method] = totals;
}

/* Has no branch: NaN is neither above nor below. */
static inline int
digit(double advantage, double threshold)
{
	return 1 + (advantage > threshold) - (advantage < -threshold) + 2 * (isnan(advantage) != 0);
}

/* Methods of a step by the sign of its advantage, as bits. */
typedef struct Signs
{
	uint32		below;
	uint32		above;
} Signs;

/* Remove the lowest bit and return its number. */
static inline int
next_method(uint32 *methods)
{
	int			method = pg_rightmost_one_pos32(*methods);

	*methods &= *methods - 1;
	return method;
}

/* Called for a step on which advantages of both signs occur: only methods of different signs disagree. */
static void
add_disagreements(Digest *digest, const double *advantage, const double *scale, Signs signs)
{
	double		scaled[MOST_SIGNED_METHODS];

	for (uint32 rest = signs.below | signs.above; rest != 0;)
	{
		int			m = next_method(&rest);

		scaled[m] = advantage[m] / scale[m];
	}
	for (uint32 ones = signs.below; ones != 0;)
	{
		int			one = next_method(&ones);

		for (uint32 others = signs.above; others != 0;)
		{
			int			other = next_method(&others);
			double	   *apart = &digest->apart[pair_of_methods(digest, Min(one, other), Max(one, other))];

			*apart = Max(*apart, fabs(scaled[one] - scaled[other]));
		}
	}
}

/*
 * Compute the root mean square of each method's advantages; returns the methods for which it is above a
 * threshold, as bits.
 */
static uint32
find_scales(const Digest *digest, double threshold, double *scale)
{
	uint32		above = 0;

	for (int m = 0; m < digest->n_methods; m++)
	{
		const AdvantageTotals *totals = &digest->advantages[m];

		scale[m] = totals->n > 0 ? sqrt(sum_value(&totals->square_sum) / totals->n) : 0;
		above |= (uint32) (scale[m] > threshold) << m;
	}
	return above;
}

static void
add_signs(Making *making, const Matrix *advantages, double sign_threshold, double difference_threshold)
{
	Digest	   *digest = &making->digest;
	const double *advantage = advantages->numbers;
	double		scale[MOST_SIGNED_METHODS];
	uint32		comparable;
	Run			run = {0};

	if (digest_n_pairs(digest) == 0)
		return;
	comparable = find_scales(digest, difference_threshold, scale);
	for (uint32 r = 0; r < making->calls.n_rollouts; r++)
	{
		for (uint32 i = making->calls.first_step[r]; i < making->calls.first_step[r + 1]; i++, advantage += digest->n_methods)
		{
			int64		pattern = 0;
			Signs		signs = {0, 0};

			for (int m = digest->n_methods - 1; m >= 0; m--)
			{
				pattern = pattern * 4 + digit(advantage[m], sign_threshold);
				signs.below |= (uint32) (advantage[m] < 0) << m;
				signs.above |= (uint32) (advantage[m] > 0) << m;
			}
			count_next(&digest->signs, digest->context, &run, pattern * 4 + making->outcome[r]);
			signs.below &= comparable;
			signs.above &= comparable;
			if (signs.below != 0 && signs.above != 0)
				add_disagreements(digest, advantage, scale, signs);
		}
		CHECK_FOR_INTERRUPTS();
	}
	end_run(&digest->signs, digest->context, &run);
}

static const uint32 *
first_calls(Making *making)
{
	RolloutFacts facts;

	if (making->first == NULL)
	{
		find_rollout_facts(&making->calls, &facts);
		making->first = first_times(&making->calls, &facts);
	}
	return making->first;
}

/* ----------
 * Calls
 * ----------
 */

static CallTotals *
calls_of(Making *making, uint32 code)
{
	static const Category none = {NULL, 0};
	uint32		category = code >> N_CALL_FLAGS;

	return digest_calls(&making->digest, category == 0 ? &none : &making->labels->categories[category - 1]);
}

static inline const Label *
label_of_call(Making *making, uint32 rollout, uint32 i)
{
	const GroupColumns *calls = &making->calls;

	if (making->by_step)
		return label_of(making->labels, calls->step_id[i], 0);
	return label_of(making->labels, calls->rollout_id[rollout], calls->step_no[i]);
}

/* Where turns are the steps, each call has the advantages of its turn. */
static void
add_calls(Making *making, const Matrix *advantages)
{
	const GroupColumns *calls = &making->calls;
	const uint32 *first = first_calls(making);
	const double *advantage = advantages->numbers;
	/* Without labels there is one category, whose advantages are those of the group. */
	int			n_methods = making->labels->n > 0 ? making->digest.n_methods : 0;

	for (uint32 r = 0; r < calls->n_rollouts; r++)
	{
		for (uint32 i = calls->first_step[r]; i < calls->first_step[r + 1]; i++)
		{
			uint32		code = label_of_call(making, r, i)->code;
			CallTotals *totals = calls_of(making, code);
			int64	   *counts = totals->counts;

			counts[CALLS]++;
			counts[CALLS_JUDGED] += (code & CALL_JUDGED) != 0;
			counts[CALLS_FAILED] += (code & CALL_FAILED) != 0;
			counts[CALLS_LOOKED_AT] += (code & CALL_LOOKED_AT) != 0;
			counts[CALLS_GROUNDED] += (code & CALL_GROUNDED) != 0;
			counts[CALLS_REPEATED] += !first[i];
			for (int m = 0; m < n_methods; m++, advantage++)
			{
				if (!isnan(*advantage))
					add_to_advantages(&totals->methods[m], *advantage);
			}
		}
		CHECK_FOR_INTERRUPTS();
	}
	for (int m = 0; n_methods == 0 && calls->n_steps > 0 && m < making->digest.n_methods; m++)
		calls_of(making, 0)->methods[m] = making->digest.advantages[m];
}

/* ----------
 * Rollouts
 * ----------
 */

static void
add_measure(Making *making, int measure, uint32 rollout, double number)
{
	MeasureTotals *totals = &making->digest.measured[measure];

	if (isnan(number))
		return;
	totals->n++;
	totals->n_successes += making->outcome[rollout] == OUTCOME_SUCCESS;
	sum_add(&totals->sum, number);
	if (making->outcome[rollout] != OUTCOME_UNKNOWN)
		sum_add(&totals->judged_sum, number);
	count_in(&totals->numbers, making->digest.context, number_key(number), 1);
}

static double *
repeats_by_rollout(Making *making)
{
	const GroupColumns *calls = &making->calls;
	double	   *repeats = ALLOCATE_ARRAY(double, calls->n_rollouts);
	const uint32 *first = first_calls(making);

	for (uint32 r = 0; r < calls->n_rollouts; r++)
	{
		repeats[r] = 0;
		for (uint32 i = calls->first_step[r]; i < calls->first_step[r + 1]; i++)
			repeats[r] += !first[i];
	}
	return repeats;
}

static double *
as_numbers(const uint32 *counts, uint32 n)
{
	double	   *numbers = ALLOCATE_ARRAY(double, n);

	for (uint32 i = 0; i < n; i++)
		numbers[i] = counts[i];
	return numbers;
}

/* The response tokens of each rollout; NaN unless those of all its calls are known. */
static const double *
tokens_by_rollout(Making *making)
{
	const GroupColumns *calls = &making->calls;
	double	   *tokens = ALLOCATE_ARRAY(double, calls->n_rollouts);

	for (uint32 r = 0; r < calls->n_rollouts; r++)
	{
		tokens[r] = calls->n_rollout_steps[r] > 0 && making->labels->n > 0 ? 0 : NAN;
		for (uint32 i = calls->first_step[r]; i < calls->first_step[r + 1] && !isnan(tokens[r]); i++)
		{
			int64		n = label_of_call(making, r, i)->n_tokens;

			tokens[r] += n < 0 ? NAN : n;
		}
		CHECK_FOR_INTERRUPTS();
	}
	return tokens;
}

/* A measure that the group itself or its calls give, by rollout; NULL if it is none. */
static const double *
measure_of_group(Making *making, const Category *measure)
{
	const GroupColumns *calls = &making->calls;
	static const char *const names[] = {"steps", "turns", "repeats", "cost", "response_tokens"};
	int			which = 0;

	while (which < lengthof(names) && (strlen(names[which]) != measure->length || memcmp(names[which], measure->bytes, measure->length) != 0))
		which++;
	switch (which)
	{
		case 0:
			return as_numbers(calls->n_rollout_steps, calls->n_rollouts);
		case 1:
			return as_numbers(group_count_turns(calls), calls->n_rollouts);
		case 2:
			return repeats_by_rollout(making);
		case 3:
			return sum_costs(calls);
		case 4:
			return making->labels != NULL ? tokens_by_rollout(making) : NULL;
	}
	return NULL;
}

/* The measures from elsewhere, by rollout in the group's order, `width` numbers each. */
static double *
measured_elsewhere(FunctionCallInfo fcinfo, const GroupColumns *group, int width)
{
	Size		n_numbers = (Size) group->n_rollouts * width;
	double	   *numbers = ALLOCATE_ARRAY(double, n_numbers);
	const int64 *rollout_ids = NULL;
	int			n = 0;
	Matrix		measured;

	for (Size i = 0; i < n_numbers; i++)
		numbers[i] = NAN;
	if (width > 0 && !PG_ARGISNULL(ARG_MEASURED_ROLLOUTS))
		rollout_ids = list_argument(fcinfo, ARG_MEASURED_ROLLOUTS, "measured_rollouts", INT8OID, &n);
	measured = matrix_argument(fcinfo, ARG_MEASURED, "measured", n, "entry of measured_rollouts", width, "the measures that the group does not tell");
	for (int i = 0; i < n; i++)
	{
		int64		place = group_place_of_rollout(group, rollout_ids[i]);

		for (int m = 0; place >= 0 && m < width; m++)
		{
			if (!isnan(measured.numbers[(Size) i * width + m]))
				numbers[(Size) place * width + m] = measured.numbers[(Size) i * width + m];
		}
		CHECK_ONCE_IN_A_WHILE(i);
	}
	return numbers;
}

static void
add_measures(FunctionCallInfo fcinfo, Making *making)
{
	Digest	   *digest = &making->digest;
	uint32		n = making->calls.n_rollouts;
	const double **of_group = ALLOCATE_ARRAY(const double *, digest->n_measures);
	int			n_given = 0;
	int			given = 0;
	const double *elsewhere;

	for (int m = 0; m < digest->n_measures; m++)
	{
		of_group[m] = measure_of_group(making, &digest->measures[m]);
		n_given += of_group[m] == NULL;
	}
	elsewhere = measured_elsewhere(fcinfo, &making->calls, n_given);
	for (int m = 0; m < digest->n_measures; m++)
	{
		for (uint32 r = 0; r < n; r++)
			add_measure(making, m, r, of_group[m] != NULL ? of_group[m][r] : elsewhere[(Size) r * n_given + given]);
		given += of_group[m] == NULL;
	}
}

/* Add judged rollouts with steps.  Called last: start_distances marks rollouts with bad costs as not judged. */
static void
add_horizons(Making *making, double width)
{
	const GroupColumns *group = &making->group;
	const double *cost = sum_costs(group);
	const double *distance = start_distances(group, &making->facts, making->success_above);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		Horizon    *horizon;

		if (making->outcome[r] == OUTCOME_UNKNOWN || group->n_rollout_steps[r] == 0)
			continue;
		horizon = digest_horizon(&making->digest, isnan(distance[r]) ? NO_HORIZON : exact_key(floor(distance[r] / width) * width));
		horizon->n++;
		horizon->n_steps += group->n_rollout_steps[r];
		if (making->outcome[r] != OUTCOME_SUCCESS)
			continue;
		horizon->n_successes++;
		if (!isnan(distance[r]))
		{
			sum_add(&horizon->excess, cost[r] - distance[r]);
			count_in(&horizon->excesses, making->digest.context, number_key(cost[r] - distance[r]), 1);
		}
	}
}

/* ----------
 * The function
 * ----------
 */

static void
open_group_to_digest(FunctionCallInfo fcinfo, Making *making)
{
	const RolloutGroup *datum = (const RolloutGroup *) PG_GETARG_VARLENA_P(ARG_ROLLOUTS);
	int			n_methods;
	int			n_measures;
	const Category *methods = names_argument(fcinfo, ARG_METHODS, "methods", &n_methods);
	const Category *measures = names_argument(fcinfo, ARG_MEASURES, "measures", &n_measures);
	StringInfoData names;

	(void) group_open_by_unit(datum, &making->group, &making->calls);
	find_rollout_facts(&making->group, &making->facts);
	making->outcome = ALLOCATE_ARRAY(int, making->group.n_rollouts);
	for (uint32 r = 0; r < making->group.n_rollouts; r++)
		making->outcome[r] = !making->facts.judged[r] ? OUTCOME_UNKNOWN :
			rollout_succeeded(&making->group, &making->facts, r, making->success_above) ? OUTCOME_SUCCESS : OUTCOME_FAILURE;
	initStringInfo(&names);
	digest_write_names(&names, methods, n_methods, measures, n_measures);
	digest_set_names(&making->digest, names.data, names.len, ERRCODE_PROGRAM_LIMIT_EXCEEDED);
}

static void
add_advantages(FunctionCallInfo fcinfo, Making *making, Matrix *advantages)
{
	*advantages = matrix_argument(fcinfo, ARG_ADVANTAGES, "advantages", making->calls.n_steps, "step of the group", making->digest.n_methods, "the methods");
	for (int m = 0; advantages->numbers != NULL && m < making->digest.n_methods; m++)
		add_method(making, advantages, m);
	if (advantages->numbers != NULL)
		add_signs(making, advantages, number_argument(fcinfo, ARG_SIGN_THRESHOLD, "sign_threshold", 0),
				  number_argument(fcinfo, ARG_DIFFERENCE_THRESHOLD, "difference_threshold", 0));
}

Datum
stepadv_group_digest(PG_FUNCTION_ARGS)
{
	Making		making = {.success_above = number_argument(fcinfo, ARG_SUCCESS_ABOVE, "success_above", -INFINITY)};
	Matrix		advantages;

	if (PG_ARGISNULL(ARG_ROLLOUTS))
		PG_RETURN_NULL();
	digest_init(&making.digest, CurrentMemoryContext, ALL_PARTS);
	open_group_to_digest(fcinfo, &making);
	count_group(&making);
	sum_rewards(&making);
	add_advantages(fcinfo, &making, &advantages);
	if (PG_ARGISNULL(ARG_CALLS_BY_STEP))
		making.digest.parts &= ~(1 << PART_CALLS);
	else
	{
		making.labels = open_labels(PG_ARGISNULL(ARG_CALLS) ? NULL : (struct varlena *) PG_GETARG_POINTER(ARG_CALLS));
		making.by_step = PG_GETARG_BOOL(ARG_CALLS_BY_STEP);
		add_calls(&making, &advantages);
	}
	add_measures(fcinfo, &making);
	if (PG_ARGISNULL(ARG_HORIZON_WIDTH))
		making.digest.parts &= ~(1 << PART_HORIZONS);
	else
	{
		double		width = number_argument(fcinfo, ARG_HORIZON_WIDTH, "horizon_width", 0);

		if (width == 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("horizon_width must be above 0")));
		add_horizons(&making, width);
	}
	PG_RETURN_POINTER(digest_write(&making.digest));
}
