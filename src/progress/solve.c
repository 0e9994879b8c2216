/*
 * solve.c
 *		The linear model that minimizes
 *
 *			1/n sum over rollouts of (b + sum_t c(s_t, a_t) - R)^2 + lambda |w|^2,
 *			c = w x
 *
 * (SPA's loss with a linear head and ridge; b is not penalized.)  With Z the
 * features summed over a rollout, extended by a 1, the solution satisfies
 *
 *			(sum Z Z' / n + lambda I) (w, b) = sum R Z / n
 *
 * It is solved by Cholesky decomposition with pivoting, in place on the packed
 * triangle.  The next pivot is the column with the largest share of its square that
 * earlier columns do not explain.  This rule does not depend on the features' scales,
 * and stops at the rank of the matrix.  LAPACK is not used: it is a heavy dependency
 * for every backend, may start threads, cannot be interrupted, and its results
 * differ between machines.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"

#include "arrays.h"
#include "progress/kernels.h"
#include "progress/least_squares.h"
#include "sum.h"

/* A = L L' for A with rows and columns in the order of the pivots. */
typedef struct Decomposition
{
	double	   *l;				/* packed; A at first */
	int			n;
	int			rank;			/* number of complete rows of L */
	int		   *order;			/* row of A for each row of L */
	double	   *square;			/* A's diagonal, in that order */
} Decomposition;

/* A smaller share is rounding error. */
static double
noise(int n)
{
	return 8 * n * DBL_EPSILON;
}

/* Exchange rows and columns i < j of a symmetric matrix whose columns before i belong to L. */
static void
exchange(Decomposition *d, int i, int j)
{
#define SWAP(type, a, b) do { type swapped = (a); (a) = (b); (b) = swapped; } while (0)
	double	   *row_i = d->l + PACKED_ROW(i);
	double	   *row_j = d->l + PACKED_ROW(j);

	for (int k = 0; k < i; k++)
		SWAP(double, row_i[k], row_j[k]);
	SWAP(double, row_i[i], row_j[j]);
	for (int k = i + 1; k < j; k++)
		SWAP(double, d->l[PACKED_ROW(k) + i], row_j[k]);
	for (int k = j + 1; k < d->n; k++)
		SWAP(double, d->l[PACKED_ROW(k) + i], d->l[PACKED_ROW(k) + j]);
	SWAP(int, d->order[i], d->order[j]);
	SWAP(double, d->square[i], d->square[j]);
#undef SWAP
}

static void
decompose(Decomposition *d)
{
	double	   *explained = ALLOCATE_ZEROED_ARRAY(double, d->n);	/* part of each square explained by L */

	for (int i = 0; i < d->n; i++)
	{
		d->order[i] = i;
		d->square[i] = d->l[PACKED_ROW(i) + i];
	}
	for (d->rank = 0; d->rank < d->n; d->rank++)
	{
		int			k = d->rank;
		int			pivot = k;
		double		most = -1;
		const double *row;
		double		root;

		for (int i = k; i < d->n; i++)
		{
			double		share = d->square[i] > 0 ? 1 - explained[i] / d->square[i] : 0;

			if (share > most)
			{
				pivot = i;
				most = share;
			}
		}
		if (most <= noise(d->n))
			break;
		if (pivot != k)
		{
			double		swapped = explained[k];

			exchange(d, k, pivot);
			explained[k] = explained[pivot];
			explained[pivot] = swapped;
		}
		row = d->l + PACKED_ROW(k);
		root = d->l[PACKED_ROW(k) + k] = sqrt(d->square[k] - explained[k]);
		for (int i = k + 1; i < d->n; i++)
		{
			double	   *other = d->l + PACKED_ROW(i);

			other[k] = (other[k] - numbers_dot(other, row, k)) / root;
			explained[i] += other[k] * other[k];
			if (i % 1024 == 0)
				CHECK_FOR_INTERRUPTS();
		}
		CHECK_FOR_INTERRUPTS();
	}
	pfree(explained);
}

/* Replace x by the solution y of L y = x (backwards: L' y = x), for `rank` rows. */
static void
substitute_forwards(const Decomposition *d, double *x)
{
	for (int i = 0; i < d->rank; i++)
	{
		const double *row = d->l + PACKED_ROW(i);

		x[i] = (x[i] - numbers_dot(row, x, i)) / row[i];
	}
}

