/*
 * shrink.h
 *		Advantages made as small as leaving rollouts out says that they should be.
 */
#ifndef STEPADV_SHRINK_H
#define STEPADV_SHRINK_H

#include "estimator.h"

#define SHRINK_CHOICES "none", "check"
/* The second of them. */
#define SHRINK_CHECK 1

/*
 * Multiplies the column "advantage" by the group's slope.  `estimate` is called again without each
 * rollout, with the same `parameters` but that the one numbered `shrink` is its first choice.
 */
extern void shrink_advantages(const GroupColumns *group, const RolloutFacts *facts, EstimateFunction estimate,
							  const EstimateColumnType *types, int n_columns,
							  const ParameterValue *parameters, int n_parameters, int shrink, EstimateColumn *columns);

#endif							/* STEPADV_SHRINK_H */
