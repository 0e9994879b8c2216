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
 * which makes the C function stepadv_rtmc for SQL, with a row per step.  Everything
 * around it is done here, once: opening the value, its history, turns as steps where
 * that is its unit, reading and checking parameters, NULL for rollouts that are not
 * judged, errors on overflow (or NULL, of a value that is forgiving), rows.
 */
#ifndef STEPADV_ESTIMATOR_H
#define STEPADV_ESTIMATOR_H

#include "fmgr.h"

#include "group/facts.h"
#include "parameters.h"
#include "rows.h"

#define MAX_PARAMETERS 16

/*
 * Of a method that may learn from more rollouts than it answers for, one after the
 * other.  It sees them behind the group's own, with the weights in its RolloutFacts,
 * and fills its columns for them too, although these are not read.
 */
#define HISTORY_PARAMETERS \
	NULLABLE_GROUP_PARAMETER("history"), \
	NUMBER_PARAMETER("decay", 0, 1)

#define MAX_RESULT_COLUMNS 10

/* What a column is called, and what is in it. */
typedef struct EstimateColumnType
{
	const char *name;
	ColumnType	type;
	bool		dear;			/* left out if the query does not read it: then there is no room for its entries */
} EstimateColumnType;

/*
 * `columns` are the result columns after step_id, rollout_id, step_no, each with
 * room for an entry per step (NULL: see dear).  Entries of rollouts that are not judged need not
 * be filled.
 */
typedef union EstimateColumn
{
	double	   *number;			/* COLUMN_FLOAT8; NaN is NULL */
	int32	   *count;			/* COLUMN_INT4; COLUMN_BOOL: 1 or 0 */
} EstimateColumn;

typedef void (*EstimateFunction) (const GroupColumns *group, const RolloutFacts *facts,
								  const ParameterValue *parameters, EstimateColumn *columns);

typedef struct Estimator
{
	const Parameter *parameters;
	int			n_parameters;
	const EstimateColumnType *columns;
	int			n_columns;
	EstimateFunction estimate;
	uint8		defects;		/* DEFECT_… of the columns that it reads; it sees such rollouts as not judged */
} Estimator;

extern Datum estimator_rows(FunctionCallInfo fcinfo, const Estimator *estimator);

#define STEPADV_ESTIMATOR(name, parameters, columns, estimate) \
	STEPADV_ESTIMATOR_READING(name, parameters, columns, estimate, 0)

#define STEPADV_ESTIMATOR_READING(name, parameters, columns, estimate, defects) \
	StaticAssertDecl(lengthof(parameters) <= MAX_PARAMETERS, "too many parameters of " #name); \
	StaticAssertDecl(lengthof(columns) <= MAX_RESULT_COLUMNS, "too many result columns of " #name); \
	static const Estimator name##_estimator = { \
		parameters, lengthof(parameters), columns, lengthof(columns), estimate, defects \
	}; \
	PG_FUNCTION_INFO_V1(stepadv_##name); \
	Datum \
	stepadv_##name(PG_FUNCTION_ARGS) \
	{ \
		return estimator_rows(fcinfo, &name##_estimator); \
	}

#endif							/* STEPADV_ESTIMATOR_H */
