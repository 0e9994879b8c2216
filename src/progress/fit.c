/*
 * fit.c
 *		progress_fit: an aggregate over steps that fits a linear model.
 *
 * The fit is ridge regression; for loss 'logistic', Newton's method, each step of which is a
 * least-squares problem (iteratively reweighted least squares).
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"

#include "aggregate.h"
#include "arrays.h"
#include "parameters.h"
#include "progress/kernels.h"
#include "progress/least_squares.h"
#include "progress/model.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_progress_fit_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_sparse_trans);
PG_FUNCTION_INFO_V1(stepadv_progress_fit_final);

/* In the order of the words of LOSS_PARAMETER. */
typedef enum Loss
{
	LOSS_SQUARED,
	LOSS_LOGISTIC
} Loss;

#define LOSS_PARAMETER CHOICE_PARAMETER("loss", "squared", "logistic")

typedef struct LinearFit
{
	double		lambda;
	Loss		loss;
} LinearFit;

/* For up to so many columns, sums of products are faster than conjugate gradients, and exact. */
#define MOST_EXACT_COLUMNS 1500

#define MOST_NEWTON_STEPS 100

/* The least weight of a Newton step: smaller ones would lose the digits of the target. */
#define LEAST_WEIGHT 1e-10

static void
solve_least_squares(const LeastSquares *problem, double *weight)
{
	if (problem->rows->dimension <= MOST_EXACT_COLUMNS)
		solve_exactly(problem, weight);
	else
		solve_by_gradients(problem, weight);
	for (int i = 0; i <= problem->rows->dimension; i++)
		if (!isfinite(weight[i]))
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("a weight of the fit is out of range for type double precision")));
}

static void
check_logistic(const FitRows *rows)
{
	bool		constant = true;

	for (uint64 i = 0; i < rows->n; i++)
	{
		double		outcome = rows->row[i].outcome;

		if (outcome < 0 || outcome > 1)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("outcome %g of rollout " INT64_FORMAT " is not between 0 and 1, as a logistic fit needs it",
							outcome, rows->row[i].rollout_id)));
		constant = constant && outcome == rows->row[0].outcome;
	}
	if (constant && (rows->row[0].outcome == 0 || rows->row[0].outcome == 1))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("all outcomes of a logistic fit are %g", rows->row[0].outcome),
				 errhint("Its intercept would be infinite; give it rollouts of both outcomes, or use another loss.")));
}

