#ifndef STEPADV_OWN_STEPS_H
#define STEPADV_OWN_STEPS_H

#include "estimators/normalise.h"
#include "group/facts.h"

/* Normalises the advantages of the group's own judged steps over these; other entries do not change. */
extern void normalise_own_steps(const GroupColumns *group, const RolloutFacts *facts, Normalisation normalisation,
								double epsilon, double *advantage);

/* GRPO's default. */
#define USUAL_EPSILON 1e-6

#endif							/* STEPADV_OWN_STEPS_H */
