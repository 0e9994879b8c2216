/*
 * q_error.h
 *		The error of a Q, and the confidence in the sign of an advantage.
 *
 * Pure functions of an RtmcTable that has been measured; they set its pair_error and pair_confidence.  A mean
 * of visits with weights w is as precise as that of (sum of w)^2 / sum of w^2 visits with weight 1.  In the
 * following, the number of visits is this effective number.
 */
#ifndef STEPADV_Q_ERROR_H
#define STEPADV_Q_ERROR_H

#include "estimators/rtmc.h"
#include "estimators/values/bellman.h"

/* The distribution of the group's returns.  Lengths are in units. */
typedef struct Outcomes
{
	bool		alike;			/* all returns are 0 */
	double		least;			/* the least return or 0, not in units */
	double		unit;			/* from the least to the greatest; 1 if they are alike */
	double		mean;			/* of returns above the least, with half a rollout added at each end of the unit */
	double		variance;		/* of the same */
	double		rollouts;		/* effective number */
} Outcomes;

extern void measure_outcomes(const GroupColumns *group, const Identities *states, const double *weight,
							 const double *returns, Outcomes *outcomes);

/* The error of a mean of n outcomes that are all 0, if other outcomes can be 1. */
extern double error_of_failures(double n);

/* Return NaN for an infinite error, so that a finite q is not rejected because of it. */
static inline double
error_in_range(double error)
{
	return isfinite(error) ? error : NAN;
}

/* The spread of the targets of a pair's visits, in units. */
typedef struct PairSpread
{
	double		visits;
	double		squares;		/* sum of squared deviations from q over these visits */
} PairSpread;

extern PairSpread *measure_spreads(const GroupColumns *group, const double *weight, const double *target,
								   double unit, const RtmcTable *table);

/* How many visits each prior counts when variances are pooled. */
typedef struct Pooling
{
	double		outcomes;		/* the outcomes' variance, in that of the group */
	double		group;			/* the group's, in that of a state */
	double		state;			/* the state's, in that of a pair */
} Pooling;

/* Intervals depend more on rare outcomes than signs do. */
extern const Pooling interval_pooling;
extern const Pooling sign_pooling;

/*
 * By pair: the pooled variance of a target, in multiples of scale, by pair, unless NULL. outcome_variance,
 * also in such multiples, is the prior.
 */
extern double *pool_variances(const RtmcTable *table, const PairSpread *spread, const double *scale,
							  double outcome_variance, const Pooling *pooling);

/*
 * By pair, in units: the mean of its state, shrunken towards that of the outcomes, minus q.  This is how far q
 * would move if shrunken completely.
 */
extern double *measure_distances(const RtmcTable *table, const PairSpread *spread, const Outcomes *outcomes);

/* The square of q's move if the state's mean counts prior visits. */
static inline double
shrinkage_square(double distance, double visits, double prior)
{
	double		move = distance * (prior / (visits + prior));

	return move * move;
}

/* What a sign's confidence is computed from. */
typedef struct SignVariance
{
	Outcomes	outcomes;
	PairSpread *spread;
	double	   *variance;		/* of a target, by pair, in units */
} SignVariance;

/* The probability that an advantage has the right sign. variance is not in units. */
extern double sign_confidence(double advantage, double variance, const Outcomes *outcomes);

/* Set pair_confidence. */
extern void measure_confidence(const SignVariance *sign, double prior, RtmcTable *table);

/* Give the parts to the caller, or free them if sign is NULL. */
extern void give_sign_variance(const SignVariance *own, SignVariance *sign);

/*
 * Set both, for targets that are returns, and for targets r + gamma V(next state) or in between. sign, unless
 * NULL, receives the parts of the confidence.
 */
extern void monte_carlo_errors(const GroupColumns *group, const double *weight, double prior, RtmcTable *table,
							   SignVariance *sign);
extern void bellman_errors(const GroupColumns *group, const double *weight, const double *target, const int32 *next,
						   const BellmanOptions *options, RtmcTable *table, SignVariance *sign);

#endif							/* STEPADV_Q_ERROR_H */
