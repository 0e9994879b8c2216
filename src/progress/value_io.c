/*
 * value_io.c
 *		Text and binary forms of progress_statistics and progress_model.
 *
 * Text: a JSON object.
 *
 *	{"version": 1, "kind": "linear", "rollouts": 2, "steps": 5, "lambda": 0.1,
 *	 "intercept": null, "weights": [0.5, -1]}
 *	{"version": 1, "kind": "statistics", "rollouts": 2, "steps": 5,
 *	 "outcome_sum": 1, "outcome_square_sum": 1, "products": [..], "gram": [..]}
 *
 * Of version 2 statistics have "sums" as well; a
 * sparse model is {.., "kind": "sparse", .., "weights": [..], "places": [..]}; and all
 * models say "intercept_of": "rollout", "step" or null, and "loss": "squared" or
 * "logistic".
 *
 * Binary: the bytes of the value after its length word, little-endian.  Both are
 * lossless; whatever the functions could not have made is refused: 22P02 for
 * text, 22P03 for binary.
 */
#include "postgres.h"

#include <math.h>

#include "common/jsonapi.h"
#include "common/shortest_dec.h"
#include "lib/stringinfo.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/jsonfuncs.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include "compat.h"
#include "progress/value.h"
#include "progress/value_io.h"

PG_FUNCTION_INFO_V1(stepadv_progress_model_in);
PG_FUNCTION_INFO_V1(stepadv_progress_model_out);
PG_FUNCTION_INFO_V1(stepadv_progress_model_recv);
PG_FUNCTION_INFO_V1(stepadv_progress_model_eq);
PG_FUNCTION_INFO_V1(stepadv_progress_model_ne);
PG_FUNCTION_INFO_V1(stepadv_progress_statistics_in);
PG_FUNCTION_INFO_V1(stepadv_progress_statistics_out);
PG_FUNCTION_INFO_V1(stepadv_progress_statistics_recv);
PG_FUNCTION_INFO_V1(stepadv_progress_value_send);

#define MAX_ARRAYS 3

/* Up to where every integer is a double, as the numbers of a text are. */
#define MAX_COUNT INT64CONST(9007199254740992)

/* Names of the two first numbers and of the arrays after them. */
typedef struct Shape
{
	const char *type_name;
	ProgressKind kind;
	int			version;
	const char *kind_word;
	const char *scalars[2];
	const char *arrays[MAX_ARRAYS]; /* as many as it has */
} Shape;

static const Shape shapes[] = {
	{"progress_statistics", PROGRESS_STATISTICS, 1, "statistics", {"outcome_sum", "outcome_square_sum"}, {"products", "gram"}},
	{"progress_statistics", PROGRESS_STATISTICS, 2, "statistics", {"outcome_sum", "outcome_square_sum"}, {"products", "gram", "sums"}},
	{"progress_model", PROGRESS_LINEAR, 1, "linear", {"lambda", "intercept"}, {"weights"}},
	{"progress_model", PROGRESS_LINEAR, 2, "linear", {"lambda", "intercept"}, {"weights"}},
	{"progress_model", PROGRESS_SPARSE, 2, "sparse", {"lambda", "intercept"}, {"weights", "places"}}
};

/* Words for flags of version 2. */
#define INTERCEPT_OF "intercept_of"
#define LOSS "loss"

static const char *
loss_word(uint16 flags)
{
	return (flags & PROGRESS_LOGISTIC) != 0 ? "logistic" : "squared";
}

static const Shape *
shape_of(const ProgressValue *value)
{
	for (int i = 0; i < lengthof(shapes); i++)
		if (shapes[i].kind == value->kind && shapes[i].version == value->version)
			return &shapes[i];
	elog(ERROR, "no shape of kind %d", value->kind);
}

static bool
is_model_of_version_2(const Shape *shape)
{
	return shape->kind != PROGRESS_STATISTICS && shape->version == PROGRESS_VERSION_2;
}

static Size
count_entries(const ProgressValue *value, int array)
{
	switch ((ProgressKind) value->kind)
	{
		case PROGRESS_STATISTICS:
			return array != 1 ? (Size) value->dimension + 1
				: ((Size) value->dimension + 1) * ((Size) value->dimension + 2) / 2;
		case PROGRESS_LINEAR:
		case PROGRESS_SPARSE:
			return value->dimension;
	}
	return 0;
}

static Size
n_numbers(const ProgressValue *value)
{
	return (VARSIZE(value) - offsetof(ProgressValue, numbers)) / sizeof(double);
}

