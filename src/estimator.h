/*
 * estimator.h
 *		What an estimator is: a pure function from the columns of a group to
 *		columns of estimates, one entry per step.
 *
 * A file in estimators/ declares its parameters and result columns, defines a
 * function of type EstimateFunction, and ends with
 *
 *		STEPADV_ESTIMATOR(rtmc, rtmc_parameters, rtmc_columns, rtmc_estimate)
 *
 * which makes the C function stepadv_rtmc for SQL.  Everything around it is done
 * here, once: opening the value, reading and checking parameters, NULL for
 * rollouts that are not judged, errors on overflow, rows.
 */
#ifndef STEPADV_ESTIMATOR_H
#define STEPADV_ESTIMATOR_H

#include "fmgr.h"

#include "arrays.h"
#include "group/group.h"
#include "rows.h"

/* ----------
 * Parameters
 * ----------
 */

typedef enum ParameterType
{
	PARAMETER_NUMBER,			/* float8 between least and most */
	PARAMETER_INTEGER,			/* integer between least and most */
	PARAMETER_FLAG,				/* boolean */
	PARAMETER_CHOICE			/* text, one of choices */
} ParameterType;

typedef struct Parameter
{
	const char *name;
	ParameterType type;
	double		least;
	double		most;
	const char *choices[4];		/* ended by NULL */
	bool		nullable;
} Parameter;

typedef struct ParameterValue
{
	bool		isnull;
	double		number;
	bool		flag;
	int			choice;			/* index into choices */
} ParameterValue;

#define MAX_PARAMETERS 12

#define NUMBER_PARAMETER(name, least, most) {name, PARAMETER_NUMBER, least, most, {NULL}, false}
#define NULLABLE_NUMBER_PARAMETER(name, least, most) {name, PARAMETER_NUMBER, least, most, {NULL}, true}
#define INTEGER_PARAMETER(name, least, most) {name, PARAMETER_INTEGER, least, most, {NULL}, false}
#define FLAG_PARAMETER(name) {name, PARAMETER_FLAG, 0, 0, {NULL}, false}
#define CHOICE_PARAMETER(name, ...) {name, PARAMETER_CHOICE, 0, 0, {__VA_ARGS__, NULL}, false}

/* Parameters that several estimators have. */
#define GAMMA_PARAMETER NUMBER_PARAMETER("gamma", 0, 1)
#define EPSILON_PARAMETER NUMBER_PARAMETER("epsilon", 0, INFINITY)
#define SUCCESS_ABOVE_PARAMETER NUMBER_PARAMETER("success_above", -INFINITY, INFINITY)
#define NORMALISE_PARAMETER CHOICE_PARAMETER("normalise", "std", "mean", "none")
#define SINGLETON_PARAMETER CHOICE_PARAMETER("singleton", "zero", "raw")
#define WEIGHTING_PARAMETER CHOICE_PARAMETER("weighting", "rollout", "step")
#define VISIT_PARAMETER(first, second) CHOICE_PARAMETER("visit", first, second)

/* Arguments from `first` on, in the order of the parameters; checked. */
extern void read_parameters(FunctionCallInfo fcinfo, int first, const Parameter *parameters,
							int n_parameters, ParameterValue *values);

/* ----------
 * Rollouts
 * ----------
 */

/* What every estimator asks about the rollouts of a group. */
typedef struct RolloutFacts
{
	bool	   *judged;			/* has a reward or a success on any row */
	double	   *total;			/* undiscounted return R_i, outcome included */
	uint32		n_judged;
} RolloutFacts;

extern void find_rollout_facts(const GroupColumns *group, RolloutFacts *facts);

/* Finite input can still overflow: say so rather than hand out infinity. */
extern _Noreturn void refuse_overflow(const GroupColumns *group, uint32 rollout, uint32 step);

/* A rollout's own word, else whether its return exceeds success_above. */
static inline bool
rollout_succeeded(const GroupColumns *group, const RolloutFacts *facts, uint32 rollout, double success_above)
{
	if (group->success[rollout] != SUCCESS_UNKNOWN)
		return group->success[rollout] == SUCCESS_TRUE;
	return facts->total[rollout] > success_above;
}

/* ----------
 * Estimators
 * ----------
 */

#define MAX_RESULT_COLUMNS 10

/*
 * `columns` are the result columns after step_id, rollout_id, step_no, each with
 * room for an entry per step.  Entries of rollouts that are not judged need not
 * be filled.
 */
typedef union EstimateColumn
{
	double	   *number;			/* COLUMN_FLOAT8; NaN is NULL */
	int32	   *count;			/* COLUMN_INT4 */
} EstimateColumn;

typedef void (*EstimateFunction) (const GroupColumns *group, const RolloutFacts *facts,
								  const ParameterValue *parameters, EstimateColumn *columns);

typedef struct Estimator
{
	const Parameter *parameters;
	int			n_parameters;
	const ColumnType *columns;
	int			n_columns;
	EstimateFunction estimate;
} Estimator;

extern Datum estimator_rows(FunctionCallInfo fcinfo, const Estimator *estimator);

#define STEPADV_ESTIMATOR(name, parameters, columns, estimate) \
	PG_FUNCTION_INFO_V1(stepadv_##name); \
	Datum \
	stepadv_##name(PG_FUNCTION_ARGS) \
	{ \
		static const Estimator estimator = { \
			parameters, lengthof(parameters), columns, lengthof(columns), estimate \
		}; \
		return estimator_rows(fcinfo, &estimator); \
	}

#endif							/* STEPADV_ESTIMATOR_H */
