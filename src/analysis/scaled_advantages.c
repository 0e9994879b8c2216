/*
 * scaled_advantages.c
 *		scaled_advantages(advantage_array, threshold): brings advantages of methods with different units to one scale.
 *
 * The array has a row per step of a group and a column per method.  Each method's advantages are divided by their
 * root mean square; they are 0 if that is at or below the threshold, and so rounding error.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/float.h"
#include "utils/tuplestore.h"

#include "arrays.h"
#include "matrix.h"
#include "rows.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_scaled_advantages);

static double
root_mean_square(const double *advantage, int n_rows, int width)
{
	Sum			sum = {0};
	int			n = 0;

	for (int i = 0; i < n_rows; i++)
	{
		double		x = advantage[(Size) i * width];

		CHECK_ONCE_IN_A_WHILE(i);
		n += !isnan(x);
		if (fabs(x) > LEAST_SQUARED)
			sum_add(&sum, float8_mul(x, x));
	}
	return n > 0 ? sqrt(sum_value(&sum) / n) : 0;
}

static Datum
numbers_datum(const double *numbers, const double *scale, int n)
{
	Datum	   *datums = ALLOCATE_ARRAY(Datum, n);
	bool	   *nulls = ALLOCATE_ARRAY(bool, n);
	int			bound = 1;

	for (int i = 0; i < n; i++)
	{
		nulls[i] = isnan(numbers[i]);
		datums[i] = Float8GetDatum(scale == NULL ? numbers[i] : scale[i] > 0 ? numbers[i] / scale[i] : 0);
	}
	return PointerGetDatum(construct_md_array(datums, nulls, 1, &n, &bound, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
											  TYPALIGN_DOUBLE));
}

Datum
stepadv_scaled_advantages(PG_FUNCTION_ARGS)
{
	ArrayType  *array = PG_GETARG_ARRAYTYPE_P(0);
	double		threshold = PG_GETARG_FLOAT8(1);
	int			n_rows = ARR_NDIM(array) == 2 ? ARR_DIMS(array)[0] : 0;
	int			width = ARR_NDIM(array) == 2 ? ARR_DIMS(array)[1] : 0;
	const double *advantage = read_matrix(array, "advantages", (uint32) n_rows, "step", width, "the methods", false);
	double	   *scale = ALLOCATE_ARRAY(double, width);
	Tuplestorestate *rows = begin_rows(fcinfo, 2);
	TupleDesc	shape = ((ReturnSetInfo *) fcinfo->resultinfo)->expectedDesc;
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "stepadv scaled row", ALLOCSET_DEFAULT_SIZES);

	for (int m = 0; m < width; m++)
	{
		scale[m] = root_mean_square(advantage + m, n_rows, width);
		if (!(scale[m] > threshold))
			scale[m] = 0;
	}
	for (int i = 0; i < n_rows; i++)
	{
		const double *row = advantage + (Size) i * width;
		MemoryContext old = MemoryContextSwitchTo(scratch);
		Datum		values[2] = {numbers_datum(row, NULL, width), numbers_datum(row, scale, width)};
		bool		nulls[2] = {false, false};

		tuplestore_putvalues(rows, shape, values, nulls);
		MemoryContextSwitchTo(old);
		MemoryContextReset(scratch);
		CHECK_ONCE_IN_A_WHILE(i);
	}
	return (Datum) 0;
}
