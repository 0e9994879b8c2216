/*
 * categories.c
 *		call_counts, call_sums, category_sums, category_totals: a group's steps counted and their
 *		advantages added up by the category of the call, and groups added to groups.
 *
 * A category_table has the categories of some steps (one of them may be NULL) and
 * for each the same number of numbers, one category's after the other's.  What of
 * these are counts are exact, up to 2^53.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "aggregate.h"
#include "arguments.h"
#include "arrays.h"
#include "analysis/labels.h"
#include "analysis/shape.h"
#include "compat.h"
#include "hash.h"
#include "digest/kept_advantages.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_call_counts);
PG_FUNCTION_INFO_V1(stepadv_call_sums);
PG_FUNCTION_INFO_V1(stepadv_category_sums_trans);
PG_FUNCTION_INFO_V1(stepadv_category_sums_final);
PG_FUNCTION_INFO_V1(stepadv_category_totals_trans);
PG_FUNCTION_INFO_V1(stepadv_category_totals_final);

/* Of the calls of a category, in the order in which sql/attach/behaviour_views.sql reads them. */
enum
{
	N_CALLS,
	N_ERRORS,
	N_JUDGED,
	N_GROUNDED,
	N_LOOKED_AT,
	N_REPEATS,
	N_COUNTS
};

/* Of the steps of a category, by each method. */
enum
{
	N_ROWS,						/* those without an advantage included */
	N_STEPS,
	SUM,
	ABS_SUM,
	N_POSITIVE,
	N_NEGATIVE,
	N_OF_METHOD
};

/* A row of the categories that there is something of: their numbers from 0, 0 being NULL. */
static Datum
category_table(FunctionCallInfo fcinfo, const Category *categories, const uint32 *numbers, uint32 n, const double *values, int width)
{
	Datum	   *names = ALLOCATE_ARRAY(Datum, n);
	bool	   *name_nulls = ALLOCATE_ARRAY(bool, n);
	Datum	   *cells = ALLOCATE_ARRAY(Datum, (Size) n * width);
	int			n_names = (int) n;
	int			lower = 1;
	Datum		row[2];
	bool		nulls[2] = {false, false};
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "a table of categories is a row");
	for (uint32 i = 0; i < n; i++)
	{
		name_nulls[i] = numbers[i] == 0;
		names[i] = name_nulls[i] ? (Datum) 0 :
			PointerGetDatum(cstring_to_text_with_len(categories[numbers[i] - 1].bytes, (int) categories[numbers[i] - 1].length));
		for (int v = 0; v < width; v++)
			cells[(Size) i * width + v] = Float8GetDatum(values[(Size) numbers[i] * width + v]);
	}
	row[0] = PointerGetDatum(n == 0 ? construct_empty_array(TEXTOID) : construct_md_array(names, name_nulls, 1, &n_names, &lower, TEXTOID, -1, false, TYPALIGN_INT));
	row[1] = PointerGetDatum(construct_array(cells, (int) n * width, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), row, nulls));
}

/* ----------
 * Calls
 * ----------
 */

static void
count_call(double *counts, uint32 flags, bool repeats)
{
	counts[N_CALLS]++;
	counts[N_JUDGED] += (flags & CALL_JUDGED) != 0;
	counts[N_ERRORS] += (flags & CALL_FAILED) != 0;
	counts[N_LOOKED_AT] += (flags & CALL_LOOKED_AT) != 0;
	counts[N_GROUNDED] += (flags & CALL_GROUNDED) != 0;
	counts[N_REPEATS] += repeats;
}

