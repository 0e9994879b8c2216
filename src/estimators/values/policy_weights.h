#ifndef STEPADV_POLICY_WEIGHTS_H
#define STEPADV_POLICY_WEIGHTS_H

#include "estimators/identity.h"

/*
 * `weight`, by step what a visit counts (0 for none), becomes weight * pi(a|s) N(s) / N(s,a), where pi(a|s) is the mean of
 * exp(logp) over the visits of the pair, divided by the sum of these over the pairs of its state, and N are sums
 * of weights: a state's visits count as many as before, and its pairs as the policy's probabilities.  An error
 * where the logp of a visit is missing; in a forgiving group the pairs of its state keep the weights that they have.
 */
extern void weigh_by_policy(const GroupColumns *group, const Identities *states, const Identities *pairs,
							double *weight);

#endif							/* STEPADV_POLICY_WEIGHTS_H */
