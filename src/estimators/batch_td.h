#ifndef STEPADV_BATCH_TD_H
#define STEPADV_BATCH_TD_H

#include "estimators/levels.h"
#include "estimators/rtmc.h"

/* Parameters of the table, in this order. */
#define BATCH_TD_PARAMETERS \
	GAMMA_PARAMETER, \
	NUMBER_PARAMETER("lambda", 0, 1), \
	NUMBER_PARAMETER("prior", 0, INFINITY), \
	NULLABLE_NUMBER_PARAMETER("baseline", -INFINITY, INFINITY), \
	CHOICE_PARAMETER("prior_mean", PRIOR_MEAN_CHOICES), \
	CHOICE_PARAMETER("truncated", "fail", "bootstrap"), \
	SUCCESS_ABOVE_PARAMETER, \
	COARSE_VISITS_PARAMETER, \
	CHOICE_PARAMETER("weights", "visits", "policy")

enum
{
	BATCH_TD_GAMMA, BATCH_TD_LAMBDA, BATCH_TD_PRIOR, BATCH_TD_BASELINE, BATCH_TD_PRIOR_MEAN, BATCH_TD_TRUNCATED,
	BATCH_TD_SUCCESS_ABOVE, BATCH_TD_K, BATCH_TD_WEIGHTS,
	N_BATCH_TD_PARAMETERS
};

/* Build the whole table; pair_error and pair_confidence only if with_errors. */
extern void batch_td_table_build(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *parameters,
								 bool with_errors, RtmcTable *table);

#endif							/* STEPADV_BATCH_TD_H */
