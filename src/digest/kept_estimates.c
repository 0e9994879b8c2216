/*
 * kept_estimates.c
 *		All that is kept of the advantages of a group, by all methods, computed once:
 *		their sums, their distributions, their signs, and they themselves.
 *
 * Four aggregates with one state, which the server makes once for those of them
 * that a query asks for: the columns of all methods.  What is made of them is what
 * advantage_sums.c, advantage_bins.c and step_signs.c make, one step after the
 * other in the same order, to the last bit.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "aggregate.h"
#include "arguments.h"
#include "arrays.h"
#include "compat.h"
#include "digest/advantage_bins.h"
#include "digest/advantage_sums.h"
#include "digest/kept_advantages.h"
#include "digest/step_signs.h"

PG_FUNCTION_INFO_V1(stepadv_kept_estimates_trans);
PG_FUNCTION_INFO_V1(stepadv_kept_sums_final);
PG_FUNCTION_INFO_V1(stepadv_kept_bins_final);
PG_FUNCTION_INFO_V1(stepadv_kept_signs_final);
PG_FUNCTION_INFO_V1(stepadv_kept_advantages_final);

/* Arguments of the aggregates, after the state. */
enum
{
	A_STATE,
	A_ROLLOUTS,					/* of the group, in any order, */
	A_RUNS,						/* and for each the first one of its run, or NULL for no signs at all */
	A_PLACES,					/* numbers, from 1, of the methods whose signs are asked for */
	A_SIGN_THRESHOLD,
	A_SCALE_THRESHOLD,
	A_ROLLOUT,
	A_SUCCESS,
	A_FIRST_METHOD
};

typedef struct KeptEstimates
{
	int			n_methods;
	int64		n;
	int64		room;
	int64	   *rollout;		/* by step */
	uint8	   *outcome;		/* by step */
	double	  **advantage;		/* by method and step */
	bool	  **isnull;			/* by method, then step; NULL as long as it has none */
	ArrayType  *rollouts;		/* as given; NULL: no signs */
	ArrayType  *runs;
	ArrayType  *places;
	double		sign_threshold;
	double		scale_threshold;
} KeptEstimates;

#define FIRST_ROOM 128

/* ----------
 * Taking the columns
 * ----------
 */

static KeptEstimates *
new_kept_estimates(FunctionCallInfo fcinfo)
{
	KeptEstimates *kept = palloc0(sizeof(KeptEstimates));

	require_types(fcinfo, A_FIRST_METHOD, FLOAT8OID);
	kept->n_methods = PG_NARGS() - A_FIRST_METHOD;
	kept->room = FIRST_ROOM;
	kept->rollout = palloc(sizeof(int64) * FIRST_ROOM);
	kept->outcome = palloc(sizeof(uint8) * FIRST_ROOM);
	kept->advantage = palloc(sizeof(double *) * Max(kept->n_methods, 1));
	kept->isnull = palloc0(sizeof(bool *) * Max(kept->n_methods, 1));
	for (int m = 0; m < kept->n_methods; m++)
		kept->advantage[m] = palloc(sizeof(double) * FIRST_ROOM);
	if (!PG_ARGISNULL(A_ROLLOUTS) && !PG_ARGISNULL(A_RUNS))
	{
		require_argument(fcinfo, A_PLACES, "places");
		require_argument(fcinfo, A_SIGN_THRESHOLD, "sign_threshold");
		require_argument(fcinfo, A_SCALE_THRESHOLD, "scale_threshold");
		kept->rollouts = PG_GETARG_ARRAYTYPE_P_COPY(A_ROLLOUTS);
		kept->runs = PG_GETARG_ARRAYTYPE_P_COPY(A_RUNS);
		kept->places = PG_GETARG_ARRAYTYPE_P_COPY(A_PLACES);
		kept->sign_threshold = PG_GETARG_FLOAT8(A_SIGN_THRESHOLD);
		kept->scale_threshold = PG_GETARG_FLOAT8(A_SCALE_THRESHOLD);
	}
	return kept;
}

