#ifndef STEPADV_RTMC_H
#define STEPADV_RTMC_H

#include "estimator.h"
#include "estimators/identity.h"
#include "group/facts.h"
#include "parameters.h"

#define PRIOR_MEAN_CHOICES "success_rate", "start_value"
/* The second of them. */
#define PRIOR_MEAN_START_VALUE 1

/* Shared by rtmc and rtmc_tree, in this order. */
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

/* Of every estimator that has such a table, in this order. */
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

/* Does anybody read these two? */
static inline bool
errors_are_asked(const EstimateColumn *columns)
{
	return columns[7].number != NULL || columns[8].number != NULL;
}

/* Where states have levels (levels.h), the estimates of a pair of a fine state and an action. */
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
	const FineAnswers *fine;	/* replace those of pairs; or NULL */
	double	   *returns;		/* G_t by step */
	Identities	states;
	Identities	pairs;
	uint32	   *pair_visits;	/* how many, regardless of their weights */
	double	   *pair_weight;	/* N(s,a): what they count together */
	double	   *pair_q;			/* Q(s,a) */
	double	   *pair_stderr;	/* of Q; NaN below two visits; or NULL: not needed, and in range as are the returns */
	uint32	   *state_visits;
	double	   *state_v;		/* V'(s) */
	double	   *pair_advantage; /* Q - V', divided by their sd if asked for */
	double	   *pair_error;		/* q_error.h fills this and the next */
	double	   *pair_confidence;
} RtmcTable;

/*
 * All but what q_error.h fills; by step, what each counts as a visit, which is for that.  Without
 * errors that may be NULL, as may pair_stderr.
 */
extern double *rtmc_table_build(const GroupColumns *group, const RolloutFacts *facts,
								const ParameterValue *parameters, bool with_errors, RtmcTable *table);

/*
 * The mean return of the judged rollouts from where they began: unlike a success
 * rate it is discounted and rewarded as the returns are that it is mixed with.
 */
extern double start_value(const GroupColumns *group, const RolloutFacts *facts, const double *returns);

/* What states with few visits are drawn to. */
extern double find_prior_mean(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *baseline,
							  const ParameterValue *prior_mean, const ParameterValue *success_above,
							  const double *returns);

/*
 * All but returns, states, pairs and errors, with `target` by step as what the visits' means are of;
 * `weight` by step is what a visit counts, 0 for a step that is none.
 */
extern void rtmc_table_measure(const GroupColumns *group, const double *target, const double *weight, double prior,
							   double prior_mean, RtmcTable *table);

/* The largest of what is compared there, for flatten_ties. */
extern double target_scale(const GroupColumns *group, const double *target, double prior, double prior_mean,
						   const RtmcTable *table);

/* An action that is worth what its state is has no advantage, despite rounding. */
extern void flatten_ties(double *advantage, uint32 n, double scale);

extern void rtmc_table_columns(const GroupColumns *group, const RtmcTable *table, EstimateColumn *columns);

#endif							/* STEPADV_RTMC_H */
