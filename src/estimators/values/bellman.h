#ifndef STEPADV_BELLMAN_H
#define STEPADV_BELLMAN_H

#include "estimators/identity.h"
#include "estimators/values/neighbours.h"
#include "estimators/values/value_equations.h"

typedef struct BellmanOptions
{
	double		gamma;
	double		lambda;
	double		prior;			/* visits that every state has beside its own */
	double		prior_mean;		/* what those returned */
	const double *weight;		/* by step, what a visit counts, above 0; NULL: 1 each */
} BellmanOptions;

/*
 * By step of a state, the target of batch TD(lambda): what the step was rewarded with and,
 * discounted, 1 - lambda of the value of the state `next` that it led to and lambda
 * of the target of the rollout's next step; for the last step of a rollout that was cut
 * off, which has a `next` too, all of that state's value.  A state's value is the weighted mean
 * of the targets of all its visits, the prior among them.  From every state an end must be
 * reached, or gamma be below 1 or the prior above 0: see drop_endless_cuts.
 */
extern double *bellman_targets(const GroupColumns *group, const Identities *states, const int32 *next,
							   const BellmanOptions *options);

/*
 * The edges of the equation of an unknown, to where a state's visits led: those to the same state are
 * one, of `factor` times as many as they count.  place: 0 by state to begin with, for all equations in
 * their order.  Where the edges of the next unknown begin.
 */
extern uint32 merge_edges(const Adjacency *next, uint32 state, double factor, uint32 unknown, uint32 *place,
						  ValueEquations *equations);

#endif							/* STEPADV_BELLMAN_H */
