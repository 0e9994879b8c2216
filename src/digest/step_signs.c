/*
 * step_signs.c
 *		What many steps say of the methods side by side, in little room: how many
 *		steps have which signs by all methods, and how far two methods are apart
 *		where they disagree.
 *
 * A pattern is a number in base 4: first the outcome of the step's rollout (0 no
 * success, 1 success, 2 not judged yet), then a digit per method: 0 a negative
 * advantage, 1 none to speak of, 2 a positive one, 3 no advantage.  Patterns and
 * how many steps have each can be added up over groups for any two methods.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"

#include "aggregate.h"
#include "arguments.h"
#include "arrays.h"
#include "compat.h"
#include "digest/step_signs.h"

PG_FUNCTION_INFO_V1(stepadv_step_signs_trans);
PG_FUNCTION_INFO_V1(stepadv_step_signs_final);
PG_FUNCTION_INFO_V1(stepadv_quadrant_counts_trans);
PG_FUNCTION_INFO_V1(stepadv_quadrant_counts_combine);

#define N_QUADRANTS 16			/* two digits */
#define N_COUNTS (N_OUTCOMES * N_QUADRANTS)

/* ----------
 * The steps of a group
 * ----------
 */

StepSigns *
new_step_signs(MemoryContext context, int n_methods)
{
	StepSigns  *signs;

	if (n_methods > MOST_METHODS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d methods are more than %d", n_methods, MOST_METHODS)));
	signs = MemoryContextAllocZero(context, sizeof(StepSigns));
	signs->n_methods = n_methods;
	signs->patterns = counts_create(context, 64, NULL);
	signs->apart = MemoryContextAllocZero(context, sizeof(double) * Max(n_methods * (n_methods - 1) / 2, 1));
	return signs;
}

/* A float8[] with an entry per method. */
static void
deconstruct_numbers(ArrayType *array, int expected, Datum **values, bool **nulls)
{
	int			n;

	deconstruct_array(array, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, values, nulls, &n);
	if (expected >= 0 && n != expected)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("there are %d numbers for %d methods", n, expected)));
}

static int
digit(double advantage, bool isnull, double threshold)
{
	if (isnull)
		return 3;
	return fabs(advantage) <= threshold ? 1 : advantage > 0 ? 2 : 0;
}

/*
 * Advantages in units of their scale; what is at or below the threshold there says
 * nothing.  Only opposite signs are a disagreement.
 */
static void
add_disagreements(StepSigns *signs, const double *scaled)
{
	int			pair = 0;

	for (int a = 0; a < signs->n_methods; a++)
	{
		for (int b = a + 1; b < signs->n_methods; b++, pair++)
		{
			if ((scaled[a] > 0 && scaled[b] < 0) || (scaled[a] < 0 && scaled[b] > 0))
				signs->apart[pair] = Max(signs->apart[pair], fabs(scaled[a] - scaled[b]));
		}
	}
}

void
add_signed_step(StepSigns *signs, int outcome, const SignedStep *steps, double sign_threshold, double scale_threshold)
{
	double		scaled[MOST_METHODS];
	int64		pattern = 0;

	for (int i = signs->n_methods - 1; i >= 0; i--)
	{
		double		advantage = steps[i].isnull ? 0 : steps[i].advantage;

		pattern = pattern * 4 + digit(advantage, steps[i].isnull, sign_threshold);
		scaled[i] = steps[i].scale > scale_threshold ? advantage / steps[i].scale : 0;
	}
	count_number(signs->patterns, pattern * 4 + outcome, 1);
	add_disagreements(signs, scaled);
}

/*
 * step_signs_trans(internal, success integer, advantages float8[], scales float8[],
 * sign_threshold float8, scale_threshold float8)
 */
static const char *const step_signs_arguments[] = {NULL, NULL, "advantages", "scales", "sign_threshold", "scale_threshold"};