/* call_counts(rollouts rollout_group, labels bytea, by_step boolean) */
Datum
stepadv_call_counts(PG_FUNCTION_ARGS)
{
	Labels	   *labels;
	bool		by_step;
	RolloutFacts facts;
	GroupColumns group;
	const uint32 *first;
	double	   *counts;
	uint32	   *present;
	uint32		n_present = 0;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	require_argument(fcinfo, 2, "by_step");
	by_step = PG_GETARG_BOOL(2);
	labels = open_labels(PG_ARGISNULL(1) ? NULL : (struct varlena *) PG_GETARG_POINTER(1));
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	find_rollout_facts(&group, &facts);
	first = first_times(&group, &facts);
	counts = ALLOCATE_ZEROED_ARRAY(double, ((Size) labels->n_categories + 1) * N_COUNTS);
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		for (uint32 i = group.first_step[r]; i < group.first_step[r + 1]; i++)
		{
			uint32		code = by_step ? label_of(labels, group.step_id[i], 0) : label_of(labels, group.rollout_id[r], group.step_no[i]);

			count_call(counts + (Size) (code >> N_CALL_FLAGS) * N_COUNTS, code, !first[i]);
		}
		CHECK_FOR_INTERRUPTS();
	}
	present = ALLOCATE_ARRAY(uint32, labels->n_categories + 1);
	for (uint32 c = 0; c <= labels->n_categories; c++)
	{
		if (counts[(Size) c * N_COUNTS + N_CALLS] > 0)
			present[n_present++] = c;
	}
	return category_table(fcinfo, labels->categories, present, n_present, counts, N_COUNTS);
}

/* ----------
 * Advantages
 * ----------
 */

typedef struct MethodSums
{
	double		n_rows;
	double		n;
	Sum			sum;
	Sum			abs_sum;
	double		n_positive;
	double		n_negative;
} MethodSums;

typedef struct CategorySums
{
	int			n_methods;
	Labels	   *labels;
	MethodSums *sums;			/* by category, 0 being NULL, then by method */
} CategorySums;

/* In the current memory context. */
static CategorySums *
new_sums(Labels *labels, int n_methods)
{
	CategorySums *state = palloc(sizeof(CategorySums));

	state->n_methods = n_methods;
	state->labels = labels;
	state->sums = ALLOCATE_ZEROED_ARRAY(MethodSums, ((Size) labels->n_categories + 1) * n_methods);
	return state;
}

static CategorySums *
begin_sums(FunctionCallInfo fcinfo, int n_methods)
{
	MemoryContext old = MemoryContextSwitchTo(aggregate_context(fcinfo));
	CategorySums *state;

	require_types(fcinfo, 4, FLOAT8OID);
	state = new_sums(open_labels(PG_ARGISNULL(1) ? NULL : (struct varlena *) PG_GETARG_POINTER(1)), n_methods);

	MemoryContextSwitchTo(old);
	return state;
}

static inline void
add_to_sums(MethodSums *sums, double advantage)
{
	sums->n++;
	sum_add(&sums->sum, advantage);
	sum_add(&sums->abs_sum, fabs(advantage));
	sums->n_positive += advantage > 0;
	sums->n_negative += advantage < 0;
}

static Datum
table_of_sums(FunctionCallInfo fcinfo, const CategorySums *state)
{
	Size		n_cells = ((Size) state->labels->n_categories + 1) * state->n_methods;
	double	   *values = ALLOCATE_ARRAY(double, n_cells * N_OF_METHOD);
	uint32	   *present = ALLOCATE_ARRAY(uint32, state->labels->n_categories + 1);
	uint32		n_present = 0;

	for (Size i = 0; i < n_cells; i++)
	{
		const MethodSums *sums = &state->sums[i];
		double	   *value = values + i * N_OF_METHOD;

		value[N_ROWS] = sums->n_rows;
		value[N_STEPS] = sums->n;
		value[SUM] = sum_value(&sums->sum);
		value[ABS_SUM] = sum_value(&sums->abs_sum);
		value[N_POSITIVE] = sums->n_positive;
		value[N_NEGATIVE] = sums->n_negative;
	}
	/* A row counts for all methods. */
	for (uint32 c = 0; c <= state->labels->n_categories; c++)
	{
		if (state->sums[(Size) c * state->n_methods].n_rows > 0)
			present[n_present++] = c;
	}
	return category_table(fcinfo, state->labels->categories, present, n_present, values, state->n_methods * N_OF_METHOD);
}

/* category_sums_trans(internal, labels bytea, key bigint, number integer, VARIADIC advantages "any"): the labels of the first row are those of all. */
Datum
stepadv_category_sums_trans(PG_FUNCTION_ARGS)
{
	CategorySums *state = PG_ARGISNULL(0) ? begin_sums(fcinfo, PG_NARGS() - 4) : (CategorySums *) PG_GETARG_POINTER(0);
	uint32		code = PG_ARGISNULL(2) || PG_ARGISNULL(3) ? 0 : label_of(state->labels, PG_GETARG_INT64(2), PG_GETARG_INT32(3));
	MethodSums *sums = state->sums + (Size) (code >> N_CALL_FLAGS) * state->n_methods;

	for (int m = 0; m < state->n_methods; m++, sums++)
	{
		sums->n_rows++;
		if (!PG_ARGISNULL(4 + m))
			add_to_sums(sums, PG_GETARG_FLOAT8(4 + m));
	}
	PG_RETURN_POINTER(state);
}

