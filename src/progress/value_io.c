/*
 * value_io.c
 *		Text and binary form of progress_model.
 *
 * Text: a JSON object, of which "places" is there if the kind is sparse.
 *
 *	{"version": 1, "kind": "linear", "loss": "squared", "rollouts": 2, "steps": 5,
 *	 "lambda": 0.1, "intercept": 0.25, "weights": [0.5, -1], "places": [3, 7]}
 *
 * Binary: the bytes of the model after its length word, little-endian.  Both are
 * lossless; whatever the functions could not have made is refused: 22P02 for
 * text, 22P03 for binary.
 */
#include "postgres.h"

#include <math.h>

#include "common/shortest_dec.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "compat.h"
#include "hex.h"
#include "progress/value.h"

PG_FUNCTION_INFO_V1(stepadv_progress_model_in);
PG_FUNCTION_INFO_V1(stepadv_progress_model_out);
PG_FUNCTION_INFO_V1(stepadv_progress_model_recv);

/* Up to where every integer is a double, as the numbers of a text are. */
#define MAX_COUNT INT64CONST(9007199254740992)

static _Noreturn pg_noinline void
refuse_text(const char *detail, const char *member)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid progress_model"),
			 errdetail_internal(detail, member)));
}

/* What no function of ours would have made. */
static void
check_model(const ProgressModel *model, int sqlstate)
{
	const char *problem = NULL;
	uint32		n = MODEL_WEIGHTS + (model->kind == PROGRESS_SPARSE ? 2 : 1) * model->dimension;
	const double *place = model->numbers + MODEL_PLACES(model);

	for (uint32 i = 0; i < n; i++)
	{
		if (!isfinite(model->numbers[i]))
			problem = "A number in it is not finite.";
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	for (uint32 i = 0; i < model->dimension && model->kind == PROGRESS_SPARSE; i++)
		if (!(place[i] > (i == 0 ? 0 : place[i - 1])) || place[i] > MOST_PLACES || place[i] != floor(place[i]))
			problem = "Its places do not ascend from 1.";
	if (model->n_rollouts < 1 || model->n_steps < model->n_rollouts || model->n_steps > MAX_COUNT)
		problem = "It must be of at least one rollout, and of no fewer steps than rollouts.";
	else if (model->numbers[MODEL_LAMBDA] < 0)
		problem = "Its lambda is negative.";
	if (problem != NULL)
		ereport(ERROR,
				(errcode(sqlstate),
				 errmsg("invalid progress_model"),
				 errdetail_internal("%s", problem)));
}

/* ----------
 * Binary
 * ----------
 */

Datum
stepadv_progress_model_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buffer = (StringInfo) PG_GETARG_POINTER(0);
	int			length = buffer->len - buffer->cursor;
	ProgressModel *model;

	model = progress_open(varlena_of_bytes(pq_getmsgbytes(buffer, length), length), ERRCODE_INVALID_BINARY_REPRESENTATION);
	check_model(model, ERRCODE_INVALID_BINARY_REPRESENTATION);
	PG_RETURN_POINTER(progress_seal(model));
}

/* ----------
 * Text
 * ----------
 */

static void
append_numbers(StringInfo out, const char *before, const double *numbers, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		char		digits[DOUBLE_SHORTEST_DECIMAL_LEN];

		appendStringInfoString(out, i == 0 ? before : ", ");
		appendBinaryStringInfo(out, digits, double_to_shortest_decimal_bufn(numbers[i], digits));
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
}

Datum
stepadv_progress_model_out(PG_FUNCTION_ARGS)
{
	const ProgressModel *model = progress_open(PG_GETARG_VARLENA_P(0), ERRCODE_DATA_CORRUPTED);
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfo(&out, "{\"version\": %d, \"kind\": \"%s\", \"loss\": \"%s\", \"rollouts\": " INT64_FORMAT
					 ", \"steps\": " INT64_FORMAT, model->version, model->kind == PROGRESS_SPARSE ? "sparse" : "linear",
					 (model->flags & PROGRESS_LOGISTIC) != 0 ? "logistic" : "squared", model->n_rollouts, model->n_steps);
	append_numbers(&out, ", \"lambda\": ", model->numbers + MODEL_LAMBDA, 1);
	append_numbers(&out, ", \"intercept\": ", model->numbers + MODEL_INTERCEPT, 1);
	append_numbers(&out, ", \"weights\": [", model->numbers + MODEL_WEIGHTS, model->dimension);
	if (model->kind == PROGRESS_SPARSE)
		append_numbers(&out, "], \"places\": [", model->numbers + MODEL_PLACES(model), model->dimension);
	appendStringInfoString(&out, "]}");
	PG_RETURN_CSTRING(out.data);
}

