#ifndef STEPADV_NORMALISE_H
#define STEPADV_NORMALISE_H

#include "sum.h"

/* In the order of NORMALISE_PARAMETER's choices.  The last two are for RLOO and HGPO. */
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
	SINGLETON_RAW				/* as with mean 0 and sd 1 */
} Singleton;

typedef struct NormaliseOptions
{
	Normalisation normalisation;
	double		epsilon;
	Singleton	singleton;
	const double *epsilon_of_set;	/* replaces epsilon; NULL: use epsilon for all sets */
} NormaliseOptions;

/* Members with this set number are in no set: they are ignored, and their results are not set. */
#define NO_SET (-1)

typedef struct SetMoments
{
	uint64		count;			/* sum of weights */
	Sum			sum;
	double		least;
	double		most;
	double		mean;			/* NaN if empty or out of range */
	double		sd;				/* ddof 1; 0 if all are equal; NaN if there are fewer than two, or out of range */
} SetMoments;

/*
 * Moments of each set. set has a set number below n_sets, or NO_SET, for each member (NULL: all are in set 0).
 * weight counts a member that many times (NULL: once); 0 excludes it.
 */
extern SetMoments *measure_sets(const double *x, const uint32 *weight, const int32 *set,
								uint32 n, uint32 n_sets);

/*
 * result[i] = x[i] normalized within its set. x, weight and set are as for measure_sets; a member of weight 0
 * is normalized with the moments of the others.  If the moments are out of range, the result is NaN.  If all x
 * of a set are equal, the result is exactly 0, not noise divided by epsilon. result may be x itself. baseline,
 * unless NULL, receives what was subtracted.
 */
extern void normalise(const double *x, const uint32 *weight, const int32 *set,
					  uint32 n, uint32 n_sets, const NormaliseOptions *options,
					  double *result, double *baseline);

#endif							/* STEPADV_NORMALISE_H */