/* Of flags and intercept of a model; NULL: none. */
static const char *
model_problem(const ProgressValue *value)
{
	bool		has_intercept = (value->flags & PROGRESS_HAS_INTERCEPT) != 0;

	if (value->numbers[MODEL_LAMBDA] < 0)
		return "Its lambda is negative.";
	if (!has_intercept && value->numbers[MODEL_INTERCEPT] != 0)
		return "It has an intercept and says that it has none.";
	if ((value->flags & PROGRESS_OF_ROLLOUT) != 0 && !has_intercept)
		return "Its intercept is of a rollout, and it has none.";
	if (value->kind == PROGRESS_SPARSE)
	{
		const double *place = value->numbers + SPARSE_PLACES(value);

		for (uint32 i = 0; i < value->dimension; i++)
			if (!(place[i] > (i == 0 ? 0 : place[i - 1])) || place[i] > MOST_PLACES || place[i] != floor(place[i]))
				return "Its places do not ascend from 1.";
	}
	return NULL;
}

/* What no function of ours would have made. */
static void
check_value(const ProgressValue *value, int sqlstate)
{
	const char *problem = NULL;
	Size		n = n_numbers(value);

	for (Size i = 0; i < n; i++)
	{
		if (!isfinite(value->numbers[i]))
			problem = "A number in it is not finite.";
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	if (value->n_rollouts < 1 || value->n_steps < value->n_rollouts)
		problem = "It must be of at least one rollout, and of no fewer steps than rollouts.";
	else if (value->n_steps > MAX_COUNT)
		problem = "It counts more steps than a text of it could.";
	else if (value->kind == PROGRESS_STATISTICS && value->numbers[STATISTICS_SQUARE] < 0)
		problem = "A sum of squares in it is negative.";
	else if (problem == NULL && value->kind != PROGRESS_STATISTICS)
		problem = model_problem(value);
	if (value->kind == PROGRESS_STATISTICS)
	{
		const double *diagonal = value->numbers + STATISTICS_GRAM(value->dimension);

		for (uint32 i = 0; i <= value->dimension; i++)
		{
			if (*diagonal < 0)
				problem = "A sum of squares in it is negative.";
			diagonal += i + 2;
		}
	}
	if (problem != NULL)
		ereport(ERROR,
				(errcode(sqlstate),
				 errmsg("invalid %s", shape_of(value)->type_name),
				 errdetail_internal("%s", problem)));
}

/* ----------
 * Binary
 * ----------
 */

static Datum
receive(FunctionCallInfo fcinfo, ProgressType type)
{
	StringInfo	buffer = (StringInfo) PG_GETARG_POINTER(0);
	int			length = buffer->len - buffer->cursor;
	struct varlena *bytes = palloc(length + VARHDRSZ);
	ProgressValue *value;

	SET_VARSIZE(bytes, length + VARHDRSZ);
	memcpy(VARDATA(bytes), pq_getmsgbytes(buffer, length), length);
	value = progress_open_input(bytes, type, ERRCODE_INVALID_BINARY_REPRESENTATION);
	check_value(value, ERRCODE_INVALID_BINARY_REPRESENTATION);
	PG_RETURN_POINTER(progress_seal(value));
}

Datum
stepadv_progress_model_recv(PG_FUNCTION_ARGS)
{
	return receive(fcinfo, TYPE_MODEL);
}

Datum
stepadv_progress_statistics_recv(PG_FUNCTION_ARGS)
{
	return receive(fcinfo, TYPE_STATISTICS);
}

Datum
stepadv_progress_value_send(PG_FUNCTION_ARGS)
{
	struct varlena *value = PG_GETARG_VARLENA_PP(0);
	StringInfoData buffer;

	pq_begintypsend(&buffer);
	pq_sendbytes(&buffer, VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
	PG_RETURN_BYTEA_P(pq_endtypsend(&buffer));
}

/* Equal in every bit. */
static bool
same_bytes(FunctionCallInfo fcinfo)
{
	struct varlena *a = PG_GETARG_VARLENA_PP(0);
	struct varlena *b = PG_GETARG_VARLENA_PP(1);

	return VARSIZE_ANY_EXHDR(a) == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), VARSIZE_ANY_EXHDR(a)) == 0;
}

Datum
stepadv_progress_model_eq(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(same_bytes(fcinfo));
}

Datum
stepadv_progress_model_ne(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(!same_bytes(fcinfo));
}

