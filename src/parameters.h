/*
 * parameters.h
 *		Named parameters of functions: their domains, declared once, read and
 *		checked with the same words everywhere.
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
	PARAMETER_GROUP				/* of the first argument's type, a rollout_group */
} ParameterType;

typedef struct Parameter
{
	const char *name;
	ParameterType type;
	double		least;
	double		most;
	const char *const *choices; /* ended by NULL */
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

/* No further from 0 than the bound, if there is one. */
static inline double
clamp_to(double x, const ParameterValue *bound)
{
	return bound->isnull ? x : Min(Max(x, -bound->number), bound->number);
}

/* For tables outside functions: a list of choices there lives for ever. */
#define NUMBER_PARAMETER(name, least, most) {name, PARAMETER_NUMBER, least, most, NULL, false}
#define NULLABLE_NUMBER_PARAMETER(name, least, most) {name, PARAMETER_NUMBER, least, most, NULL, true}
#define INTEGER_PARAMETER(name, least, most) {name, PARAMETER_INTEGER, least, most, NULL, false}
#define FLAG_PARAMETER(name) {name, PARAMETER_FLAG, 0, 0, NULL, false}
#define NULLABLE_GROUP_PARAMETER(name) {name, PARAMETER_GROUP, 0, 0, NULL, true}
#define CHOICE_LIST(...) ((const char *const []) {__VA_ARGS__, NULL})
#define CHOICE_PARAMETER(name, ...) {name, PARAMETER_CHOICE, 0, 0, CHOICE_LIST(__VA_ARGS__), false}

/* Parameters that several estimators have. */
#define GAMMA_PARAMETER NUMBER_PARAMETER("gamma", 0, 1)
#define EPSILON_PARAMETER NUMBER_PARAMETER("epsilon", 0, INFINITY)
#define SUCCESS_ABOVE_PARAMETER NUMBER_PARAMETER("success_above", -INFINITY, INFINITY)
#define NORMALISE_PARAMETER CHOICE_PARAMETER("normalise", "std", "mean", "none")
#define SINGLETON_PARAMETER CHOICE_PARAMETER("singleton", "zero", "raw")
#define WEIGHTING_PARAMETER CHOICE_PARAMETER("weighting", "rollout", "step")
#define VISIT_PARAMETER CHOICE_PARAMETER("visit", "every", "first")

/*
 * The arguments from `first` on, checked.  They are the parameters, each found by
 * its name and type in any order in which SQL declares them; see declaration.h.
 */
extern void read_parameters(FunctionCallInfo fcinfo, int first, const Parameter *parameters,
							int n_parameters, ParameterValue *values);

/* Of a transition function, whose arguments have no names. */
extern void read_parameters_in_order(const NullableDatum *args, const Parameter *parameters,
									 int n_parameters, ParameterValue *values);

/* The number of a word among choices ended by NULL; an error if it is none of them. */
extern int	choice_of_text(const char *name, const char *const *choices, Datum word);

#endif							/* STEPADV_PARAMETERS_H */