static void
make_room(KeptEstimates *kept)
{
	kept->room *= 2;
	kept->rollout = repalloc_huge(kept->rollout, sizeof(int64) * kept->room);
	kept->outcome = repalloc_huge(kept->outcome, sizeof(uint8) * kept->room);
	for (int m = 0; m < kept->n_methods; m++)
	{
		kept->advantage[m] = repalloc_huge(kept->advantage[m], sizeof(double) * kept->room);
		if (kept->isnull[m] != NULL)
			kept->isnull[m] = repalloc_huge(kept->isnull[m], sizeof(bool) * kept->room);
	}
}

/*
 * kept_estimates_trans(internal, rollouts bigint[], runs bigint[], places integer[],
 * sign_threshold float8, scale_threshold float8, rollout_id bigint, success integer,
 * VARIADIC advantages "any")
 */
Datum
stepadv_kept_estimates_trans(PG_FUNCTION_ARGS)
{
	KeptEstimates *kept = PG_ARGISNULL(A_STATE) ? NULL : (KeptEstimates *) PG_GETARG_POINTER(A_STATE);
	MemoryContext old = MemoryContextSwitchTo(aggregate_context(fcinfo));

	if (kept == NULL)
		kept = new_kept_estimates(fcinfo);
	if (kept->n == kept->room)
		make_room(kept);
	kept->rollout[kept->n] = PG_ARGISNULL(A_ROLLOUT) ? 0 : PG_GETARG_INT64(A_ROLLOUT);
	kept->outcome[kept->n] = PG_ARGISNULL(A_SUCCESS) ? OUTCOME_UNKNOWN : PG_GETARG_INT32(A_SUCCESS) == 1 ? OUTCOME_SUCCESS : OUTCOME_FAILURE;
	for (int m = 0; m < kept->n_methods; m++)
	{
		bool		isnull = PG_ARGISNULL(A_FIRST_METHOD + m);

		kept->advantage[m][kept->n] = isnull ? 0 : PG_GETARG_FLOAT8(A_FIRST_METHOD + m);
		if (unlikely(isnull && kept->isnull[m] == NULL))
			kept->isnull[m] = ALLOCATE_ZEROED_ARRAY(bool, kept->room);
		if (kept->isnull[m] != NULL)
			kept->isnull[m][kept->n] = isnull;
	}
	kept->n++;
	MemoryContextSwitchTo(old);
	PG_RETURN_POINTER(kept);
}

static inline bool
has_advantage(const KeptEstimates *kept, int method, int64 step)
{
	return kept->isnull[method] == NULL || !kept->isnull[method][step];
}

/* ----------
 * Sums
 * ----------
 */