/* ----------
 * Text out
 * ----------
 */

static void
append_double(StringInfo out, double number)
{
	char		digits[DOUBLE_SHORTEST_DECIMAL_LEN];

	appendBinaryStringInfo(out, digits, double_to_shortest_decimal_bufn(number, digits));
}

static void
append_array(StringInfo out, const char *name, const double *numbers, Size n)
{
	appendStringInfo(out, ", \"%s\": [", name);
	for (Size i = 0; i < n; i++)
	{
		if (i > 0)
			appendStringInfoString(out, ", ");
		append_double(out, numbers[i]);
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	appendStringInfoChar(out, ']');
}

static Datum
print(FunctionCallInfo fcinfo, ProgressType type)
{
	const ProgressValue *value = progress_open(PG_GETARG_VARLENA_P(0), type);
	const Shape *shape = shape_of(value);
	const double *numbers = value->numbers + 2;
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfo(&out, "{\"version\": %d, \"kind\": \"%s\", \"rollouts\": " INT64_FORMAT ", \"steps\": " INT64_FORMAT,
					 value->version, shape->kind_word, value->n_rollouts, value->n_steps);
	for (int i = 0; i < 2; i++)
	{
		appendStringInfo(&out, ", \"%s\": ", shape->scalars[i]);
		if (type == TYPE_MODEL && i == MODEL_INTERCEPT && (value->flags & PROGRESS_HAS_INTERCEPT) == 0)
			appendStringInfoString(&out, "null");
		else
			append_double(&out, value->numbers[i]);
	}
	if (is_model_of_version_2(shape))
		appendStringInfo(&out, ", \"%s\": %s, \"%s\": \"%s\"", INTERCEPT_OF,
						 (value->flags & PROGRESS_HAS_INTERCEPT) == 0 ? "null" :
						 (value->flags & PROGRESS_OF_ROLLOUT) != 0 ? "\"rollout\"" : "\"step\"",
						 LOSS, loss_word(value->flags));
	for (int i = 0; i < MAX_ARRAYS && shape->arrays[i] != NULL; i++)
	{
		append_array(&out, shape->arrays[i], numbers, count_entries(value, i));
		numbers += count_entries(value, i);
	}
	appendStringInfoChar(&out, '}');
	PG_RETURN_CSTRING(out.data);
}

Datum
stepadv_progress_model_out(PG_FUNCTION_ARGS)
{
	return print(fcinfo, TYPE_MODEL);
}

Datum
stepadv_progress_statistics_out(PG_FUNCTION_ARGS)
{
	return print(fcinfo, TYPE_STATISTICS);
}

/* ----------
 * Text in
 * ----------
 */

typedef enum MemberIndex
{
	M_VERSION, M_KIND, M_ROLLOUTS, M_STEPS, M_SCALAR_0, M_SCALAR_1, M_INTERCEPT_OF, M_LOSS,
	M_ARRAY_0, M_ARRAY_1, M_ARRAY_2, N_MEMBERS
} MemberIndex;

#define TEXT_INVALID(shape, ...) \
	ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), \
					errmsg("invalid input syntax for type %s", (shape)->type_name), \
					errdetail(__VA_ARGS__)))

static double
member_number(const Shape *shape, const char *name, const JsonbValue *json)
{
	if (json->type != jbvNumeric)
		TEXT_INVALID(shape, "\"%s\" must be a number.", name);
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(json->val.numeric)));
}

static int64
member_count(const Shape *shape, const char *name, const JsonbValue *json)
{
	double		number = member_number(shape, name, json);

	if (number < 0 || number > (double) MAX_COUNT || number != floor(number))
		TEXT_INVALID(shape, "\"%s\" must be a count.", name);
	return (int64) number;
}

static double *
member_array(const Shape *shape, const char *name, const JsonbValue *json, Size *n)
{
	JsonbContainer *container = json->type == jbvBinary ? json->val.binary.data : NULL;
	JsonbIterator *i;
	JsonbValue	element;
	JsonbIteratorToken token;
	double	   *numbers;

	if (container == NULL || !JsonContainerIsArray(container))
		TEXT_INVALID(shape, "\"%s\" must be an array of numbers.", name);
	numbers = palloc(Max(JsonContainerSize(container), 1) * sizeof(double));
	*n = 0;
	i = JsonbIteratorInit(container);
	while ((token = JsonbIteratorNext(&i, &element, true)) != WJB_DONE)
		if (token == WJB_ELEM)
		{
			numbers[(*n)++] = member_number(shape, name, &element);
			if (*n % 4096 == 0)
				CHECK_FOR_INTERRUPTS();
		}
	return numbers;
}