Datum
stepadv_step_signs_trans(PG_FUNCTION_ARGS)
{
	StepSigns  *signs = PG_ARGISNULL(0) ? NULL : (StepSigns *) PG_GETARG_POINTER(0);
	MemoryContext context = aggregate_context(fcinfo);
	SignedStep	steps[MOST_METHODS];
	Datum	   *advantages;
	bool	   *no_advantage;
	Datum	   *scales;
	bool	   *no_scale;

	CHECK_FOR_INTERRUPTS();
	for (int i = 2; i <= 5; i++)
		require_argument(fcinfo, i, step_signs_arguments[i]);
	if (signs == NULL)
		signs = new_step_signs(context, ArrayGetNItems(ARR_NDIM(PG_GETARG_ARRAYTYPE_P(2)), ARR_DIMS(PG_GETARG_ARRAYTYPE_P(2))));
	deconstruct_numbers(PG_GETARG_ARRAYTYPE_P(2), signs->n_methods, &advantages, &no_advantage);
	deconstruct_numbers(PG_GETARG_ARRAYTYPE_P(3), signs->n_methods, &scales, &no_scale);
	for (int i = 0; i < signs->n_methods; i++)
		steps[i] = (SignedStep) {no_advantage[i] ? 0 : DatumGetFloat8(advantages[i]), no_scale[i] ? NAN : DatumGetFloat8(scales[i]), no_advantage[i]};
	add_signed_step(signs, PG_ARGISNULL(1) ? OUTCOME_UNKNOWN : PG_GETARG_INT32(1) == 1 ? OUTCOME_SUCCESS : OUTCOME_FAILURE,
					steps, PG_GETARG_FLOAT8(4), PG_GETARG_FLOAT8(5));
	PG_RETURN_POINTER(signs);
}

void
step_signs_values(const StepSigns *signs, Datum *values)
{
	int64		n;
	int			n_pairs = signs->n_methods * (signs->n_methods - 1) / 2;
	const Counted *sorted = sorted_counts(signs->patterns, &n);
	Datum	   *numbers = ALLOCATE_ARRAY(Datum, Max(n, n_pairs));

	for (int64 i = 0; i < n; i++)
		numbers[i] = Int64GetDatum(sorted[i].number);
	values[0] = PointerGetDatum(construct_array(numbers, (int) n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	for (int64 i = 0; i < n; i++)
		numbers[i] = Int64GetDatum(sorted[i].n);
	values[1] = PointerGetDatum(construct_array(numbers, (int) n, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	for (int i = 0; i < n_pairs; i++)
		numbers[i] = Float8GetDatum(signs->apart[i]);
	values[2] = PointerGetDatum(construct_array(numbers, n_pairs, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* A row of patterns bigint[] in their order, counts bigint[], apart float8[]. */
Datum
stepadv_step_signs_final(PG_FUNCTION_ARGS)
{
	Datum		values[3];
	bool		nulls[3] = {false, false, false};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "step_signs_final returns no row");
	step_signs_values((StepSigns *) PG_GETARG_POINTER(0), values);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/* ----------
 * The steps of many groups, by two methods
 * ----------
 */

/*
 * quadrant_counts_trans(bigint[], patterns bigint[], counts bigint[], place_a
 * integer, place_b integer): how many steps are in each quadrant of two methods,
 * which are known by their digits, by outcome.
 */
Datum
stepadv_quadrant_counts_trans(PG_FUNCTION_ARGS)
{
	Datum		state;
	int64	   *sums = state_numbers_to_change(fcinfo, "quadrant_counts", INT8OID, N_COUNTS, &state);
	int			n;
	const int64 *patterns = list_argument(fcinfo, 1, "patterns", INT8OID, &n);
	const int64 *counts = list_of_length(fcinfo, 2, "counts", INT8OID, n);
	int			shift_a = 2 * (PG_GETARG_INT32(3) + 1);
	int			shift_b = 2 * (PG_GETARG_INT32(4) + 1);

	if (shift_a < 2 || shift_b < 2 || shift_a > 2 * MOST_METHODS || shift_b > 2 * MOST_METHODS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there are no methods %d and %d", PG_GETARG_INT32(3), PG_GETARG_INT32(4))));
	for (int i = 0; i < n; i++)
	{
		int			outcome = patterns[i] & 3;

		if (outcome < N_OUTCOMES)
			sums[outcome * N_QUADRANTS + (patterns[i] >> shift_a & 3) * 4 + (patterns[i] >> shift_b & 3)] += counts[i];
	}
	PG_RETURN_DATUM(state);
}

Datum
stepadv_quadrant_counts_combine(PG_FUNCTION_ARGS)
{
	Datum		state;
	int64	   *sums = state_numbers_to_change(fcinfo, "quadrant_counts", INT8OID, N_COUNTS, &state);
	const int64 *others = state_numbers(fcinfo, 1, "quadrant_counts", INT8OID, N_COUNTS);

	for (int i = 0; i < N_COUNTS; i++)
		sums[i] += others[i];
	PG_RETURN_DATUM(state);
}
