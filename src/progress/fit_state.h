/*
 * fit_state.h
 *		The state that the aggregates over sums by rollout share, and with it
 *		their combine, serial and deserial functions.
 */
#ifndef STEPADV_FIT_STATE_H
#define STEPADV_FIT_STATE_H

#include "fmgr.h"

#include "progress/rollout_sums.h"

typedef struct FitState
{
	RolloutSums *sums;
	Size		parameters_size;
	char	   *parameters;		/* of the aggregate, the same in all rows */
} FitState;

/*
 * The state that a transition function was given, or a new one.  Parameters are
 * compared byte by byte: fill padding with zeros.
 */
extern FitState *fit_state_of_row(FunctionCallInfo fcinfo, const void *parameters, Size parameters_size);

/* Of a final function; NULL: no rows. */
extern FitState *fit_state_of_rows(FunctionCallInfo fcinfo);

/* The features of a row to the sums of its rollout, and its outcome. */
extern void fit_state_add_features(FitState *state, FunctionCallInfo fcinfo, int64 group_id);

/* The same of sparse features. */
extern void fit_state_add_sparse_features(FitState *state, FunctionCallInfo fcinfo, int64 group_id);

/* The same of a contribution, which is its own only feature. */
extern void fit_state_add_contribution(FitState *state, FunctionCallInfo fcinfo);

#endif							/* STEPADV_FIT_STATE_H */