static bool
is_word(const JsonbValue *json, const char *word)
{
	return json->type == jbvString && json->val.string.len == strlen(word) &&
		memcmp(json->val.string.val, word, json->val.string.len) == 0;
}

/* jsonb keeps the last of several members of one name, and says nothing: these look for them. */
typedef struct MemberNames
{
	const Shape *shape;
	const char *const *names;
	bool		seen[N_MEMBERS];
	int			depth;			/* of objects; members are those of the outermost */
} MemberNames;

static JSON_CALLBACK
on_object_start(void *state)
{
	((MemberNames *) state)->depth++;
	JSON_CALLBACK_RETURN;
}

static JSON_CALLBACK
on_object_end(void *state)
{
	((MemberNames *) state)->depth--;
	JSON_CALLBACK_RETURN;
}

static JSON_CALLBACK
on_member_start(void *state, char *name, bool isnull)
{
	MemberNames *members = state;

	for (int m = 0; m < N_MEMBERS && members->depth == 1; m++)
		if (members->names[m] != NULL && strcmp(members->names[m], name) == 0)
		{
			if (members->seen[m])
				TEXT_INVALID(members->shape, "Member \"%s\" is given twice.", name);
			members->seen[m] = true;
		}
	JSON_CALLBACK_RETURN;
}

static void
refuse_duplicates(const Shape *shape, const char *const *names, const char *json)
{
	MemberNames members = {.shape = shape, .names = names};
	JsonSemAction actions = {
		.semstate = &members, .object_start = on_object_start, .object_end = on_object_end, .object_field_start = on_member_start
	};

	pg_parse_json_or_ereport(make_json_lexer(cstring_to_text(json), true), &actions);
}

/* The members of the object by their index; all must be there, and no others. */
static void
find_members(const Shape *shape, Jsonb *json, const char *const *names, JsonbValue *members)
{
	bool		seen[N_MEMBERS] = {false};
	JsonbIterator *i;
	JsonbValue	key;
	JsonbIteratorToken token;

	i = JsonbIteratorInit(&json->root);
	while ((token = JsonbIteratorNext(&i, &key, true)) != WJB_DONE)
	{
		int			m = 0;

		if (token != WJB_KEY)
			continue;
		while (m < N_MEMBERS && (names[m] == NULL || !is_word(&key, names[m])))
			m++;
		if (m == N_MEMBERS)
			TEXT_INVALID(shape, "There is no member \"%.*s\".", key.val.string.len, key.val.string.val);
		(void) JsonbIteratorNext(&i, &members[m], true);
		seen[m] = true;
	}
	for (int m = 0; m < N_MEMBERS; m++)
		if (names[m] != NULL && !seen[m])
			TEXT_INVALID(shape, "Member \"%s\" is missing.", names[m]);
}

/* What its "kind" says it is, among what the type can hold. */
static const Shape *
find_shape(Jsonb *json, ProgressType type)
{
	const Shape *first = &shapes[type == TYPE_STATISTICS ? 0 : 2];
	const Shape *found = NULL;
	JsonbValue	kind;
	JsonbValue	version;
	bool		is_version_2;

	if (!JB_ROOT_IS_OBJECT(json))
		TEXT_INVALID(first, "It must be a JSON object.");
	if (getKeyJsonValueFromContainer(&json->root, "kind", 4, &kind) == NULL)
		TEXT_INVALID(first, "Member \"kind\" is missing.");
	/* What is wrong with a version is said once the members are known. */
	is_version_2 = getKeyJsonValueFromContainer(&json->root, "version", 7, &version) != NULL &&
		version.type == jbvNumeric && member_number(first, "version", &version) == PROGRESS_VERSION_2;
	for (int i = 0; i < lengthof(shapes); i++)
		if (strcmp(shapes[i].type_name, first->type_name) == 0 && is_word(&kind, shapes[i].kind_word) &&
			(found == NULL || is_version_2))
			found = &shapes[i];
	if (found == NULL)
		TEXT_INVALID(first, "There is no such \"kind\" of it.");
	return found;
}

