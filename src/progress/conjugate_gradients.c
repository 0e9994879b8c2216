/*
 * conjugate_gradients.c
 *		Ridge regression on so many columns that the matrix of their products would
 *		need too much memory or time: the normal equations
 *
 *			(Z' W Z / n + lambda I) w = Z' W y / n
 *
 * by conjugate gradients (Hestenes and Stiefel 1952), preconditioned by the
 * diagonal, reading Z row by row.  The intercept, which is not penalized, is
 * eliminated by projecting out its column u of ones.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "arrays.h"
#include "progress/kernels.h"
#include "progress/least_squares.h"

#define MOST_ITERATIONS 20000

/* Relative, of the squared norm of the residual. */
#define TOLERANCE 1e-20

typedef struct Operator
{
	const LeastSquares *problem;
	double	   *product;		/* by row */
	double		square;			/* u' W u */
} Operator;

/* Subtract the weighted mean of x, multiply by W, and return the mean. */
static double
project(const Operator *operator, double *x)
{
	const LeastSquares *problem = operator->problem;
	uint64		n = problem->rows->n;
	double		share = 0;

	for (uint64 i = 0; i < n; i++)
		share += weight_of(problem, i) * x[i];
	share /= operator->square;
	for (uint64 i = 0; i < n; i++)
		x[i] -= share;
	if (problem->weight != NULL)
		for (uint64 i = 0; i < n; i++)
			x[i] *= problem->weight[i];
	return share;
}

/* result = (sum of rows, times x) / n */
static void
add_rows(const LeastSquares *problem, const double *x, double *result)
{
	memset(result, 0, problem->rows->dimension * sizeof(double));
	for (uint64 i = 0; i < problem->rows->n; i++)
	{
		const FitRow *row = &problem->rows->row[i];

		numbers_add_scaled_at(result, row->column, row->x, x[i] / problem->rows->n, row->n);
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

/* result = A p */
static void
apply(const Operator *operator, const double *p, double *result)
{
	const LeastSquares *problem = operator->problem;

	for (uint64 i = 0; i < problem->rows->n; i++)
	{
		const FitRow *row = &problem->rows->row[i];

		operator->product[i] = numbers_dot_at(p, row->column, row->x, row->n);
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	(void) project(operator, operator->product);
	add_rows(problem, operator->product, result);
	for (int j = 0; j < problem->rows->dimension; j++)
		result[j] += problem->lambda * p[j];
}

/* The diagonal of A. */
static double *
diagonal(const Operator *operator)
{
	const LeastSquares *problem = operator->problem;
	int			dimension = problem->rows->dimension;
	double	   *result = ALLOCATE_ZEROED_ARRAY(double, dimension);
	double	   *with_unit = ALLOCATE_ZEROED_ARRAY(double, dimension);

	for (uint64 i = 0; i < problem->rows->n; i++)
	{
		const FitRow *row = &problem->rows->row[i];
		double		weight = weight_of(problem, i);

		for (uint32 k = 0; k < row->n; k++)
			result[row->column[k]] += weight * row->x[k] * row->x[k];
		numbers_add_scaled_at(with_unit, row->column, row->x, weight, row->n);
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	for (int j = 0; j < dimension; j++)
	{
		result[j] = Max(0, result[j] - with_unit[j] * with_unit[j] / operator->square);
		result[j] = result[j] / problem->rows->n + problem->lambda;
	}
	pfree(with_unit);
	return result;
}

static void
refuse_slow(const LeastSquares *problem)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("the fit of %d features with lambda %g does not converge", problem->rows->dimension, problem->lambda),
			 errhint("Use a larger lambda (ridge), or features of more equal scale.")));
}

/* w is initially 0, r the right side. */
static void
iterate(const Operator *operator, double *w, double *r)
{
	int			dimension = operator->problem->rows->dimension;
	double	   *scale = diagonal(operator);
	double	   *p = ALLOCATE_ZEROED_ARRAY(double, dimension);
	double	   *ap = ALLOCATE_ARRAY(double, dimension);
	double		rz = 0;
	double		first = -1;

	for (int iteration = 0;; iteration++)
	{
		double		before = rz;
		double		step;

		rz = 0;
		for (int j = 0; j < dimension; j++)
			rz += r[j] * r[j] / scale[j];
		if (first < 0)
			first = rz;
		if (rz <= TOLERANCE * first)
			break;
		if (!isfinite(rz) || iteration == MOST_ITERATIONS)
			refuse_slow(operator->problem);
		for (int j = 0; j < dimension; j++)
			p[j] = r[j] / scale[j] + (iteration == 0 ? 0 : rz / before * p[j]);
		apply(operator, p, ap);
		step = rz / numbers_dot(p, ap, dimension);
		numbers_add_scaled(w, p, step, dimension);
		numbers_add_scaled(r, ap, -step, dimension);
	}
	pfree(scale);
	pfree(p);
	pfree(ap);
}

void
solve_by_gradients(const LeastSquares *problem, double *weight)
{
	const FitRows *rows = problem->rows;
	Operator	operator = {problem, ALLOCATE_ARRAY(double, rows->n), 0};
	double	   *target = ALLOCATE_ARRAY(double, rows->n);
	double	   *r = ALLOCATE_ARRAY(double, rows->dimension);

	if (problem->lambda <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a fit of %d features needs a lambda above 0", rows->dimension)));
	for (uint64 i = 0; i < rows->n; i++)
	{
		target[i] = target_of(problem, i);
		operator.square += weight_of(problem, i);
	}
	memcpy(operator.product, target, rows->n * sizeof(double));
	(void) project(&operator, operator.product);
	add_rows(problem, operator.product, r);
	memset(weight, 0, (rows->dimension + 1) * sizeof(double));
	iterate(&operator, weight, r);

	/* The intercept is the weighted mean of the residuals. */
	for (uint64 i = 0; i < rows->n; i++)
		operator.product[i] = target[i] - numbers_dot_at(weight, rows->row[i].column, rows->row[i].x, rows->row[i].n);
	weight[rows->dimension] = project(&operator, operator.product);
	pfree(operator.product);
	pfree(target);
	pfree(r);
}
