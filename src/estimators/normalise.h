#ifndef STEPADV_NORMALISE_H
#define STEPADV_NORMALISE_H

#include "sum.h"

/* In the order of NORMALISE_PARAMETER's choices; the others are for RLOO, HGPO. */
typedef enum Normalisation
{
	NORMALISE_STD,				/* (x - mean) / (sd + epsilon), ddof 1 */
	NORMALISE_MEAN,				/* x - mean */
	NORMALISE_NONE,				/* x */
	NORMALISE_LEAVE_ONE_OUT,	/* x - mean of the others */
	NORMALISE_POPULATION		/* (x - mean) / (sd + epsilon), ddof 0 */
} Normalisation;

/* In the order of SINGLETON_PARAMETER's choices. */
typedef enum Singleton
{
	SINGLETON_ZERO,
	SINGLETON_RAW				/* as if mean 0 and sd 1 */
} Singleton;

typedef struct NormaliseOptions
{
	Normalisation normalisation;
	double		epsilon;
	Singleton	singleton;
	const double *epsilon_of_set;	/* in place of epsilon; NULL: the same for all sets */
} NormaliseOptions;

/* Members with this set number belong to none: left out, and not written. */
#define NO_SET (-1)

typedef struct SetMoments
{
	uint64		count;			/* members, by weight */
	Sum			sum;
	double		least;
	double		most;
	double		mean;			/* NaN for none, and where it is out of range */
	double		sd;				/* ddof 1; 0 if all are equal, NaN below two, and out of range */
} SetMoments;

/*
 * Moments of each set.  `set` gives each member a set number below n_sets or
 * NO_SET (NULL: all are in set 0); `weight` counts a member as that many (NULL:
 * as one), 0 leaves it out.
 */
extern SetMoments *measure_sets(const double *x, const uint32 *weight, const int32 *set,
								uint32 n, uint32 n_sets);

/*
 * result[i] = x[i] normalised within its set; x, weight, set as for
 * measure_sets, and a member of weight 0 is normalised by what the others are.
 * Where moments that it takes are out of range the result is NaN.
 * If all x of a set are equal the result is exactly 0, not noise divided by
 * epsilon.  `result` may be `x` itself; `baseline`, if not NULL, receives what was
 * subtracted.
 */
extern void normalise(const double *x, const uint32 *weight, const int32 *set,
					  uint32 n, uint32 n_sets, const NormaliseOptions *options,
					  double *result, double *baseline);

#endif							/* STEPADV_NORMALISE_H */
