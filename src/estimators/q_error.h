/*
 * q_error.h
 *		How far a Q may be from the truth, and how sure the sign of an advantage is.
 *
 * Pure functions of an RtmcTable that is measured otherwise; they fill its
 * pair_error and pair_confidence.  Of visits with weights w a mean is as good as one of
 * (sum of w)^2 / sum of w^2 visits that count 1; that many there are in what follows.
 */
#ifndef STEPADV_Q_ERROR_H
#define STEPADV_Q_ERROR_H

#include "estimators/rtmc.h"
#include "estimators/values/bellman.h"

/* What there is to know of how the group's rollouts came out.  Lengths are in units. */
typedef struct Outcomes
{
	bool		alike;			/* all returns are 0 */
	double		least;			/* of them and 0, not in units */
	double		unit;			/* from the least to the most; 1 if they are alike */
	double		mean;			/* of rollouts' returns, above the least, with half a rollout more at either end of the unit */
	double		variance;		/* of the same */
	double		rollouts;		/* as many as they count */
} Outcomes;

extern void measure_outcomes(const GroupColumns *group, const Identities *states, const double *weight,
							 const double *returns, Outcomes *outcomes);

/* What the mean of n outcomes of 0, of which 1 would have been the other, may be wrong by. */
extern double error_of_failures(double n);

/* A q that has a value should not be refused since its error has none. */
static inline double
error_in_range(double error)
{
	return isfinite(error) ? error : NAN;
}

/* How the targets of a pair's visits spread, in units. */
typedef struct PairSpread
{
	double		visits;
	double		squares;		/* of deviations from q, of all visits together */
} PairSpread;

extern PairSpread *measure_spreads(const GroupColumns *group, const double *weight, const double *target,
								   double unit, const RtmcTable *table);

/* How many visits each of these is worth where variances are pooled. */
typedef struct Pooling
{
	double		outcomes;		/* in the variance of the group */
	double		group;			/* in that of a state */
	double		state;			/* in that of a pair */
} Pooling;

/* Where an interval is asked for, what is rare matters more than where a sign is. */
extern const Pooling interval_pooling;
extern const Pooling sign_pooling;

/*
 * By pair: the variance of a target, pooled as a multiple of `scale`, by pair, if that is not NULL;
 * outcome_variance, a multiple too, is what is known before any visit.
 */
extern double *pool_variances(const RtmcTable *table, const PairSpread *spread, const double *scale,
							  double outcome_variance, const Pooling *pooling);

/*
 * By pair, in units: how far the mean of its state, shrunken towards the outcomes', is from q: what q
 * would move by if it were shrunken to nothing of its own.
 */
extern double *measure_distances(const RtmcTable *table, const PairSpread *spread, const Outcomes *outcomes);

/* Of that, what q moves by if the state's mean counts `prior` visits, squared. */
static inline double
shrinkage_square(double distance, double visits, double prior)
{
	double		move = distance * (prior / (visits + prior));

	return move * move;
}

/* The parts of a sign's confidence. */
typedef struct SignVariance
{
	Outcomes	outcomes;
	PairSpread *spread;
	double	   *variance;		/* of a target, by pair, in units */
} SignVariance;

/* The probability that an advantage has the right sign; its variance has the unit of its square. */
extern double sign_confidence(double advantage, double variance, const Outcomes *outcomes);

/* pair_confidence, with the variance of a target by pair. */
extern void measure_confidence(const SignVariance *sign, double prior, RtmcTable *table);

/* Returned if it is needed; else it is freed. */
extern void give_sign_variance(const SignVariance *own, SignVariance *sign);

/*
 * Both, where targets are returns; and where they are r + gamma V(next state), or in between.  `sign`, if not NULL,
 * receives the parts of the confidence.
 */
extern void monte_carlo_errors(const GroupColumns *group, const double *weight, double prior, RtmcTable *table,
							   SignVariance *sign);
extern void bellman_errors(const GroupColumns *group, const double *weight, const double *target, const int32 *next,
						   const BellmanOptions *options, RtmcTable *table, SignVariance *sign);

#endif							/* STEPADV_Q_ERROR_H */
