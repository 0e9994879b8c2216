/*
 * model.h
 *		progress_model: a linear estimator of progress, a row of SQL.
 */
#ifndef STEPADV_PROGRESS_MODEL_H
#define STEPADV_PROGRESS_MODEL_H

#include "fmgr.h"

typedef struct ProgressModel
{
	bool		logistic;		/* contributions add up to log-odds */
	double		lambda;
	double		intercept;		/* of a rollout, outside of its contributions */
	int			n;				/* weights */
	const double *weight;
	const int32 *place;			/* of each weight, ascending; NULL, in SQL empty: they are of features 1 to n */
	int64		n_rollouts;		/* that it was fitted on */
	int64		n_steps;
} ProgressModel;

/* The row that a function returns. */
extern Datum progress_model_row(FunctionCallInfo fcinfo, const ProgressModel *model);

/*
 * The first argument, which comes with every row and is usually the same: where it is stored out
 * of line, what was fetched is kept.  Anybody may have made it: what is no model is an error.
 */
extern const ProgressModel *progress_model_argument(FunctionCallInfo fcinfo);

/* The probability of these log-odds. */
extern double logistic(double log_odds);

#endif							/* STEPADV_PROGRESS_MODEL_H */