/* Log-odds of each row. */
static void
predict_rows(const LeastSquares *problem, const double *weight, double *log_odds)
{
	const FitRows *rows = problem->rows;

	for (uint64 i = 0; i < rows->n; i++)
	{
		const FitRow *row = &rows->row[i];

		log_odds[i] = weight[rows->dimension] + numbers_dot_at(weight, row->column, row->x, row->n);
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

/* Mean cross-entropy plus the penalty, half of problem->lambda. */
static double
objective(const LeastSquares *problem, const double *weight, const double *log_odds)
{
	Sum			loss = {0};
	Sum			penalty = {0};

	for (uint64 i = 0; i < problem->rows->n; i++)
	{
		double		x = log_odds[i];

		sum_add(&loss, Max(x, 0) - x * problem->rows->row[i].outcome + log1p(exp(-fabs(x))));
	}
	for (int j = 0; j < problem->rows->dimension; j++)
		sum_add(&penalty, weight[j] * weight[j]);
	return sum_value(&loss) / problem->rows->n + problem->lambda / 2 * sum_value(&penalty);
}

static void
reweigh(const FitRows *rows, const double *log_odds, double *weight, double *target)
{
	for (uint64 i = 0; i < rows->n; i++)
	{
		double		p = logistic(log_odds[i]);

		weight[i] = Max(p * (1 - p), LEAST_WEIGHT);
		target[i] = log_odds[i] + (rows->row[i].outcome - p) / weight[i];
	}
}

static void
solve_logistic(const FitRows *rows, const LinearFit *fit, double *weight)
{
	int			n = rows->dimension + 1;
	double	   *row_weight = ALLOCATE_ARRAY(double, rows->n);
	double	   *target = ALLOCATE_ARRAY(double, rows->n);
	double	   *log_odds = ALLOCATE_ZEROED_ARRAY(double, rows->n);
	double	   *next = ALLOCATE_ZEROED_ARRAY(double, n);
	/* Twice lambda, since the Newton step minimizes half of the squared error. */
	LeastSquares problem = {rows, row_weight, target, 2 * fit->lambda};
	double		now;
	bool		done = false;

	check_logistic(rows);
	memset(weight, 0, n * sizeof(double));
	now = objective(&problem, weight, log_odds);
	for (int step = 0; !done; step++)
	{
		double		change = 0;
		double		size = 1;
		double		then;

		if (step == MOST_NEWTON_STEPS)
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("the logistic fit with lambda %g does not converge", fit->lambda),
					 errhint("The features separate the outcomes perfectly. Use a larger lambda (ridge).")));
		reweigh(rows, log_odds, row_weight, target);
		solve_least_squares(&problem, next);
		for (int j = 0; j < n; j++)
		{
			change = Max(change, fabs(next[j] - weight[j]));
			size = Max(size, fabs(next[j]));
		}
		done = change <= 1e-11 * size;
		predict_rows(&problem, next, log_odds);
		then = objective(&problem, next, log_odds);
		/* Halve a step until it decreases the objective. */
		for (int halves = 0; !done && !(then <= now) && halves < 40; halves++)
		{
			for (int j = 0; j < n; j++)
				next[j] = (next[j] + weight[j]) / 2;
			predict_rows(&problem, next, log_odds);
			then = objective(&problem, next, log_odds);
		}
		/* If no step decreases it, only rounding errors are left. */
		done = done || !(then < now);
		memcpy(weight, next, n * sizeof(double));
		now = then;
	}
	pfree(row_weight);
	pfree(target);
	pfree(log_odds);
	pfree(next);
}

/* rows: at least one */
static ProgressModel
fit_linear(const FitRows *rows, const LinearFit *fit)
{
	double	   *weight = ALLOCATE_ZEROED_ARRAY(double, rows->dimension + 1);

	if (fit->loss == LOSS_LOGISTIC)
		solve_logistic(rows, fit, weight);
	else
		solve_least_squares(&(LeastSquares) {rows, NULL, NULL, fit->lambda}, weight);
	return (ProgressModel) {
		.logistic = fit->loss == LOSS_LOGISTIC, .lambda = fit->lambda, .intercept = weight[rows->dimension],
		.n = rows->dimension, .weight = weight, .place = rows->place, .n_rollouts = (int64) rows->n, .n_steps = rows->n_steps
	};
}

/* ----------
 * The aggregate
 * ----------
 */

/* The first arguments of both transition functions; parameters follow. */
enum
{
	ARG_STATE,
	ARG_ROLLOUT_ID,
	ARG_FEATURES,				/* or indices; then the weights follow, and later arguments shift by one */
	ARG_OUTCOME,
	ARG_PARAMETERS,
	ARG_WEIGHTS = ARG_OUTCOME
};

static void
refuse_null(const char *what, int64 rollout_id)
{
	ereport(ERROR,
			(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			 errmsg("%s of rollout " INT64_FORMAT " must not be null", what, rollout_id)));
}

static int64
rollout_id_argument(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(ARG_ROLLOUT_ID))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("rollout_id must not be null")));
	return PG_GETARG_INT64(ARG_ROLLOUT_ID);
}

/* NaN if it is NULL. */
static double
outcome_argument(FunctionCallInfo fcinfo, int arg, int64 rollout_id)
{
	double		outcome;

	if (PG_ARGISNULL(arg))
		return NAN;
	outcome = PG_GETARG_FLOAT8(arg);
	if (!isfinite(outcome))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("outcome of rollout " INT64_FORMAT " is %s, not a finite number", rollout_id,
						isnan(outcome) ? "NaN" : "infinite")));
	return outcome;
}

