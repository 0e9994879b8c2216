/*
 * estimates.h
 *		What some method says of the steps of a group, for pictures to show.
 */
#ifndef STEPADV_RENDER_ESTIMATES_H
#define STEPADV_RENDER_ESTIMATES_H

#include "estimators/identity.h"
#include "parameters.h"

#define ESTIMATES_PARAMETER NULLABLE_JSONB_PARAMETER("estimates")

typedef struct DotEstimates
{
	bool		given;
	double	   *advantage;		/* by edge; NaN: none */
	double	   *v;				/* by state, likewise */
} DotEstimates;

/*
 * `estimates` is a jsonb object by step_id of an advantage or of an object in which
 * there is one, and maybe the state's value as v.  An edge and a state have the mean
 * of their steps'.
 */
extern void dot_read_estimates(const ParameterValue *estimates, const GroupColumns *group, const Identities *edges,
							   const Identities *states, DotEstimates *result);

#endif							/* STEPADV_RENDER_ESTIMATES_H */
