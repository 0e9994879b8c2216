/*
 * kernels.c
 *		The inner loops of progress estimation.
 *
 * The order of additions must be the same on all machines, so partial sums that run
 * in parallel, to hide the latency of additions, are written out.
 */
#include "progress/kernels.h"

#include <stdint.h>
#include <string.h>

/*
 * At -O2, gcc does not vectorize loops of unknown length, which include all loops
 * of this file.  Vectorization does not change the order of additions.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("O3")
#endif

bool
features_finite(const float *x, int n)
{
	uint32_t	bad = 0;

	for (int i = 0; i < n; i++)
	{
		uint32_t	bits;

		memcpy(&bits, &x[i], sizeof(bits));
		bad |= (bits & 0x7f800000u) == 0x7f800000u;
	}
	return bad == 0;
}

double
features_dot(const double *restrict weights, const float *restrict x, int n)
{
	double		lane[4] = {0};
	int			i = 0;

	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++)
			lane[k] += weights[i + k] * x[i + k];
	for (; i < n; i++)
		lane[0] += weights[i] * x[i];
	return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

double
numbers_dot(const double *restrict a, const double *restrict b, size_t n)
{
	double		lane[4] = {0};
	size_t		i = 0;

	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++)
			lane[k] += a[i + k] * b[i + k];
	for (; i < n; i++)
		lane[0] += a[i] * b[i];
	return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

double
numbers_dot_at(const double *restrict weights, const int *restrict column, const double *restrict x, size_t n)
{
	double		lane[4] = {0};
	size_t		i = 0;

	for (; i + 4 <= n; i += 4)
		for (int k = 0; k < 4; k++)
			lane[k] += weights[column[i + k]] * x[i + k];
	for (; i < n; i++)
		lane[0] += weights[column[i]] * x[i];
	return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

void
numbers_add_scaled(double *restrict sum, const double *restrict x, double weight, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum[i] += weight * x[i];
}

void
numbers_add_scaled_at(double *restrict sum, const int *restrict column, const double *restrict x, double weight, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum[column[i]] += weight * x[i];
}

/* One row of the triangle. */
static void
gram_row_add_at(double *restrict row, const int *restrict column, const double *restrict x, double a, size_t from, size_t end)
{
	for (size_t j = from; j < end; j++)
		row[column[j]] += a * x[j];
}

/*
 * Four rows of the triangle at a time: an entry of x is read once for four
 * independent products.
 */
void
gram_add_at(double *restrict gram, const int *restrict column, const double *restrict x, double weight, size_t n)
{
	size_t		i = 0;

	for (; i + 4 <= n; i += 4)
	{
		double	   *restrict row0 = gram + PACKED_ROW(column[i]);
		double	   *restrict row1 = gram + PACKED_ROW(column[i + 1]);
		double	   *restrict row2 = gram + PACKED_ROW(column[i + 2]);
		double	   *restrict row3 = gram + PACKED_ROW(column[i + 3]);
		double		a0 = weight * x[i];
		double		a1 = weight * x[i + 1];
		double		a2 = weight * x[i + 2];
		double		a3 = weight * x[i + 3];

		for (size_t j = 0; j <= i; j++)
		{
			int			at = column[j];

			row0[at] += a0 * x[j];
			row1[at] += a1 * x[j];
			row2[at] += a2 * x[j];
			row3[at] += a3 * x[j];
		}
		gram_row_add_at(row1, column, x, a1, i + 1, i + 2);
		gram_row_add_at(row2, column, x, a2, i + 1, i + 3);
		gram_row_add_at(row3, column, x, a3, i + 1, i + 4);
	}
	for (; i < n; i++)
		gram_row_add_at(gram + PACKED_ROW(column[i]), column, x, weight * x[i], 0, i + 1);
}
