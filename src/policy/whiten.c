/*
 * whiten.c
 *		whiten(x) OVER (...): batch whitening of advantages.
 *
 * A group is a task's rollouts, a batch whatever the trainer takes at once: so
 * this is a window function, over the partition as a whole whatever the frame.
 *
 *	convention 'std'	(x - mean) / (sd + epsilon), sd with ddof 1
 *	convention 'verl'	(x - mean) / sqrt(variance + epsilon), and 1e-8 more than
 *						the number of rows in every mean, as verl's masked_whiten
 *
 * With a mask only the rows where it is true are in the statistics; the others
 * are transformed all the same (their consumer masks them).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "windowapi.h"

#include "arrays.h"
#include "estimators/normalise.h"
#include "parameters.h"

PG_FUNCTION_INFO_V1(stepadv_whiten);

/* Arguments: x [, mask], then the parameters. */
static const Parameter whiten_parameters[] = {
	EPSILON_PARAMETER, CHOICE_PARAMETER("convention", "std", "verl")
};

#define SWEEP_ROWS 4096

/* What a partition remembers between its rows. */
typedef struct Whitened
{
	double	   *x;				/* by row, once made; NaN: NULL */
} Whitened;

static void
read_window_parameters(FunctionCallInfo fcinfo, int first, ParameterValue *values)
{
	WindowObject window = PG_WINDOW_OBJECT();
	const int16 *arguments = find_parameters(fcinfo, first, whiten_parameters, lengthof(whiten_parameters));

	for (int i = 0; i < lengthof(whiten_parameters); i++)
	{
		NullableDatum arg;

		arg.value = WinGetFuncArgCurrent(window, arguments[i], &arg.isnull);
		read_parameter(&arg, &whiten_parameters[i], &values[i]);
	}
}

static Datum
argument_of_row(WindowObject window, int arg, int64 row, bool *isnull)
{
	bool		isout;

	return WinGetFuncArgInPartition(window, arg, row, WINDOW_SEEK_HEAD, false, isnull, &isout);
}

/*
 * One sweep per argument: going from one argument of a row to another costs as
 * much as going on by two rows.  x is read forwards, the mask on the way back.
 * What the arguments' expressions allocate is freed as we go.
 */
static void
read_partition(WindowObject window, bool has_mask, uint32 n, double *x, int32 *set, uint32 *weight)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "stepadv whiten", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	bool		isnull;

	for (uint32 i = 0; i < n; i++)
	{
		Datum		datum = argument_of_row(window, 0, i, &isnull);

		x[i] = isnull ? NAN : DatumGetFloat8(datum);
		set[i] = isnull ? NO_SET : 0;
		weight[i] = 1;
		if (i % SWEEP_ROWS == 0)
		{
			MemoryContextReset(scratch);
			CHECK_FOR_INTERRUPTS();
		}
	}
	for (uint32 i = n; has_mask && i-- > 0;)
	{
		Datum		datum = argument_of_row(window, 1, i, &isnull);

		weight[i] = !isnull && DatumGetBool(datum);
		if (i % SWEEP_ROWS == 0)
		{
			MemoryContextReset(scratch);
			CHECK_FOR_INTERRUPTS();
		}
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

/* A number that is none is an error, but where the mask is false nobody looks. */
static void
set_aside_non_finite(uint32 n, double *x, int32 *set, const uint32 *weight)
{
	for (uint32 i = 0; i < n; i++)
		if (set[i] != NO_SET && !isfinite(x[i]))
		{
			if (weight[i] != 0)
				ereport(ERROR,
						(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						 errmsg("x to whiten is %s, not a finite number", isnan(x[i]) ? "NaN" : "infinite")));
			set[i] = NO_SET;
			x[i] = NAN;
		}
}

static void
refuse_overflow_of_rows(uint32 n, const double *x, const int32 *set)
{
	for (uint32 i = 0; i < n; i++)
		if (set[i] != NO_SET && !isfinite(x[i]))
			float_overflow_error();
}

/* Is the mask more than the constant true, which need not be read of every row? */
static bool
has_mask(FunctionCallInfo fcinfo)
{
	bool		isnull;
	Datum		mask = WinGetFuncArgCurrent(PG_WINDOW_OBJECT(), 1, &isnull);

	return isnull || !DatumGetBool(mask) || !get_fn_expr_arg_stable(fcinfo->flinfo, 1);
}

/* Make the whole partition's results, in memory that lives as long as it. */
static void
whiten_partition(FunctionCallInfo fcinfo, Whitened *whitened)
{
	WindowObject window = PG_WINDOW_OBJECT();
	ParameterValue parameters[lengthof(whiten_parameters)];
	int64		n = WinGetPartitionRowCount(window);
	MemoryContext old;
	double	   *x;
	int32	   *set;
	uint32	   *weight;

	if (n > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("cannot whiten a partition of " INT64_FORMAT " rows", n),
				 errdetail("The limit is %d.", PG_INT32_MAX)));
	read_window_parameters(fcinfo, 2, parameters);

	old = MemoryContextSwitchTo(GetMemoryChunkContext(whitened));
	x = ALLOCATE_ARRAY(double, n);
	set = ALLOCATE_ARRAY(int32, n);
	weight = ALLOCATE_ARRAY(uint32, n);
	MemoryContextSwitchTo(old);
	read_partition(window, has_mask(fcinfo), n, x, set, weight);
	set_aside_non_finite(n, x, set, weight);
	{
		NormaliseOptions options = {
			parameters[1].choice == 0 ? NORMALISE_STD : NORMALISE_MASKED_WHITEN,
			parameters[0].number, SINGLETON_ZERO
		};

		normalise(x, weight, set, n, 1, &options, x, NULL);
		refuse_overflow_of_rows(n, x, set);
	}
	pfree(set);
	pfree(weight);
	whitened->x = x;
}

Datum
stepadv_whiten(PG_FUNCTION_ARGS)
{
	WindowObject window = PG_WINDOW_OBJECT();
	Whitened   *whitened = WinGetPartitionLocalMemory(window, sizeof(Whitened));
	double		x;

	if (whitened->x == NULL)
		whiten_partition(fcinfo, whitened);
	x = whitened->x[WinGetCurrentPosition(window)];
	if (isnan(x))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(x);
}
