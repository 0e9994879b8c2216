/*
 * rollout_arrays.h
 *		Columns with an entry per step as SQL arrays, one per rollout.
 */
#ifndef STEPADV_ROLLOUT_ARRAYS_H
#define STEPADV_ROLLOUT_ARRAYS_H

#include "group/group.h"
#include "rows.h"

/*
 * What is to be a result column with an entry per step (no booleans) as one of arrays: by
 * rollout the entries of its steps, in their order.  Elements are NULL where a number is NaN and in
 * rollouts that are `unknown` (NULL: none is).  A rollout without steps has an empty array.
 */
extern ResultColumn arrays_by_rollout(const GroupColumns *group, const ResultColumn *by_step, const bool *unknown);

/* The same without the arrays, where nobody reads them. */
extern ResultColumn column_of_arrays(const ResultColumn *by_step);

#endif							/* STEPADV_ROLLOUT_ARRAYS_H */
