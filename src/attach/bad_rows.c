/*
 * bad_rows.c
 *		Finds problems in the rows of a rollout: the number of rows and their least step_no.
 *
 * stepadv_internal.bad_rows(rules, step_no, conditions…) checks one problem for each letter of the rules.  Two
 * concern the step numbers, in ascending order:
 *
 *	r	a number that occurs twice
 *	g	a gap before a number
 *
 * The others have one condition each, in the same order, and count the rows where it is true:
 *
 *	a	any row
 *	s	several: a problem only if there are two or more
 *	m	missing: a problem only if the condition is false in another row
 *	l	lacking: a problem only if the condition is false in no row
 *
 * Rows without a number have no place in the order, and are ignored for the least number.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "aggregate.h"
#include "arrays.h"

PG_FUNCTION_INFO_V1(stepadv_bad_rows_trans);
PG_FUNCTION_INFO_V1(stepadv_bad_rows_final);

#define FEW_STEPS 32
#define FIRST_CONDITION 3		/* among the arguments */

typedef struct Concerned
{
	char		rule;
	bool		has_number;
	int32		least;
	int64		n;
	int64		n_false;
} Concerned;

typedef struct BadRows
{
	int64		n;
	int64		allocated;
	int32	   *numbers;		/* NULL: their order is not needed */
	bool		is_ascending;
	int			n_problems;
	Concerned	problems[FLEXIBLE_ARRAY_MEMBER];
} BadRows;

static bool
is_of_order(char rule)
{
	return rule == 'r' || rule == 'g';
}

static BadRows *
new_bad_rows(MemoryContext context, const text *rules, int n_conditions)
{
	int			n = VARSIZE_ANY_EXHDR(rules);
	BadRows    *rows = MemoryContextAllocZero(context, offsetof(BadRows, problems) + n * sizeof(Concerned));
	bool		has_order = false;

	rows->n_problems = n;
	for (int p = 0; p < n; p++)
	{
		rows->problems[p].rule = VARDATA_ANY(rules)[p];
		if (strchr("rgasml", rows->problems[p].rule) == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("rule %d of bad_rows is none of r, g, a, s, m, l", p + 1)));
		has_order |= is_of_order(rows->problems[p].rule);
		n_conditions -= !is_of_order(rows->problems[p].rule);
	}
	if (n_conditions != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("bad_rows needs one condition for each rule that has one")));
	rows->is_ascending = true;
	rows->allocated = FEW_STEPS;
	if (has_order)
		rows->numbers = MemoryContextAlloc(context, FEW_STEPS * sizeof(int32));
	return rows;
}

static void
add_number(BadRows *rows, int32 number)
{
	if (rows->n == rows->allocated)
	{
		rows->allocated *= 2;
		rows->numbers = repalloc_huge(rows->numbers, rows->allocated * sizeof(int32));
	}
	rows->is_ascending &= rows->n == 0 || rows->numbers[rows->n - 1] <= number;
	rows->numbers[rows->n++] = number;
}

static void
concern(Concerned *problem, bool has_number, int32 number)
{
	problem->n++;
	if (has_number && (!problem->has_number || number < problem->least))
	{
		problem->has_number = true;
		problem->least = number;
	}
}

