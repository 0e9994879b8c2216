/*
 * parameters.h
 *		Named parameters of functions: what they may be, said once, read and
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
	PARAMETER_CHOICE			/* text, one of choices */
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
} ParameterValue;

#define MAX_PARAMETERS 12

/* For tables outside functions: a list of choices there lives for ever. */
#define NUMBER_PARAMETER(name, least, most) {name, PARAMETER_NUMBER, least, most, NULL, false}
#define NULLABLE_NUMBER_PARAMETER(name, least, most) {name, PARAMETER_NUMBER, least, most, NULL, true}
#define INTEGER_PARAMETER(name, least, most) {name, PARAMETER_INTEGER, least, most, NULL, false}
#define FLAG_PARAMETER(name) {name, PARAMETER_FLAG, 0, 0, NULL, false}
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

/* Arguments from `first` on, in the order of the parameters; checked. */
extern void read_parameters(FunctionCallInfo fcinfo, int first, const Parameter *parameters,
							int n_parameters, ParameterValue *values);

/* The number of a word among choices ended by NULL; an error if it is none of them. */
extern int	find_choice(const char *name, const char *const *choices, Span word);
extern int	choice_argument(FunctionCallInfo fcinfo, int arg, const char *name, const char *const *choices);

#endif							/* STEPADV_PARAMETERS_H */