static const Parameter fit_parameters[] = {NUMBER_PARAMETER("lambda", 0, INFINITY), LOSS_PARAMETER};

/* The state of the aggregate. */
typedef struct FitState
{
	LinearFit	fit;
	RolloutSums *sums;
} FitState;

/* The state so far; error unless lambda [, loss] are the same in this row. */
static FitState *
state_of_row(FunctionCallInfo fcinfo, int first_parameter)
{
	MemoryContext context = aggregate_context(fcinfo);
	FitState   *state = PG_ARGISNULL(ARG_STATE) ? NULL : (FitState *) PG_GETARG_POINTER(ARG_STATE);
	ParameterValue values[lengthof(fit_parameters)] = {{.number = 0}, {.choice = LOSS_SQUARED}};

	read_parameters_in_order(fcinfo->args + first_parameter, fit_parameters, PG_NARGS() - first_parameter, values);
	if (state == NULL)
	{
		state = MemoryContextAlloc(context, sizeof(FitState));
		*state = (FitState) {{values[0].number, values[1].choice}, rollout_sums_create(context)};
	}
	if (state->fit.lambda != values[0].number || state->fit.loss != values[1].choice)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("parameters must be the same in all rows of a fit")));
	return state;
}

/* progress_fit(rollout_id, features, outcome, lambda [, loss]) */
Datum
stepadv_progress_fit_trans(PG_FUNCTION_ARGS)
{
	FitState   *state = state_of_row(fcinfo, ARG_PARAMETERS);
	int64		rollout_id = rollout_id_argument(fcinfo);
	Features	features;

	if (PG_ARGISNULL(ARG_FEATURES))
		refuse_null("features", rollout_id);
	features = features_open(PG_GETARG_ARRAYTYPE_P(ARG_FEATURES), &rollout_id);
	rollout_sums_dense_step(state->sums, rollout_id, &features, outcome_argument(fcinfo, ARG_OUTCOME, rollout_id));
	PG_RETURN_POINTER(state);
}

/* progress_fit(rollout_id, indices, weights, outcome, lambda [, loss]) */
Datum
stepadv_progress_fit_sparse_trans(PG_FUNCTION_ARGS)
{
	FitState   *state = state_of_row(fcinfo, ARG_PARAMETERS + 1);
	int64		rollout_id = rollout_id_argument(fcinfo);
	SparseFeatures features;

	if (PG_ARGISNULL(ARG_FEATURES))
		refuse_null("indices of the features", rollout_id);
	if (PG_ARGISNULL(ARG_WEIGHTS))
		refuse_null("weights of the features", rollout_id);
	features = sparse_features_open(PG_GETARG_ARRAYTYPE_P(ARG_FEATURES), PG_GETARG_ARRAYTYPE_P(ARG_WEIGHTS), &rollout_id);
	rollout_sums_sparse_step(state->sums, rollout_id, &features, outcome_argument(fcinfo, ARG_OUTCOME + 1, rollout_id));
	PG_RETURN_POINTER(state);
}

/* NULL without judged rollouts. */
Datum
stepadv_progress_fit_final(PG_FUNCTION_ARGS)
{
	FitState   *state = PG_ARGISNULL(0) ? NULL : (FitState *) PG_GETARG_POINTER(0);
	RolloutSum **rollouts;
	uint64		n;
	FitRows		rows;
	ProgressModel model;

	(void) aggregate_context(fcinfo);
	if (state == NULL)
		PG_RETURN_NULL();
	rollouts = rollout_sums_judged(state->sums, &n);
	if (n == 0)
		PG_RETURN_NULL();
	rows = fit_rows_of(state->sums, rollouts, n);
	model = fit_linear(&rows, &state->fit);
	return progress_model_row(fcinfo, &model);
}
