#ifndef STEPADV_LEVELS_H
#define STEPADV_LEVELS_H

#include "estimators/q_error.h"
#include "estimators/rtmc.h"
#include "estimators/values/backed.h"

/*
 * Estimates at two levels, given a target by step, and a table in which coarse states and pairs have been
 * measured.  The coarse state x of a fine state y counts as k visits of y.  With action a,
 *
 * 	advantage	= mean of the targets of (y,a) - V(x)
 * 	q			= V(x) + advantage
 *
 * or, if advantages are backed,
 *
 * 	V(y)		= (sum of the targets of the visits of y + k V(x)) / (N(y) + k)
 * 	advantage	= (N(y,a) (mean of the targets of (y,a) - V(y)) + k A(x,a)) / (N(y,a) + k)
 *
 * The answers are assigned to the table.
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
 * Errors of the answers.  The error of q combines that of the coarse pair with the difference between their q.
 * The confidence is that of the advantage as a sum of targets, with the variance of their coarse pair.  Both
 * are 0 after the first n_own_steps: errors of history steps are not used.
 */
extern void levels_errors(const StateLevels *levels, uint32 n_own_steps, const LevelVisits *visits,
						  const SignVariance *sign, double prior, const RtmcTable *table, FineAnswers *answers);

/* Visits that a coarse state counts in the values of its fine states; 0: coarse states are ignored. */
#define COARSE_VISITS_PARAMETER NUMBER_PARAMETER("k", 0, INFINITY)

static inline bool
has_levels(const GroupColumns *group, const ParameterValue *k)
{
	return group->coarse_state != NULL && k->number > 0;
}

#endif							/* STEPADV_LEVELS_H */
