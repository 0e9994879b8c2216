#ifndef STEPADV_BELLMAN_H
#define STEPADV_BELLMAN_H

#include "estimators/identity.h"
#include "estimators/values/neighbours.h"
#include "estimators/values/value_equations.h"

typedef struct BellmanOptions
{
	double		gamma;
	double		lambda;
	double		prior;			/* visits added to those of every state */
	double		prior_mean;		/* their mean return */
	const double *weight;		/* by step, the weight of a visit, above 0; NULL: 1 each */
} BellmanOptions;

/*
 * By step of a state, the target of batch TD(lambda): the reward, plus, discounted, 1 - lambda of the value of
 * the state next that it led to and lambda of the target of the rollout's next step.  For the last step of a
 * truncated rollout, which has a next too, it is all of that state's value.  The value of a state is the
 * weighted mean of the targets of all its visits, including the prior.  Every state must lead to an end, or
 * gamma must be below 1, or the prior above 0: see drop_endless_cuts.
 */
extern double *bellman_targets(const GroupColumns *group, const Identities *states, const int32 *next,
							   const BellmanOptions *options);

/*
 * Add the edges of the equation of an unknown, to the states where a state's visits led.  Edges to the same
 * state are merged; weights are multiplied by factor. place: an array by state, initially 0, for all equations
 * in order.  Returns where the edges of the next unknown begin.
 */
extern uint32 merge_edges(const Adjacency *next, uint32 state, double factor, uint32 unknown, uint32 *place,
						  ValueEquations *equations);

#endif							/* STEPADV_BELLMAN_H */