/* Of version 2: what is said of the intercept and of the loss, as flags. */
static uint16
member_flags(const Shape *shape, const JsonbValue *members)
{
	uint16		flags = 0;

	if (is_word(&members[M_INTERCEPT_OF], "rollout"))
		flags |= PROGRESS_OF_ROLLOUT;
	else if (!is_word(&members[M_INTERCEPT_OF], "step") && members[M_INTERCEPT_OF].type != jbvNull)
		TEXT_INVALID(shape, "\"%s\" must be \"rollout\", \"step\" or null.", INTERCEPT_OF);
	if ((members[M_INTERCEPT_OF].type == jbvNull) != (members[M_SCALAR_0 + MODEL_INTERCEPT].type == jbvNull))
		TEXT_INVALID(shape, "\"%s\" does not fit the intercept.", INTERCEPT_OF);
	if (is_word(&members[M_LOSS], "logistic"))
		flags |= PROGRESS_LOGISTIC;
	else if (!is_word(&members[M_LOSS], "squared"))
		TEXT_INVALID(shape, "\"%s\" must be \"squared\" or \"logistic\".", LOSS);
	if (shape->kind == PROGRESS_LINEAR && flags == 0)
		TEXT_INVALID(shape, "Such a model is of version 1.");
	return flags;
}

static Datum
parse(FunctionCallInfo fcinfo, ProgressType type)
{
	Jsonb	   *json = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, PG_GETARG_DATUM(0)));
	const Shape *shape = find_shape(json, type);
	const char *const names[N_MEMBERS] = {
		"version", "kind", "rollouts", "steps",
		shape->scalars[0], shape->scalars[1], is_model_of_version_2(shape) ? INTERCEPT_OF : NULL,
		is_model_of_version_2(shape) ? LOSS : NULL,
		shape->arrays[0], shape->arrays[1], shape->arrays[2]
	};
	JsonbValue	members[N_MEMBERS];
	ProgressValue *value;
	double	   *arrays[MAX_ARRAYS] = {NULL};
	Size		lengths[MAX_ARRAYS] = {0};
	Size		dimension;
	double	   *numbers;

	memset(members, 0, sizeof(members));
	find_members(shape, json, names, members);
	refuse_duplicates(shape, names, PG_GETARG_CSTRING(0));
	if (member_number(shape, "version", &members[M_VERSION]) != shape->version)
		TEXT_INVALID(shape, "This stepadv reads versions %d and %d.", PROGRESS_VERSION_1, PROGRESS_VERSION_2);
	for (int i = 0; i < MAX_ARRAYS && shape->arrays[i] != NULL; i++)
		arrays[i] = member_array(shape, shape->arrays[i], &members[M_ARRAY_0 + i], &lengths[i]);

	dimension = lengths[0];
	if (shape->kind == PROGRESS_STATISTICS && dimension > 0)
		dimension--;
	if (dimension == 0 || progress_size(shape->kind, shape->version, dimension) == 0)
		TEXT_INVALID(shape, "The lengths of its arrays do not fit.");
	value = progress_allocate(shape->kind, shape->version, dimension);
	if (is_model_of_version_2(shape))
		value->flags |= member_flags(shape, members);
	value->n_rollouts = member_count(shape, "rollouts", &members[M_ROLLOUTS]);
	value->n_steps = member_count(shape, "steps", &members[M_STEPS]);
	for (int i = 0; i < 2; i++)
	{
		if (type == TYPE_MODEL && i == MODEL_INTERCEPT)
		{
			if (members[M_SCALAR_0 + i].type == jbvNull)
				continue;
			value->flags |= PROGRESS_HAS_INTERCEPT;
		}
		value->numbers[i] = member_number(shape, shape->scalars[i], &members[M_SCALAR_0 + i]);
	}
	numbers = value->numbers + 2;
	for (int i = 0; i < MAX_ARRAYS && shape->arrays[i] != NULL; i++)
	{
		if (lengths[i] != count_entries(value, i))
			TEXT_INVALID(shape, "The lengths of its arrays do not fit.");
		memcpy(numbers, arrays[i], lengths[i] * sizeof(double));
		numbers += lengths[i];
	}
	check_value(value, ERRCODE_INVALID_TEXT_REPRESENTATION);
	PG_RETURN_POINTER(progress_seal(value));
}

Datum
stepadv_progress_model_in(PG_FUNCTION_ARGS)
{
	return parse(fcinfo, TYPE_MODEL);
}

Datum
stepadv_progress_statistics_in(PG_FUNCTION_ARGS)
{
	return parse(fcinfo, TYPE_STATISTICS);
}