/* bad_rows_trans(internal, rules text, step_no integer, VARIADIC conditions "any") */
Datum
stepadv_bad_rows_trans(PG_FUNCTION_ARGS)
{
	BadRows    *rows = (BadRows *) PG_GETARG_POINTER(0);
	bool		has_number = !PG_ARGISNULL(2);
	int			argument = FIRST_CONDITION;

	if (PG_ARGISNULL(0))
	{
		MemoryContext context = aggregate_context(fcinfo);

		if (PG_ARGISNULL(1))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("rules of bad_rows must not be null")));
		for (int i = FIRST_CONDITION; i < PG_NARGS(); i++)
			if (get_fn_expr_argtype(fcinfo->flinfo, i) != BOOLOID)
				ereport(ERROR,
						(errcode(ERRCODE_DATATYPE_MISMATCH),
						 errmsg("condition %d of bad_rows must be boolean", i - FIRST_CONDITION + 1)));
		rows = new_bad_rows(context, PG_GETARG_TEXT_PP(1), PG_NARGS() - FIRST_CONDITION);
	}
	if (has_number && rows->numbers != NULL)
		add_number(rows, PG_GETARG_INT32(2));
	for (int p = 0; p < rows->n_problems; p++)
	{
		if (is_of_order(rows->problems[p].rule))
			continue;
		if (!PG_ARGISNULL(argument) && PG_GETARG_BOOL(argument))
			concern(&rows->problems[p], has_number, has_number ? PG_GETARG_INT32(2) : 0);
		else if (!PG_ARGISNULL(argument))
			rows->problems[p].n_false++;
		argument++;
	}
	PG_RETURN_POINTER(rows);
}

static int
compare_numbers(const void *a, const void *b)
{
	int32		one = *(const int32 *) a;
	int32		other = *(const int32 *) b;

	CHECK_FOR_INTERRUPTS();
	return one < other ? -1 : one > other;
}

/* Check the step numbers.  Rows mostly arrive in order and need no sort. */
static void
look_at_order(BadRows *rows)
{
	if (!rows->is_ascending)
		qsort(rows->numbers, rows->n, sizeof(int32), compare_numbers);
	rows->is_ascending = true;
	for (int p = 0; p < rows->n_problems; p++)
	{
		Concerned  *problem = &rows->problems[p];

		if (!is_of_order(problem->rule))
			continue;
		problem->n = 0;
		problem->has_number = false;
		for (int64 i = 1; i < rows->n; i++)
		{
			int64		ahead = (int64) rows->numbers[i] - rows->numbers[i - 1];

			if (problem->rule == 'r' ? ahead == 0 : ahead > 1)
				concern(problem, true, rows->numbers[i]);
		}
	}
}

static bool
is_there(const Concerned *problem)
{
	switch (problem->rule)
	{
		case 's':
			return problem->n > 1;
		case 'm':
			return problem->n > 0 && problem->n_false > 0;
		case 'l':
			return problem->n > 0 && problem->n_false == 0;
		default:
			return problem->n > 0;
	}
}

/* An array of (n_rows, step_no) in the order of the rules, NULL where there is no problem; NULL if there is none. */
Datum
stepadv_bad_rows_final(PG_FUNCTION_ARGS)
{
	BadRows    *rows = (BadRows *) PG_GETARG_POINTER(0);
	Oid			type = get_element_type(get_func_rettype(fcinfo->flinfo->fn_oid));
	Datum	   *elements = palloc(Max(rows->n_problems, 1) * sizeof(Datum));
	bool	   *nulls = palloc(Max(rows->n_problems, 1) * sizeof(bool));
	int			lower = 1;
	int			n_there = 0;
	TupleDesc	desc;

	(void) aggregate_context(fcinfo);
	if (rows->numbers != NULL)
		look_at_order(rows);
	for (int p = 0; p < rows->n_problems; p++)
		n_there += is_there(&rows->problems[p]);
	if (n_there == 0)
		PG_RETURN_NULL();
	desc = lookup_rowtype_tupdesc(type, -1);
	for (int p = 0; p < rows->n_problems; p++)
	{
		const Concerned *problem = &rows->problems[p];
		Datum		values[2] = {Int64GetDatum(problem->n), Int32GetDatum(problem->least)};
		bool		value_nulls[2] = {false, !problem->has_number};

		nulls[p] = !is_there(problem);
		if (!nulls[p])
			elements[p] = HeapTupleGetDatum(heap_form_tuple(desc, values, value_nulls));
	}
	ReleaseTupleDesc(desc);
	PG_RETURN_DATUM(PointerGetDatum(construct_md_array(elements, nulls, 1, &rows->n_problems, &lower, type, -1, false,
													   TYPALIGN_DOUBLE)));
}