/* float8[]: the columns of advantage_sums of the first method, then of the next, … */
Datum
stepadv_kept_sums_final(PG_FUNCTION_ARGS)
{
	const KeptEstimates *kept = PG_ARGISNULL(0) ? NULL : (const KeptEstimates *) PG_GETARG_POINTER(0);
	int			n_methods = PG_NARGS() - A_FIRST_METHOD;
	Datum	   *values = palloc(sizeof(Datum) * Max(n_methods * N_SUMS, 1));
	bool	   *nulls = palloc0(sizeof(bool) * Max(n_methods * N_SUMS, 1));
	int			length = n_methods * N_SUMS;
	int			lower = 1;

	for (int m = 0; m < n_methods; m++)
	{
		AdvantageSums sums = {0};
		Datum	   *value = values + m * N_SUMS;

		for (int64 i = 0; kept != NULL && i < kept->n; i++)
		{
			if (has_advantage(kept, m, i))
				add_advantage(&sums, kept->advantage[m][i]);
		}
		CHECK_FOR_INTERRUPTS();
		value[S_N] = Float8GetDatum((double) sums.n);
		value[S_SUM] = Float8GetDatum(sums.sum);
		value[S_ABS_SUM] = Float8GetDatum(sums.abs_sum);
		value[S_SQUARE_SUM] = Float8GetDatum(sums.square_sum);
		value[S_LEAST] = Float8GetDatum(sums.least);
		value[S_GREATEST] = Float8GetDatum(sums.greatest);
		value[S_N_POSITIVE] = Float8GetDatum((double) sums.n_positive);
		value[S_N_NEGATIVE] = Float8GetDatum((double) sums.n_negative);
		for (int s = S_SUM; s <= S_GREATEST; s++)
			nulls[m * N_SUMS + s] = sums.n == 0;
	}
	PG_RETURN_ARRAYTYPE_P(construct_md_array(values, nulls, 1, &length, &lower, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* ----------
 * Distributions
 * ----------
 */

/* bytea[]: the bins of each method, NULL where it has no advantage. */
Datum
stepadv_kept_bins_final(PG_FUNCTION_ARGS)
{
	const KeptEstimates *kept = (const KeptEstimates *) PG_GETARG_POINTER(0);
	Datum	   *values = palloc(sizeof(Datum) * Max(kept->n_methods, 1));
	bool	   *nulls = palloc0(sizeof(bool) * Max(kept->n_methods, 1));
	counts_hash *bins = counts_create(CurrentMemoryContext, 256, NULL);
	int			length = kept->n_methods;
	int			lower = 1;

	for (int m = 0; m < kept->n_methods; m++)
	{
		int64		n;
		int64		bin = 0;
		int64		same = 0;

		counts_reset(bins);
		for (int64 i = 0; i < kept->n; i++)
		{
			int64		next;

			if (!has_advantage(kept, m, i))
				continue;
			next = bin_of_advantage(kept->advantage[m][i]);
			/* The steps of a rollout often have one. */
			if (same > 0 && next != bin)
			{
				count_number(bins, bin, same);
				same = 0;
			}
			bin = next;
			same++;
		}
		if (same > 0)
			count_number(bins, bin, same);
		CHECK_FOR_INTERRUPTS();
		nulls[m] = bins->members == 0;
		if (!nulls[m])
		{
			const Counted *sorted = sorted_counts(bins, &n);

			values[m] = PointerGetDatum(bins_as_bytes(sorted, n));
		}
	}
	PG_RETURN_ARRAYTYPE_P(construct_md_array(values, nulls, 1, &length, &lower, BYTEAOID, -1, false, TYPALIGN_INT));
}

/* ----------
 * Signs
 * ----------
 */

/* A rollout of those that were given, and its run. */
typedef struct RolloutOfRun
{
	int64		rollout;
	int64		run;
	int32		place;			/* among those given, from 1 */
	StepSigns  *signs;			/* of its run, if it is the first there */
} RolloutOfRun;

#define ST_SORT sort_rollouts
#define ST_ELEMENT_TYPE RolloutOfRun
#define ST_COMPARE(a, b) (((a)->rollout > (b)->rollout) - ((a)->rollout < (b)->rollout))
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static RolloutOfRun *
rollouts_of_runs(const KeptEstimates *kept, int *n)
{
	int			n_runs;
	const int64 *rollouts = list_elements(kept->rollouts, "rollouts", INT8OID, n);
	const int64 *runs = list_elements(kept->runs, "runs", INT8OID, &n_runs);
	RolloutOfRun *result;

	if (*n != n_runs)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("rollouts has %d elements, runs has %d", *n, n_runs)));
	result = ALLOCATE_ARRAY(RolloutOfRun, *n);
	for (int i = 0; i < *n; i++)
		result[i] = (RolloutOfRun) {rollouts[i], runs[i], i + 1, NULL};
	sort_rollouts(result, *n);
	return result;
}

static RolloutOfRun *
find_rollout(RolloutOfRun *rollouts, int n, int64 rollout)
{
	int			low = 0;
	int			high = n;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (rollouts[middle].rollout < rollout)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == n || rollouts[low].rollout != rollout)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rollout " INT64_FORMAT " is not among the rollouts given", rollout)));
	return &rollouts[low];
}

/* The root of the mean square, as the server adds; NaN where nothing is left of it. */
static double
scale_of(const KeptEstimates *kept, int method)
{
	double		sum = 0;
	int64		n = 0;
	bool		any = false;

	for (int64 i = 0; i < kept->n; i++)
	{
		double		advantage = kept->advantage[method][i];

		if (!has_advantage(kept, method, i))
			continue;
		n++;
		if (fabs(advantage) > LEAST_SQUARED)
		{
			double		square = float8_mul(advantage, advantage);

			sum = any ? float8_pl(sum, square) : square;
			any = true;
		}
	}
	return any ? sqrt(sum / (double) n) : NAN;
}

