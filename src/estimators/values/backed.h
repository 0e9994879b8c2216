/*
 * backed.h
 *		Targets for steps whose states are known at two levels.
 */
#ifndef STEPADV_BACKED_H
#define STEPADV_BACKED_H

#include "estimators/values/bellman.h"

/* Two levels of states: each fine state belongs to one coarse state. */
typedef struct StateLevels
{
	const Identities *coarse;
	const Identities *fine;
	double		k;				/* visits that the coarse state counts in the value of a fine one */
	bool		backed;			/* advantages of fine states are also backed by those of coarse ones */
} StateLevels;

/*
 * By step of a state, the target r + gamma V(next), where next, by step, is the fine state that it led to, or
 * NO_IDENTITY.  The values solve
 *
 * 	(N(y) + k) V(y)		= sum of the targets of the visits of y + k V(c(y))			for fine states y
 * 	(N(x) + prior) V(x) = sum of the targets of the visits of x + prior * prior_mean	for coarse states x
 *
 * with weighted visits. lambda is ignored.
 */
extern double *backed_targets(const GroupColumns *group, const StateLevels *levels, const int32 *next,
							  const BellmanOptions *options);

#endif							/* STEPADV_BACKED_H */