Datum
stepadv_category_sums_final(PG_FUNCTION_ARGS)
{
	return table_of_sums(fcinfo, (const CategorySums *) PG_GETARG_POINTER(0));
}

/*
 * call_sums(rollouts rollout_group, labels bytea, by_step boolean, advantages bytea,
 * places integer[]): the same of the methods at these places (from 1) of what
 * kept_advantages gave of the group, which has a row for each of its steps in their order.
 */
Datum
stepadv_call_sums(PG_FUNCTION_ARGS)
{
	bool		by_step = PG_GETARG_BOOL(2);
	const KeptAdvantages *kept;
	const uint8 *missing;
	const int32 *place;
	int			n_methods;
	CategorySums *state;
	GroupColumns group;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(3) || PG_ARGISNULL(4))
		PG_RETURN_NULL();
	require_argument(fcinfo, 2, "by_step");
	kept = (const KeptAdvantages *) PG_DETOAST_DATUM(PG_GETARG_DATUM(3));
	if (!are_kept_advantages(kept))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
				 errmsg("advantages are not as kept_advantages makes them")));
	missing = missing_advantages(kept);
	place = list_argument(fcinfo, 4, "places", INT4OID, &n_methods);
	state = new_sums(open_labels(PG_ARGISNULL(1) ? NULL : (struct varlena *) PG_GETARG_POINTER(1)), n_methods);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, NULL);
	for (int m = 0; m < state->n_methods; m++)
	{
		if (place[m] < 1 || place[m] > kept->n_methods)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("there is no method %d of %d", place[m], kept->n_methods)));
	}
	if (kept->n_steps < group.n_steps)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("there are advantages of " INT64_FORMAT " steps out of %u", kept->n_steps, group.n_steps)));
	for (uint32 r = 0; r < group.n_rollouts; r++)
	{
		for (uint32 i = group.first_step[r]; i < group.first_step[r + 1]; i++)
		{
			uint32		code = by_step ? label_of(state->labels, group.step_id[i], 0) : label_of(state->labels, group.rollout_id[r], group.step_no[i]);
			MethodSums *sums = state->sums + (Size) (code >> N_CALL_FLAGS) * state->n_methods;

			for (int m = 0; m < state->n_methods; m++, sums++)
			{
				Size		cell = (Size) (place[m] - 1) * kept->n_steps + i;

				sums->n_rows++;
				if (!missing[cell])
					add_to_sums(sums, kept->advantages[cell]);
			}
		}
		CHECK_FOR_INTERRUPTS();
	}
	return table_of_sums(fcinfo, state);
}

/* ----------
 * Groups together
 * ----------
 */

typedef struct Place
{
	uint64		hash;			/* hash key */
	uint32		number;
	char		status;
} Place;

#define SH_PREFIX place
#define SH_ELEMENT_TYPE Place
#define SH_KEY_TYPE uint64
#define SH_KEY hash
#define SH_HASH_KEY(table, key) look_on_the_way((uint32) (key))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DEFINE
#define SH_DECLARE
#include "hash_table.h"

typedef struct CategoryTotals
{
	MemoryContext context;
	int			width;			/* 0: not known yet */
	bool		has_null;
	uint32		n;				/* categories, NULL not counted */
	uint32		room;
	Category   *categories;
	Sum		   *sums;			/* by category, 0 being NULL */
	place_hash *places;
} CategoryTotals;

static CategoryTotals *
begin_totals(MemoryContext context)
{
	CategoryTotals *totals = MemoryContextAllocZero(context, sizeof(CategoryTotals));

	totals->context = context;
	totals->places = place_create(context, 16, NULL);
	return totals;
}

