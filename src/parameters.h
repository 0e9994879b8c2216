/*
 * parameters.h
 *		Named parameters of functions: declared once with their domains, and checked with the same messages.
 */
#ifndef STEPADV_PARAMETERS_H
#define STEPADV_PARAMETERS_H

#include <math.h>

#include "fmgr.h"

#include "span.h"

typedef enum ParameterType
{
	PARAMETER_NUMBER,			/* float8 between least and most */
	PARAMETER_INTEGER,			/* integer between least and most */
	PARAMETER_FLAG,				/* boolean */
	PARAMETER_CHOICE,			/* text, one of choices */
	PARAMETER_GROUP				/* a rollout_group, the type of the first argument */
} ParameterType;

typedef struct Parameter
{
	const char *name;
	ParameterType type;
	double		least;
	double		most;
	const char *const *choices; /* terminated by NULL */
	bool		nullable;
} Parameter;

typedef struct ParameterValue
{
	bool		isnull;
	double		number;
	bool		flag;
	int			choice;			/* index into choices */
	const struct RolloutGroup *group;	/* detoasted */
} ParameterValue;

/* Clamp x to [-bound, bound], unless the bound is NULL. */
static inline double
clamp_to(double x, const ParameterValue *bound)
{
	return bound->isnull ? x : Min(Max(x, -bound->number), bound->number);
}

/* For tables at file scope, where a list of choices is static. */
#define NUMBER_PARAMETER(name, least, most) {name, PARAMETER_NUMBER, least, most, NULL, false}
#define NULLABLE_NUMBER_PARAMETER(name, least, most) {name, PARAMETER_NUMBER, least, most, NULL, true}
#define INTEGER_PARAMETER(name, least, most) {name, PARAMETER_INTEGER, least, most, NULL, false}
#define FLAG_PARAMETER(name) {name, PARAMETER_FLAG, 0, 0, NULL, false}
#define NULLABLE_GROUP_PARAMETER(name) {name, PARAMETER_GROUP, 0, 0, NULL, true}
#define CHOICE_LIST(...) ((const char *const []) {__VA_ARGS__, NULL})
#define CHOICE_PARAMETER(name, ...) {name, PARAMETER_CHOICE, 0, 0, CHOICE_LIST(__VA_ARGS__), false}

/* Parameters of several estimators. */
#define GAMMA_PARAMETER NUMBER_PARAMETER("gamma", 0, 1)
#define EPSILON_PARAMETER NUMBER_PARAMETER("epsilon", 0, INFINITY)
#define SUCCESS_ABOVE_PARAMETER NUMBER_PARAMETER("success_above", -INFINITY, INFINITY)
#define NORMALISE_PARAMETER CHOICE_PARAMETER("normalise", "std", "mean", "none")
#define SINGLETON_PARAMETER CHOICE_PARAMETER("singleton", "zero", "raw")
#define WEIGHTING_PARAMETER CHOICE_PARAMETER("weighting", "rollout", "step")
#define VISIT_PARAMETER CHOICE_PARAMETER("visit", "every", "first")

/*
 * Read and check the arguments from number first on.  Each parameter is found by name and type, in any
 * declared order; see declaration.h.
 */
extern void read_parameters(FunctionCallInfo fcinfo, int first, const Parameter *parameters,
							int n_parameters, ParameterValue *values);

/* The same for transition functions, whose arguments have no names. */
extern void read_parameters_in_order(const NullableDatum *args, const Parameter *parameters,
									 int n_parameters, ParameterValue *values);

/* The index of a word among choices, a list terminated by NULL; an error if it is not there. */
extern int	choice_of_text(const char *name, const char *const *choices, Datum word);

#endif							/* STEPADV_PARAMETERS_H */
