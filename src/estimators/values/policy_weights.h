#ifndef STEPADV_POLICY_WEIGHTS_H
#define STEPADV_POLICY_WEIGHTS_H

#include "estimators/identity.h"

/*
 * Multiply weight, the weights of visits by step (0: no visit), by pi(a|s) N(s) / N(s,a), where pi(a|s) is the
 * mean of exp(logp) over the visits of the pair, divided by its sum over the pairs of the state, and N are
 * sums of weights.  The total weight of a state does not change; its pairs are weighted by the policy's
 * probabilities.  An error if the logp of a visit is missing; in a lenient group, the pairs of its state then
 * keep their weights.
 */
extern void weigh_by_policy(const GroupColumns *group, const Identities *states, const Identities *pairs,
							double *weight);

#endif							/* STEPADV_POLICY_WEIGHTS_H */
