/*
 * solve.c
 *		progress_solve(statistics, lambda, intercept): the linear model that
 *		minimises
 *
 *			1/n sum over rollouts of (sum_t c(s_t, a_t) - R)^2 + lambda |w|^2,
 *			c = w x + b
 *
 * (SPA's loss with a linear head and ridge; b is not penalised.)  With Z the
 * features summed over a rollout and its number of steps, that is
 *
 *			(sum Z Z' / n + lambda I) (w, b) = sum R Z / n
 *
 * by Cholesky's decomposition, in place on the packed triangle.  No library does
 * it for us: LAPACK is no light dependency to load into every backend, brings
 * threads of its own, cannot be interrupted, and gives other bits on other
 * machines; the decomposition is forty lines.  It needs no pivoting: where it
 * would, the answer is not determined by the data, and we say so.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"

#include "arrays.h"
#include "compat.h"
#include "estimator.h"
#include "progress/kernels.h"
#include "progress/statistics.h"

PG_FUNCTION_INFO_V1(stepadv_progress_solve);

static void
refuse_dependent(const ProgressValue *statistics, int feature, double lambda)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("the fit has no unique solution with lambda %g", lambda),
			 feature < (int) statistics->dimension
			 ? errdetail("Over " INT64_FORMAT " rollouts, the sums of feature %d are a linear combination of those of the features before it.",
						 statistics->n_rollouts, feature + 1)
			 : errdetail("Over " INT64_FORMAT " rollouts, the numbers of steps are a linear combination of the sums of the features.",
						 statistics->n_rollouts),
			 feature < (int) statistics->dimension || lambda == 0
			 ? errhint("A larger lambda (ridge) gives an answer.")
			 : errhint("Fit without an intercept.")));
}

/*
 * A = L L' in place.  A pivot that cancelled to rounding noise means that its
 * column depends on those before.
 */
static void
decompose(double *a, int n, const ProgressValue *statistics, double lambda)
{
	double		noise = 8 * n * DBL_EPSILON;

	for (int i = 0; i < n; i++)
	{
		double	   *row = a + PACKED_ROW(i);
		double		diagonal = row[i];
		double		pivot;

		for (int j = 0; j < i; j++)
		{
			const double *other = a + PACKED_ROW(j);

			row[j] = (row[j] - numbers_dot(row, other, j)) / other[j];
			if (j % 1024 == 0)
				CHECK_FOR_INTERRUPTS();
		}
		pivot = diagonal - numbers_dot(row, row, i);
		if (!(pivot > noise * diagonal))
			refuse_dependent(statistics, i, lambda);
		row[i] = sqrt(pivot);
		CHECK_FOR_INTERRUPTS();
	}
}

/* x becomes the solution of L L' y = x. */
static void
substitute(const double *l, int n, double *x)
{
	for (int i = 0; i < n; i++)
	{
		const double *row = l + PACKED_ROW(i);

		x[i] = (x[i] - numbers_dot(row, x, i)) / row[i];
	}
	/* Backwards column by column, which are the rows of L. */
	for (int i = n - 1; i >= 0; i--)
	{
		const double *row = l + PACKED_ROW(i);

		x[i] /= row[i];
		for (int j = 0; j < i; j++)
			x[j] -= row[j] * x[i];
	}
}

ProgressValue *
solve_statistics(const ProgressValue *statistics, double lambda, bool intercept)
{
	int			dimension = (int) statistics->dimension;
	int			n = dimension + (intercept ? 1 : 0);
	double		n_rollouts = (double) statistics->n_rollouts;
	const double *gram = statistics->numbers + STATISTICS_GRAM(dimension);
	double	   *a = ALLOCATE_ARRAY(double, PACKED_ROW(n));
	double	   *x = ALLOCATE_ARRAY(double, n);
	ProgressValue *model = progress_allocate(PROGRESS_LINEAR, dimension, 0);

	for (Size i = 0; i < PACKED_ROW(n); i++)
		a[i] = gram[i] / n_rollouts;
	for (int i = 0; i < dimension; i++)
		a[PACKED_ROW(i) + i] += lambda;
	for (int i = 0; i < n; i++)
		x[i] = statistics->numbers[STATISTICS_PRODUCTS + i] / n_rollouts;
	decompose(a, n, statistics, lambda);
	substitute(a, n, x);

	for (int i = 0; i < n; i++)
		if (!isfinite(x[i]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("a weight of the fit is out of range for type double precision")));
	model->n_rollouts = statistics->n_rollouts;
	model->n_steps = statistics->n_steps;
	model->numbers[MODEL_LAMBDA] = lambda;
	if (intercept)
	{
		model->flags |= PROGRESS_HAS_INTERCEPT;
		model->numbers[MODEL_INTERCEPT] = x[dimension];
	}
	memcpy(model->numbers + LINEAR_WEIGHTS, x, dimension * sizeof(double));
	pfree(a);
	pfree(x);
	return model;
}

Datum
stepadv_progress_solve(PG_FUNCTION_ARGS)
{
	static const Parameter declared[] = {NUMBER_PARAMETER("lambda", 0, INFINITY), FLAG_PARAMETER("intercept")};
	ParameterValue parameters[lengthof(declared)];

	read_parameters(fcinfo, 1, declared, lengthof(declared), parameters);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(progress_seal(solve_statistics(progress_open(PG_GETARG_VARLENA_P(0), TYPE_STATISTICS),
													 parameters[0].number, parameters[1].flag)));
}
