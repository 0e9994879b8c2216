#ifndef STEPADV_RTMC_H
#define STEPADV_RTMC_H

#include "estimators/estimator.h"
#include "estimators/identity.h"
#include "group/facts.h"
#include "parameters.h"

#define PRIOR_MEAN_CHOICES "success_rate", "start_value"
/* The second choice. */
#define PRIOR_MEAN_START_VALUE 1

/* Parameters of rtmc and rtmc_tree, in this order. */
#define RTMC_PARAMETERS \
	GAMMA_PARAMETER, \
	NUMBER_PARAMETER("prior", 0, INFINITY), \
	NULLABLE_NUMBER_PARAMETER("baseline", -INFINITY, INFINITY), \
	FLAG_PARAMETER("normalise"), \
	VISIT_PARAMETER, \
	SUCCESS_ABOVE_PARAMETER, \
	CHOICE_PARAMETER("prior_mean", PRIOR_MEAN_CHOICES)

enum
{
	RTMC_GAMMA, RTMC_PRIOR, RTMC_BASELINE, RTMC_NORMALISE, RTMC_VISIT, RTMC_SUCCESS_ABOVE, RTMC_PRIOR_MEAN,
	N_RTMC_PARAMETERS
};

/* Columns of every estimator with such a table, in this order. */
#define RTMC_COLUMNS \
	{"return", COLUMN_FLOAT8, true}, \
	{"n_state", COLUMN_INT4, true}, \
	{"n_action", COLUMN_INT4, true}, \
	{"q", COLUMN_FLOAT8, true}, \
	{"v", COLUMN_FLOAT8, true}, \
	{"stderr", COLUMN_FLOAT8, true}, \
	{"advantage", COLUMN_FLOAT8}, \
	{"q_error", COLUMN_FLOAT8, true}, \
	{"confidence", COLUMN_FLOAT8, true}

#define ADVANTAGE_COLUMN 6

/* Does the query read these two? */
static inline bool
errors_are_asked(const EstimateColumn *columns)
{
	return columns[7].number != NULL || columns[8].number != NULL;
}

/* If states have levels (levels.h): the estimates of pairs of a fine state and an action. */
typedef struct FineAnswers
{
	Identities	pairs;
	double	   *q;
	double	   *advantage;
	double	   *error;
	double	   *confidence;
} FineAnswers;

typedef struct RtmcTable
{
	const FineAnswers *fine;	/* replaces the answers of pairs; or NULL */
	double	   *returns;		/* G_t by step */
	Identities	states;
	Identities	pairs;
	uint32	   *pair_visits;	/* unweighted number */
	double	   *pair_weight;	/* N(s,a): sum of weights */
	double	   *pair_q;			/* Q(s,a) */
	double	   *pair_stderr;	/* of Q; NaN below two visits; or NULL if not needed and not infinite */
	uint32	   *state_visits;
	double	   *state_v;		/* V'(s) */
	double	   *pair_advantage; /* Q - V', normalized if requested */
	double	   *pair_error;		/* q_error.h sets this and the next */
	double	   *pair_confidence;
} RtmcTable;

/*
 * Build the table, except for what q_error.h sets.  Returns the weight of each step as a visit, for q_error.h.
 * Without with_errors, the result and pair_stderr may be NULL.
 */
extern double *rtmc_table_build(const GroupColumns *group, const RolloutFacts *facts,
								const ParameterValue *parameters, bool with_errors, RtmcTable *table);

/*
 * The mean return of the judged rollouts from their first steps.  Unlike a success rate, it is discounted and
 * has the same unit as the returns with which it is mixed.
 */
extern double start_value(const GroupColumns *group, const RolloutFacts *facts, const double *returns);

/* The mean towards which states with few visits are shrunken. */
extern double find_prior_mean(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *baseline,
							  const ParameterValue *prior_mean, const ParameterValue *success_above,
							  const double *returns);

/*
 * Compute everything but returns, states, pairs and errors, from a target and a weight by step; weight 0 means
 * that the step is not a visit.
 */
extern void rtmc_table_measure(const GroupColumns *group, const double *target, const double *weight, double prior,
							   double prior_mean, RtmcTable *table);

/* The largest absolute value involved, for flatten_ties. */
extern double target_scale(const GroupColumns *group, const double *target, double prior, double prior_mean,
						   const RtmcTable *table);

/* Set advantages that are zero up to rounding to exactly 0. */
extern void flatten_ties(double *advantage, uint32 n, double scale);

extern void rtmc_table_columns(const GroupColumns *group, const RtmcTable *table, EstimateColumn *columns);

#endif							/* STEPADV_RTMC_H */
