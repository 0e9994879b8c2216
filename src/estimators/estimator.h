/*
 * estimator.h
 *		An estimator is a pure function from the columns of a group to columns of estimates, with one entry per step.
 *
 * A file in estimators/ declares its parameters and result columns, defines a function of type EstimateFunction,
 * and ends with
 *
 *		STEPADV_ESTIMATOR(rtmc, rtmc_parameters, rtmc_columns, rtmc_estimate)
 *
 * which defines the C function stepadv_rtmc for SQL, with one row per step.  estimator.c does everything else:
 * it opens the value and its history, by turn if that is its unit, reads and checks parameters, returns NULL for
 * rollouts that are not judged, raises an error on overflow (or returns NULL if the value is lenient), and
 * returns rows.
 */
#ifndef STEPADV_ESTIMATOR_H
#define STEPADV_ESTIMATOR_H

#include "fmgr.h"

#include "group/facts.h"
#include "parameters.h"
#include "rows.h"

#define MAX_PARAMETERS 16

/*
 * For methods that can also learn from rollouts of a history; declared one after the other.  The history's
 * rollouts follow the group's own, with weights in RolloutFacts.  The method fills its columns for them too,
 * but they are not read.
 */
#define HISTORY_PARAMETERS \
	NULLABLE_GROUP_PARAMETER("history"), \
	NUMBER_PARAMETER("decay", 0, 1)

#define MAX_RESULT_COLUMNS 10

/* The name and type of a result column. */
typedef struct EstimateColumnType
{
	const char *name;
	ColumnType	type;
	bool		dear;			/* costly: omitted if the query does not read it */
} EstimateColumnType;

/*
 * The result columns after step_id, rollout_id and step_no, with one entry per step; NULL if the column is
 * omitted (see dear).  Entries of rollouts that are not judged need not be filled.
 */
typedef union EstimateColumn
{
	double	   *number;			/* COLUMN_FLOAT8; NaN means NULL */
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
	uint8		defects;		/* DEFECT_… bits for the columns that it reads: such rollouts count as not judged */
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
