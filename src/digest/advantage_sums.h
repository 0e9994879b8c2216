/*
 * advantage_sums.h
 *		What the views over time add up of a method's advantages in a group.
 *
 * Each is computed as the server's own aggregate of that name does, so that it is
 * the same to the last bit.
 */
#ifndef STEPADV_ADVANTAGE_SUMS_H
#define STEPADV_ADVANTAGE_SUMS_H

#include <math.h>

#include "utils/float.h"

/* Columns of stepadv_internal.advantage_sums. */
enum
{
	S_N,
	S_SUM,
	S_ABS_SUM,
	S_SQUARE_SUM,
	S_LEAST,
	S_GREATEST,
	S_N_POSITIVE,
	S_N_NEGATIVE,
	N_SUMS
};

typedef struct AdvantageSums
{
	int64		n;
	int64		n_positive;
	int64		n_negative;
	float8		sum;
	float8		abs_sum;
	float8		square_sum;
	float8		least;
	float8		greatest;
} AdvantageSums;

/* The square of what is less than this is less than a number can be. */
#define LEAST_SQUARED 1e-150

static inline void
add_advantage(AdvantageSums *sums, float8 advantage)
{
	float8		size = fabs(advantage);
	float8		square = size <= LEAST_SQUARED ? 0 : float8_mul(advantage, advantage);
	bool		is_first = sums->n++ == 0;

	/* The first as it is: 0 + -0 would be 0. */
	sums->sum = is_first ? advantage : float8_pl(sums->sum, advantage);
	sums->abs_sum = is_first ? size : float8_pl(sums->abs_sum, size);
	sums->square_sum = is_first ? square : float8_pl(sums->square_sum, square);
	if (is_first || !float8_lt(sums->least, advantage))
		sums->least = advantage;
	if (is_first || !float8_gt(sums->greatest, advantage))
		sums->greatest = advantage;
	sums->n_positive += float8_gt(advantage, 0);
	sums->n_negative += float8_lt(advantage, 0);
}

#endif							/* STEPADV_ADVANTAGE_SUMS_H */