static void
substitute_backwards(const Decomposition *d, double *x)
{
	/* By columns of L', which are the rows of L. */
	for (int i = d->rank - 1; i >= 0; i--)
	{
		const double *row = d->l + PACKED_ROW(i);

		x[i] /= row[i];
		for (int j = 0; j < i; j++)
			x[j] -= row[j] * x[i];
	}
}

/* ----------
 * No unique solution
 * ----------
 */

static char *
sum_name(int i, const FitRows *rows)
{
	if (i < rows->dimension)
		return psprintf("feature %d", rows->place == NULL ? i + 1 : rows->place[i]);
	return pstrdup("the intercept");
}

static void
refuse_dependent(const Decomposition *d, const FitRows *rows, double lambda)
{
	int			place = d->rank;
	double		largest = 0;

	for (int i = d->rank; i < d->n; i++)
		if (d->order[i] < d->order[place])
			place = i;
	for (int i = 0; i < d->n; i++)
		largest = Max(largest, d->square[i]);
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("the fit has no unique solution with lambda %g", lambda),
			 errdetail("Over " UINT64_FORMAT " rollouts, %d of the %d sums to be weighted are linearly independent; %s%s is a combination of the others.",
					   rows->n, d->rank, d->n, d->order[place] < rows->dimension ? "that of " : "",
					   sum_name(d->order[place], rows)),
			 errhint("A larger lambda (ridge), such as %g, gives an answer.",
					 pow(10, ceil(log10(100 * noise(d->n) * Max(largest, 1e-300)))))));
}

/* ----------
 * Fit
 * ----------
 */

/* Means of products of all columns, the intercept last, as a packed triangle, and of products with the targets. */
static void
sum_products(const LeastSquares *problem, double *matrix, double *right)
{
	const FitRows *rows = problem->rows;
	int			dimension = rows->dimension;
	double	   *last = matrix + PACKED_ROW(dimension);
	Sum			targets = {0};

	for (uint64 i = 0; i < rows->n; i++)
	{
		const FitRow *row = &rows->row[i];
		double		weight = weight_of(problem, i);
		double		target = weight * target_of(problem, i);

		gram_add_at(matrix, row->column, row->x, weight, row->n);
		numbers_add_scaled_at(last, row->column, row->x, weight, row->n);
		last[dimension] += weight;
		numbers_add_scaled_at(right, row->column, row->x, target, row->n);
		sum_add(&targets, target);
		CHECK_FOR_INTERRUPTS();
	}
	right[dimension] = sum_value(&targets);
	for (Size i = 0; i < PACKED_ROW(dimension + 1); i++)
		matrix[i] /= rows->n;
	for (int i = 0; i <= dimension; i++)
		right[i] /= rows->n;
}

void
solve_exactly(const LeastSquares *problem, double *weight)
{
	int			dimension = problem->rows->dimension;
	int			n = dimension + 1;
	double	   *right = ALLOCATE_ZEROED_ARRAY(double, n);
	double	   *x = ALLOCATE_ARRAY(double, n);
	bool		finite = true;
	Decomposition d = {
		.l = ALLOCATE_ZEROED_ARRAY(double, PACKED_ROW(n)), .n = n,
		.order = ALLOCATE_ARRAY(int, n), .square = ALLOCATE_ARRAY(double, n)
	};

	sum_products(problem, d.l, right);
	for (Size i = 0; i < PACKED_ROW(n); i++)
		finite &= isfinite(d.l[i]) != 0;
	for (int i = 0; i < n; i++)
		finite &= isfinite(right[i]) != 0;
	if (!finite)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("a sum of products of features or outcomes is out of range for type double precision")));
	for (int i = 0; i < dimension; i++)
	{
		double	   *square = d.l + PACKED_ROW(i) + i;

		*square += problem->lambda;
		if (!isfinite(*square))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("lambda is too large")));
	}
	decompose(&d);
	if (d.rank < n)
		refuse_dependent(&d, problem->rows, problem->lambda);
	for (int i = 0; i < n; i++)
		x[i] = right[d.order[i]];
	substitute_forwards(&d, x);
	substitute_backwards(&d, x);
	for (int i = 0; i < n; i++)
		weight[d.order[i]] = x[i];
	pfree(d.l);
	pfree(d.order);
	pfree(d.square);
	pfree(right);
	pfree(x);
}
