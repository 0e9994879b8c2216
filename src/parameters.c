#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"

#include "compat.h"
#include "declaration.h"
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

static int
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
choice_of_text(const char *name, const char *const *choices, Datum word)
{
	struct varlena *value = PG_DETOAST_DATUM_PACKED(word);

	return find_choice(name, choices, span_make(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)));
}

static void
read_parameter(const NullableDatum *arg, const Parameter *parameter, ParameterValue *value)
{
	memset(value, 0, sizeof(*value));
	value->isnull = arg->isnull;
	if (arg->isnull)
	{
		if (!parameter->nullable)
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("%s must not be null", parameter->name)));
		return;
	}
	switch (parameter->type)
	{
		case PARAMETER_NUMBER:
			value->number = DatumGetFloat8(arg->value);
			if (!isfinite(value->number) ||
				value->number < parameter->least || value->number > parameter->most)
				refuse_number(parameter, value->number);
			break;
		case PARAMETER_INTEGER:
			value->number = DatumGetInt32(arg->value);
			if (value->number < parameter->least || value->number > parameter->most)
				refuse_number(parameter, value->number);
			break;
		case PARAMETER_FLAG:
			value->flag = DatumGetBool(arg->value);
			break;
		case PARAMETER_CHOICE:
			value->choice = choice_of_text(parameter->name, parameter->choices, arg->value);
			break;
		case PARAMETER_GROUP:
			value->group = (const struct RolloutGroup *) PG_DETOAST_DATUM(arg->value);
			break;
	}
}

static Oid
type_of_parameter(ParameterType type)
{
	switch (type)
	{
		case PARAMETER_NUMBER:
			return FLOAT8OID;
		case PARAMETER_INTEGER:
			return INT4OID;
		case PARAMETER_FLAG:
			return BOOLOID;
		case PARAMETER_CHOICE:
			return TEXTOID;
		case PARAMETER_GROUP:
			return TYPE_OF_FIRST_ARGUMENT;
	}
	return InvalidOid;			/* keep compiler quiet */
}

static pg_noinline void
match_parameters(FmgrInfo *function, int first, const Parameter *parameters, int n_parameters)
{
	Expected   *expected = palloc(Max(n_parameters, 1) * sizeof(Expected));

	for (int i = 0; i < n_parameters; i++)
		expected[i] = (Expected) {parameters[i].name, type_of_parameter(parameters[i].type)};
	match_arguments(function, first, expected, n_parameters);
	pfree(expected);
}

static const int16 *
find_parameters(FunctionCallInfo fcinfo, int first, const Parameter *parameters, int n_parameters)
{
	Declaration *declaration = declaration_of(fcinfo->flinfo);

	if (unlikely(declaration->arguments == NULL))
		match_parameters(fcinfo->flinfo, first, parameters, n_parameters);
	return declaration->arguments;
}

void
read_parameters(FunctionCallInfo fcinfo, int first, const Parameter *parameters,
				int n_parameters, ParameterValue *values)
{
	const int16 *arguments = find_parameters(fcinfo, first, parameters, n_parameters);

	for (int i = 0; i < n_parameters; i++)
		read_parameter(&fcinfo->args[arguments[i]], &parameters[i], &values[i]);
}

void
read_parameters_in_order(const NullableDatum *args, const Parameter *parameters,
						 int n_parameters, ParameterValue *values)
{
	for (int i = 0; i < n_parameters; i++)
		read_parameter(&args[i], &parameters[i], &values[i]);
}
