#ifndef STEPADV_ACTION_VALUES_H
#define STEPADV_ACTION_VALUES_H

#include "estimators/rtmc.h"

/* Shared by decision_points and failure_points, in this order. */
#define ACTION_VALUE_PARAMETERS \
	CHOICE_PARAMETER("method", "batch_td", "rtmc"), \
	GAMMA_PARAMETER, \
	NULLABLE_NUMBER_PARAMETER("prior", 0, INFINITY), \
	NULLABLE_NUMBER_PARAMETER("baseline", -INFINITY, INFINITY), \
	CHOICE_PARAMETER("prior_mean", PRIOR_MEAN_CHOICES), \
	SUCCESS_ABOVE_PARAMETER

enum
{
	VALUE_METHOD, VALUE_GAMMA, VALUE_PRIOR, VALUE_BASELINE, VALUE_PRIOR_MEAN, VALUE_SUCCESS_ABOVE,
	N_ACTION_VALUE_PARAMETERS
};

/*
 * The method's table; pair_error is set only with_errors.  A Q or V out of range raises an error that
 * names a step; in a lenient group it becomes NaN.
 */
extern void find_action_values(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *parameters,
							   bool with_errors, RtmcTable *table);

#endif							/* STEPADV_ACTION_VALUES_H */
