/*
 * model.h
 *		progress_model: a linear estimator of progress, an SQL composite type.
 */
#ifndef STEPADV_PROGRESS_MODEL_H
#define STEPADV_PROGRESS_MODEL_H

#include "fmgr.h"

typedef struct ProgressModel
{
	bool		logistic;		/* the sum of contributions is in log-odds */
	double		lambda;
	double		intercept;		/* added once per rollout */
	int			n;				/* weights */
	const double *weight;
	const int32 *place;			/* index of each weight, ascending; NULL (in SQL, empty): dense features 1 to n */
	int64		n_rollouts;		/* in the fit */
	int64		n_steps;
} ProgressModel;

/* The row that a function returns. */
extern Datum progress_model_row(FunctionCallInfo fcinfo, const ProgressModel *model);

/*
 * The first argument.  It is usually the same in every row, so a model that is stored out of line is
 * cached.  Any user may have made the value, so it is checked: error if it is invalid.
 */
extern const ProgressModel *progress_model_argument(FunctionCallInfo fcinfo);

/* The probability of these log-odds. */
extern double logistic(double log_odds);

#endif							/* STEPADV_PROGRESS_MODEL_H */
