/*
 * step_arguments.h
 *		What aggregates over steps are given by row, read and checked alike.
 */
#ifndef STEPADV_STEP_ARGUMENTS_H
#define STEPADV_STEP_ARGUMENTS_H

#include "fmgr.h"

#include "progress/features.h"

/* The first arguments of every transition function here; parameters follow. */
enum
{
	ARG_STATE,
	ARG_ROLLOUT_ID,
	ARG_FEATURES,				/* or a contribution */
	ARG_OUTCOME,
	ARG_PARAMETERS,

	/* With sparse features. */
	ARG_PLACES = ARG_FEATURES,
	ARG_WEIGHTS,
	ARG_SPARSE_OUTCOME,
	ARG_SPARSE_PARAMETERS
};

extern int64 rollout_id_argument(FunctionCallInfo fcinfo);

/* Whether the features are finite is left to the loop that reads them: see features_refuse. */
extern Features features_argument(FunctionCallInfo fcinfo, int64 rollout_id);

/* Of a function that has places and weights for features, and all after them one argument further on. */
extern SparseFeatures sparse_features_argument(FunctionCallInfo fcinfo, int64 rollout_id);

extern double contribution_argument(FunctionCallInfo fcinfo, int64 rollout_id);

/* NaN: none in this row. */
extern double outcome_argument(FunctionCallInfo fcinfo, int64 rollout_id);
extern double sparse_outcome_argument(FunctionCallInfo fcinfo, int64 rollout_id);

#endif							/* STEPADV_STEP_ARGUMENTS_H */
