/*
 * advantage_bins.h
 *		The distribution of advantages in little room: in which bin one is, and how
 *		the bins of a group are written.
 */
#ifndef STEPADV_ADVANTAGE_BINS_H
#define STEPADV_ADVANTAGE_BINS_H

#include <math.h>

#include "digest/counts.h"

#define BINS_OF_ONE 2048
#define FURTHEST_BIN 4611686018427387904.0	/* 2^62 */

static inline int64
bin_of_advantage(double advantage)
{
	double		place = floor(advantage * BINS_OF_ONE);

	return (int64) Min(Max(place, -FURTHEST_BIN), FURTHEST_BIN);
}

/* Bins in their order, as advantage_bins.c describes. */
extern bytea *bins_as_bytes(const Counted *sorted, int64 n);

#endif							/* STEPADV_ADVANTAGE_BINS_H */
