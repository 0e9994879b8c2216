/*
 * parameters.c
 *		Reading and checking named parameters.
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "compat.h"
#include "parameters.h"

static void
refuse_number(const Parameter *parameter, double number)
{
	StringInfoData range;

	initStringInfo(&range);
	if (!isinf(parameter->most))
		appendStringInfo(&range, "between %g and %g", parameter->least, parameter->most);
	else if (!isinf(parameter->least))
		appendStringInfo(&range, "a finite number of at least %g", parameter->least);
	else
		appendStringInfoString(&range, "a finite number");
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s must be %s, not %g", parameter->name, range.data, number)));
}

int
find_choice(const char *name, const char *const *choices, Span word)
{
	StringInfoData known;

	for (int i = 0; choices[i] != NULL; i++)
		if (span_is(word, choices[i]))
			return i;
	initStringInfo(&known);
	for (int i = 0; choices[i] != NULL; i++)
		appendStringInfo(&known, "%s%s", i > 0 ? ", " : "", choices[i]);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for parameter \"%s\": \"%.*s\"", name, word.length, word.data),
			 errhint("Available values: %s.", known.data)));
}

int
choice_argument(FunctionCallInfo fcinfo, int arg, const char *name, const char *const *choices)
{
	text	   *word = PG_GETARG_TEXT_PP(arg);

	return find_choice(name, choices, span_make(VARDATA_ANY(word), VARSIZE_ANY_EXHDR(word)));
}

void
read_parameters(FunctionCallInfo fcinfo, int first, const Parameter *parameters,
				int n_parameters, ParameterValue *values)
{
	if (PG_NARGS() != first + n_parameters)
		elog(ERROR, "function has %d arguments, its C code expects %d", PG_NARGS(), first + n_parameters);
	for (int i = 0; i < n_parameters; i++)
	{
		const Parameter *parameter = &parameters[i];
		ParameterValue *value = &values[i];
		int			arg = first + i;

		memset(value, 0, sizeof(*value));
		value->isnull = PG_ARGISNULL(arg);
		if (value->isnull)
		{
			if (!parameter->nullable)
				ereport(ERROR,
						(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						 errmsg("%s must not be null", parameter->name)));
			continue;
		}
		switch (parameter->type)
		{
			case PARAMETER_NUMBER:
				value->number = PG_GETARG_FLOAT8(arg);
				if (!isfinite(value->number) ||
					value->number < parameter->least || value->number > parameter->most)
					refuse_number(parameter, value->number);
				break;
			case PARAMETER_INTEGER:
				value->number = PG_GETARG_INT32(arg);
				if (value->number < parameter->least || value->number > parameter->most)
					refuse_number(parameter, value->number);
				break;
			case PARAMETER_FLAG:
				value->flag = PG_GETARG_BOOL(arg);
				break;
			case PARAMETER_CHOICE:
				value->choice = choice_argument(fcinfo, arg, parameter->name, parameter->choices);
				break;
		}
	}
}