static void
sign_steps(const KeptEstimates *kept, RolloutOfRun *rollouts, int n_rollouts)
{
	int			n_signed;
	const int32 *places = list_elements(kept->places, "places", INT4OID, &n_signed);
	SignedStep	steps[MOST_METHODS];
	RolloutOfRun *rollout = NULL;
	StepSigns  *signs = NULL;

	if (n_signed > MOST_METHODS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%d methods are more than %d", n_signed, MOST_METHODS)));
	for (int s = 0; s < n_signed; s++)
	{
		if (places[s] < 1 || places[s] > kept->n_methods)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("there is no method %d of %d", places[s], kept->n_methods)));
		steps[s].scale = scale_of(kept, places[s] - 1);
	}
	for (int64 i = 0; i < kept->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (rollout == NULL || rollout->rollout != kept->rollout[i])
		{
			RolloutOfRun *first;

			rollout = find_rollout(rollouts, n_rollouts, kept->rollout[i]);
			first = find_rollout(rollouts, n_rollouts, rollout->run);
			if (first->signs == NULL)
				first->signs = new_step_signs(CurrentMemoryContext, n_signed);
			signs = first->signs;
		}
		for (int s = 0; s < n_signed; s++)
		{
			steps[s].advantage = kept->advantage[places[s] - 1][i];
			steps[s].isnull = !has_advantage(kept, places[s] - 1, i);
		}
		add_signed_step(signs, kept->outcome[i], steps, kept->sign_threshold, kept->scale_threshold);
	}
}

/* signed_run[]: of each run the place of its first rollout, and its steps' signs; NULL where none are asked for. */
Datum
stepadv_kept_signs_final(PG_FUNCTION_ARGS)
{
	const KeptEstimates *kept = (const KeptEstimates *) PG_GETARG_POINTER(0);
	Oid			type = get_element_type(get_func_rettype(fcinfo->flinfo->fn_oid));
	RolloutOfRun *rollouts;
	int			n_rollouts;
	Datum	   *rows;
	int			n = 0;
	TupleDesc	desc;

	if (kept->rollouts == NULL)
		PG_RETURN_NULL();
	rollouts = rollouts_of_runs(kept, &n_rollouts);
	sign_steps(kept, rollouts, n_rollouts);
	rows = ALLOCATE_ARRAY(Datum, n_rollouts);
	desc = lookup_rowtype_tupdesc(type, -1);
	for (int r = 0; r < n_rollouts; r++)
	{
		Datum		values[4];
		bool		nulls[4] = {false};

		if (rollouts[r].signs == NULL)
			continue;
		values[0] = Int32GetDatum(rollouts[r].place);
		step_signs_values(rollouts[r].signs, values + 1);
		rows[n++] = HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
	}
	ReleaseTupleDesc(desc);
	PG_RETURN_ARRAYTYPE_P(construct_array(rows, n, type, -1, false, TYPALIGN_DOUBLE));
}

/* ----------
 * They themselves
 * ----------
 */

Datum
stepadv_kept_advantages_final(PG_FUNCTION_ARGS)
{
	const KeptEstimates *kept = (const KeptEstimates *) PG_GETARG_POINTER(0);
	Size		n_cells = (Size) kept->n_methods * kept->n;
	Size		size = offsetof(KeptAdvantages, advantages) + n_cells * (sizeof(double) + 1);
	KeptAdvantages *result = palloc(size);
	uint8	   *missing;

	SET_VARSIZE(result, size);
	result->n_methods = kept->n_methods;
	result->n_steps = kept->n;
	missing = missing_advantages(result);
	for (int m = 0; m < kept->n_methods; m++)
	{
		memcpy(result->advantages + (Size) m * kept->n, kept->advantage[m], sizeof(double) * kept->n);
		if (kept->isnull[m] == NULL)
			memset(missing + (Size) m * kept->n, 0, kept->n);
		else
			memcpy(missing + (Size) m * kept->n, kept->isnull[m], kept->n);
	}
	PG_RETURN_POINTER(result);
}
