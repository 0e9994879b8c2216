#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"

#include "arrays.h"
#include "matrix.h"

static void
check_dimensions(const ArrayType *array, const char *what, uint32 n_rows, const char *of_what, int width, const char *names)
{
	if (ARR_ELEMTYPE(array) == FLOAT8OID && ARR_NDIM(array) == 2 && ARR_DIMS(array)[0] == n_rows && ARR_DIMS(array)[1] == width)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
			 errmsg("%s must have %u rows, one per %s, and %d columns, one for each of %s", what, n_rows, of_what, width, names),
			 ARR_NDIM(array) == 2 ? errdetail("It has %d rows and %d columns.", ARR_DIMS(array)[0], ARR_DIMS(array)[1]) :
			 errdetail("It has %d dimensions.", ARR_NDIM(array)),
			 errhint("For example array_agg(ARRAY[a.advantage, b.advantage]), in the order in which the functions of a group give their rows.")));
}

double *
read_matrix(const ArrayType *array, const char *what, uint32 n_rows, const char *of_what, int width, const char *names,
			bool finite)
{
	Size		n = (Size) n_rows * width;
	const uint8 *bits = ARR_NULLBITMAP(array);
	const double *numbers = (const double *) ARR_DATA_PTR(array);
	double	   *matrix;

	check_dimensions(array, what, n_rows, of_what, width, names);
	matrix = ALLOCATE_ARRAY(double, n);
	for (Size i = 0; i < n; i++)
	{
		bool		isnull = bits != NULL && (bits[i / 8] & 1 << i % 8) == 0;

		CHECK_ONCE_IN_A_WHILE(i);
		matrix[i] = isnull ? NAN : *numbers++;
		if (finite && !isnull && !isfinite(matrix[i]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("%s must be finite numbers or null", what)));
	}
	return matrix;
}
