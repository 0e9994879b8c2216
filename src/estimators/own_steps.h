#ifndef STEPADV_OWN_STEPS_H
#define STEPADV_OWN_STEPS_H

#include "estimators/normalise.h"
#include "group/facts.h"

/* The advantages of the group's own steps, normalised over these; those of rollouts not judged stay as they are. */
extern void normalise_own_steps(const GroupColumns *group, const RolloutFacts *facts, Normalisation normalisation,
								double epsilon, double *advantage);

/* GRPO's by default. */
#define USUAL_EPSILON 1e-6

#endif							/* STEPADV_OWN_STEPS_H */
