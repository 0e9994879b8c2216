#ifndef STEPADV_LEVELS_H
#define STEPADV_LEVELS_H

#include "estimators/q_error.h"
#include "estimators/rtmc.h"
#include "estimators/values/backed.h"

/*
 * With `target` by step, of a table whose coarse states and pairs are measured, and of which k visits
 * stand behind every fine state y, part of the coarse x, and action a:
 *
 *	advantage	= mean of the targets of (y,a) - V(x)
 *	q			= V(x) + advantage
 *
 * or, if advantages are backed,
 *
 *	V(y)		= (sum of the targets of the visits of y + k V(x)) / (N(y) + k)
 *	advantage	= (N(y,a) (mean of the targets of (y,a) - V(y)) + k A(x,a)) / (N(y,a) + k)
 *
 * The answers become the table's.
 */
typedef struct LevelVisits
{
	double	   *state_weight;	/* N(y) */
	double	   *pair_weight;	/* N(y,a) */
	double	   *pair_squares;	/* sum of the squares of the weights */
} LevelVisits;

extern void levels_measure(const GroupColumns *group, const StateLevels *levels, const double *target,
						   const double *weight, RtmcTable *table, FineAnswers *answers, LevelVisits *visits);

/*
 * Errors of the answers: that of q is the coarse pair's and what q differs by from the coarse pair's; the confidence
 * is that of the advantage as the sum of targets that it is, as if they varied by their coarse pair.  They are 0
 * after the first n_own_steps: those of a history are not used.
 */
extern void levels_errors(const StateLevels *levels, uint32 n_own_steps, const LevelVisits *visits,
						  const SignVariance *sign, double prior, const RtmcTable *table, FineAnswers *answers);

/* Visits that the coarse state counts in the value of a state, where the group has coarse states; 0: none is looked at. */
#define COARSE_VISITS_PARAMETER NUMBER_PARAMETER("k", 0, INFINITY)

static inline bool
has_levels(const GroupColumns *group, const ParameterValue *k)
{
	return group->coarse_state != NULL && k->number > 0;
}

#endif							/* STEPADV_LEVELS_H */