static void
make_room_for_totals(CategoryTotals *totals, int width)
{
	MemoryContext old = MemoryContextSwitchTo(totals->context);

	if (totals->sums == NULL)
	{
		totals->width = width;
		totals->room = 16;
		totals->categories = palloc(sizeof(Category) * totals->room);
		totals->sums = ALLOCATE_ZEROED_ARRAY(Sum, ((Size) totals->room + 1) * width);
	}
	else if (totals->n == totals->room)
	{
		Size		before = ((Size) totals->room + 1) * width;

		totals->room *= 2;
		totals->categories = repalloc_huge(totals->categories, sizeof(Category) * totals->room);
		totals->sums = repalloc_huge(totals->sums, sizeof(Sum) * ((Size) totals->room + 1) * width);
		memset(totals->sums + before, 0, sizeof(Sum) * (((Size) totals->room + 1) * width - before));
	}
	MemoryContextSwitchTo(old);
}

/* The sums of a category; category NULL: of those without one. */
static Sum *
sums_of(CategoryTotals *totals, const text *category)
{
	Place	   *place;
	bool		found;

	if (category == NULL)
	{
		totals->has_null = true;
		return totals->sums;
	}
	place = place_insert(totals->places, hash_bytes_64(VARDATA_ANY(category), VARSIZE_ANY_EXHDR(category)), &found);
	if (!found)
	{
		size_t		length = VARSIZE_ANY_EXHDR(category);
		char	   *copy = MemoryContextAlloc(totals->context, Max(length, 1));

		memcpy(copy, VARDATA_ANY(category), length);
		make_room_for_totals(totals, totals->width);
		totals->categories[totals->n++] = (Category) {copy, length};
		place->number = totals->n;
	}
	return totals->sums + (Size) place->number * totals->width;
}

static void
add_table(CategoryTotals *totals, ArrayType *names, ArrayType *numbers)
{
	Datum	   *name;
	bool	   *is_null;
	int			n;
	int			n_numbers;
	const float8 *number = list_elements(numbers, "numbers", FLOAT8OID, &n_numbers);

	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &name, &is_null, &n);
	if (n == 0)
		return;
	if (n_numbers % n != 0 || (totals->width > 0 && n_numbers / n != totals->width))
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("a table of categories has %d numbers of %d categories", n_numbers, n)));
	if (totals->sums == NULL)
		make_room_for_totals(totals, n_numbers / n);
	for (int i = 0; i < n; i++)
	{
		Sum		   *sums = sums_of(totals, is_null[i] ? NULL : DatumGetTextPP(name[i]));

		for (int v = 0; v < totals->width; v++)
			sum_add(&sums[v], *number++);
	}
}

/* category_totals_trans(internal, category_table) */
Datum
stepadv_category_totals_trans(PG_FUNCTION_ARGS)
{
	CategoryTotals *totals = PG_ARGISNULL(0) ? begin_totals(aggregate_context(fcinfo)) : (CategoryTotals *) PG_GETARG_POINTER(0);

	CHECK_FOR_INTERRUPTS();
	if (!PG_ARGISNULL(1))
	{
		HeapTupleHeader row = PG_GETARG_HEAPTUPLEHEADER(1);
		bool		no_names;
		bool		no_numbers;
		Datum		names = GetAttributeByNum(row, 1, &no_names);
		Datum		numbers = GetAttributeByNum(row, 2, &no_numbers);

		if (!no_names && !no_numbers)
			add_table(totals, DatumGetArrayTypeP(names), DatumGetArrayTypeP(numbers));
	}
	PG_RETURN_POINTER(totals);
}

Datum
stepadv_category_totals_final(PG_FUNCTION_ARGS)
{
	const CategoryTotals *totals = (const CategoryTotals *) PG_GETARG_POINTER(0);
	double	   *values = ALLOCATE_ARRAY(double, ((Size) totals->n + 1) * totals->width);
	uint32	   *present = ALLOCATE_ARRAY(uint32, totals->n + 1);
	uint32		n_present = 0;

	for (uint32 c = totals->has_null ? 0 : 1; c <= totals->n; c++)
	{
		for (int v = 0; v < totals->width; v++)
			values[(Size) c * totals->width + v] = sum_value(&totals->sums[(Size) c * totals->width + v]);
		present[n_present++] = c;
	}
	return category_table(fcinfo, totals->categories, present, n_present, values, totals->width);
}