static JsonbValue *
member(Jsonb *json, const char *name)
{
	JsonbValue *value = getKeyJsonValueFromContainer(&json->root, name, strlen(name), NULL);

	if (value == NULL)
		refuse_text("Member \"%s\" is missing.", name);
	return value;
}

static double
number_of(const JsonbValue *value, const char *name)
{
	if (value->type != jbvNumeric)
		refuse_text("\"%s\" must be a number, or an array of numbers.", name);
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(value->val.numeric)));
}

static int64
count_of(Jsonb *json, const char *name)
{
	double		number = number_of(member(json, name), name);

	if (number < 0 || number > MAX_COUNT || number != floor(number))
		refuse_text("\"%s\" must be a count.", name);
	return (int64) number;
}

/* Is it the second of two words, and not the first? */
static bool
is_second_word(Jsonb *json, const char *name, const char *first, const char *second)
{
	const JsonbValue *value = member(json, name);

	if (value->type == jbvString && value->val.string.len == strlen(second) &&
		memcmp(value->val.string.val, second, value->val.string.len) == 0)
		return true;
	if (value->type != jbvString || value->val.string.len != strlen(first) ||
		memcmp(value->val.string.val, first, value->val.string.len) != 0)
		refuse_text("There is no such \"%s\".", name);
	return false;
}

static JsonbContainer *
array_of(Jsonb *json, const char *name)
{
	JsonbValue *value = member(json, name);

	if (value->type != jbvBinary || !JsonContainerIsArray(value->val.binary.data))
		refuse_text("\"%s\" must be a number, or an array of numbers.", name);
	return value->val.binary.data;
}

static void
read_numbers(JsonbContainer *array, const char *name, double *numbers, uint32 n)
{
	JsonbIterator *i = JsonbIteratorInit(array);
	JsonbValue	element;
	uint32		at = 0;
	JsonbIteratorToken token;

	if (JsonContainerSize(array) != n)
		refuse_text("The length of \"%s\" is another than that of the weights.", name);
	while ((token = JsonbIteratorNext(&i, &element, true)) != WJB_DONE)
		if (token == WJB_ELEM)
		{
			numbers[at++] = number_of(&element, name);
			if (at % 4096 == 0)
				CHECK_FOR_INTERRUPTS();
		}
}

Datum
stepadv_progress_model_in(PG_FUNCTION_ARGS)
{
	Jsonb	   *json = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, PG_GETARG_DATUM(0)));
	JsonbContainer *weights;
	ProgressModel *model;
	bool		sparse;

	if (!JB_ROOT_IS_OBJECT(json))
		refuse_text("%s", "It must be a JSON object.");
	if (number_of(member(json, "version"), "version") != PROGRESS_VERSION)
		refuse_text("%s", "It is of another version.");
	sparse = is_second_word(json, "kind", "linear", "sparse");
	if (JB_ROOT_COUNT(json) != (sparse ? 9 : 8))
		refuse_text("%s", "It has other members than such a model.");
	weights = array_of(json, "weights");
	if (JsonContainerSize(weights) == 0)
		refuse_text("%s", "It has no weights.");
	model = progress_allocate(sparse ? PROGRESS_SPARSE : PROGRESS_LINEAR, JsonContainerSize(weights));
	model->flags = is_second_word(json, "loss", "squared", "logistic") ? PROGRESS_LOGISTIC : 0;
	model->n_rollouts = count_of(json, "rollouts");
	model->n_steps = count_of(json, "steps");
	model->numbers[MODEL_LAMBDA] = number_of(member(json, "lambda"), "lambda");
	model->numbers[MODEL_INTERCEPT] = number_of(member(json, "intercept"), "intercept");
	read_numbers(weights, "weights", model->numbers + MODEL_WEIGHTS, model->dimension);
	if (sparse)
		read_numbers(array_of(json, "places"), "places", model->numbers + MODEL_PLACES(model), model->dimension);
	check_model(model, ERRCODE_INVALID_TEXT_REPRESENTATION);
	PG_RETURN_POINTER(progress_seal(model));
}
