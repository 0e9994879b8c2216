/*
 * step_order.c
 *		What is wrong with the order of a rollout's steps: numbers that stand there
 *		twice, and numbers that do not follow the one before.
 *
 * Rows mostly come in the order of their numbers, and then nothing is sorted.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "funcapi.h"
#include "miscadmin.h"

#include "aggregate.h"
#include "arrays.h"

PG_FUNCTION_INFO_V1(stepadv_step_order_trans);
PG_FUNCTION_INFO_V1(stepadv_step_order_final);

/* Columns of stepadv_internal.step_order. */
enum
{
	O_N_REPEATED,
	O_FIRST_REPEATED,
	O_N_AHEAD,
	O_FIRST_AHEAD,
	N_ORDER_COLUMNS
};

typedef struct StepOrder
{
	int64		n;
	int64		allocated;
	int32	   *numbers;
	bool		is_ascending;
} StepOrder;

#define FEW_STEPS 32

static StepOrder *
new_step_order(MemoryContext context)
{
	StepOrder  *order = MemoryContextAllocZero(context, sizeof(StepOrder));

	order->is_ascending = true;
	order->allocated = FEW_STEPS;
	order->numbers = MemoryContextAlloc(context, FEW_STEPS * sizeof(int32));
	return order;
}

static void
add_number(StepOrder *order, int32 number)
{
	if (order->n == order->allocated)
	{
		order->allocated *= 2;
		order->numbers = repalloc_huge(order->numbers, order->allocated * sizeof(int32));
	}
	order->is_ascending &= order->n == 0 || order->numbers[order->n - 1] <= number;
	order->numbers[order->n++] = number;
}

/* step_order_trans(internal, step_no integer): a row without a number has no place. */
Datum
stepadv_step_order_trans(PG_FUNCTION_ARGS)
{
	StepOrder  *order = PG_ARGISNULL(0) ? new_step_order(aggregate_context(fcinfo)) : (StepOrder *) PG_GETARG_POINTER(0);

	if (!PG_ARGISNULL(1))
		add_number(order, PG_GETARG_INT32(1));
	PG_RETURN_POINTER(order);
}

static int
compare_numbers(const void *a, const void *b)
{
	int32		one = *(const int32 *) a;
	int32		other = *(const int32 *) b;

	CHECK_FOR_INTERRUPTS();
	return one < other ? -1 : one > other;
}

/* A row of what there is, NULL if nothing is wrong. */
Datum
stepadv_step_order_final(PG_FUNCTION_ARGS)
{
	StepOrder  *order = (StepOrder *) PG_GETARG_POINTER(0);
	int64		n_repeated = 0;
	int64		n_ahead = 0;
	int32		first_repeated = 0;
	int32		first_ahead = 0;
	Datum		values[N_ORDER_COLUMNS];
	bool		nulls[N_ORDER_COLUMNS] = {false};
	TupleDesc	desc;

	(void) aggregate_context(fcinfo);
	/* That it is sorted then is all that changes: the result is that of any order. */
	if (!order->is_ascending)
		qsort(order->numbers, order->n, sizeof(int32), compare_numbers);
	order->is_ascending = true;
	for (int64 i = 1; i < order->n; i++)
	{
		int64		ahead = (int64) order->numbers[i] - order->numbers[i - 1];

		if (ahead == 1)
			continue;
		if (ahead == 0 && n_repeated++ == 0)
			first_repeated = order->numbers[i];
		if (ahead > 1 && n_ahead++ == 0)
			first_ahead = order->numbers[i];
	}
	if (n_repeated == 0 && n_ahead == 0)
		PG_RETURN_NULL();
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "step_order_final returns no row");
	values[O_N_REPEATED] = Int64GetDatum(n_repeated);
	values[O_FIRST_REPEATED] = Int32GetDatum(first_repeated);
	values[O_N_AHEAD] = Int64GetDatum(n_ahead);
	values[O_FIRST_AHEAD] = Int32GetDatum(first_ahead);
	nulls[O_FIRST_REPEATED] = n_repeated == 0;
	nulls[O_FIRST_AHEAD] = n_ahead == 0;
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
