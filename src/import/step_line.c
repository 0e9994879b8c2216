/*
 * step_line.c
 *		Lines of JSON, one step each, as the columns of rollouts and steps.
 *
 * Only lines of which it is plain that step_of_json would give them a row: of the
 * others it is to be asked, and problem_of_json where it gives none.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "arrays.h"
#include "compat.h"
#include "import/json_array.h"
#include "import/json_read.h"
#include "import/latin1.h"
#include "import/step_line.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_read_lines);

extern Datum stepadv_signature_hash_jsonb(PG_FUNCTION_ARGS);

/* What a value must be to be plain. */
typedef enum Wanted
{
	NAME,						/* string or number */
	STRING,
	TEXT,						/* what is no string is text as it is written */
	WHOLE_NUMBER,
	WHOLE_BIGINT,
	NUMBER,
	ABOVE_ZERO,
	TRUTH,
	CHANNEL,
	TIME,
	ANY,
	WHOLE_NUMBERS,				/* a list */
	TRUTHS,
	REALS,
	IGNORED
} Wanted;

static const struct
{
	const char *name;
	Wanted		wanted;
}			keys[] = {
	{"group_id", NAME}, {"rollout_id", NAME}, {"step_no", WHOLE_NUMBER}, {"turn", WHOLE_NUMBER}, {"observation", TEXT}, {"next_observation", TEXT},
	{"action", TEXT}, {"tool", STRING}, {"args", ANY}, {"ok", TRUTH}, {"reward", NUMBER}, {"turn_reward", NUMBER}, {"value", NUMBER}, {"cost", ABOVE_ZERO},
	{"prompt_token_ids", WHOLE_NUMBERS}, {"response_token_ids", WHOLE_NUMBERS}, {"response_mask", TRUTHS}, {"rollout_logprobs", REALS},
	{"outcome", NUMBER}, {"success", TRUTH}, {"truncated", TRUTH}, {"policy_version", NAME}, {"model", STRING}, {"channel", CHANNEL}, {"curation", STRING},
	{"started_at", TIME}, {"ended_at", TIME}, {"task_id", NAME}, {"run_id", NAME}, {"policy_step", WHOLE_BIGINT}, {"tags", ANY},
	{"meta", IGNORED}, {"terminal", IGNORED}
};

StaticAssertDecl(lengthof(keys) == LINE_METADATA, "a column for each key");

struct LineReader
{
	int			lengths[LINE_METADATA];	/* of the names */
	int			places[N_LINE_COLUMNS];	/* in the row; -1: none */
	int			n_columns;
	Datum	   *values;
	bool	   *nulls;
	MemoryContext parsing;
};

/* ----------
 * Values
 * ----------
 */

static Datum
input(PGFunction function, Words words, Oid type)
{
	return DirectFunctionCall3(function, CStringGetDatum(pnstrdup(words.s, words.length)), ObjectIdGetDatum(type), Int32GetDatum(-1));
}

/* A value that is not null as the column's; false: not plain. */
static bool
read_value(JsonbValue *value, Wanted wanted, Datum *datum, bool *isnull)
{
	Words		words;

	*isnull = false;
	switch (wanted)
	{
		case NAME:
			if (value->type != jbvString && value->type != jbvNumeric)
				return false;
			break;
		case STRING:
		case CHANNEL:
		case TIME:
			if (value->type != jbvString)
				return false;
			break;
		case NUMBER:
		case ABOVE_ZERO:
			if (value->type != jbvNumeric)
				return false;
			*datum = DirectFunctionCall1(numeric_float8, NumericGetDatum(value->val.numeric));
			return wanted == NUMBER || DatumGetFloat8(*datum) > 0;
		case TRUTH:
			if (value->type != jbvBool)
				return false;
			*datum = BoolGetDatum(value->val.boolean);
			return true;
		case ANY:
			*datum = JsonbPGetDatum(jsonb_of(value));
			return true;
		case WHOLE_NUMBERS:
		case TRUTHS:
		case REALS:
			if (!json_is_array(value))
				return false;
			*isnull = JsonContainerSize(value->val.binary.data) == 0;
			return *isnull || json_array_datum(value, wanted == WHOLE_NUMBERS ? INT4OID : wanted == TRUTHS ? BOOLOID : FLOAT4OID, datum);
		case IGNORED:
			*isnull = true;
			return true;
		case WHOLE_NUMBER:
		case WHOLE_BIGINT:
			if (value->type != jbvNumeric)
				return false;
			break;
		case TEXT:
			break;
	}
	words = json_words(value);
	if (wanted == WHOLE_NUMBER || wanted == WHOLE_BIGINT)
	{
		if (!is_whole_number(words, wanted == WHOLE_NUMBER ? 9 : 18))
			return false;
		*datum = wanted == WHOLE_NUMBER ? Int32GetDatum(atoi(words.s)) : Int64GetDatum(atoll(words.s));
	}
	else if (wanted == TIME)
		*datum = input(timestamptz_in, words, TIMESTAMPTZOID);
	else
		*datum = PointerGetDatum(text_of_words(words));
	return wanted != CHANNEL || words_are(words, "train") || words_are(words, "validation");
}

/* ----------
 * Lines
 * ----------
 */

static int
key_of(const LineReader *reader, const JsonbValue *name)
{
	for (int k = 0; k < LINE_METADATA; k++)
		if (reader->lengths[k] == name->val.string.len && memcmp(keys[k].name, name->val.string.val, name->val.string.len) == 0)
			return k;
	return -1;
}

static void
set(LineReader *reader, int column, Datum value)
{
	if (reader->places[column] >= 0)
	{
		reader->values[reader->places[column]] = value;
		reader->nulls[reader->places[column]] = false;
	}
}

/* The members of the line's meta, if it is an object. */
static void
push_meta(JsonWriter *state, JsonbValue *meta)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	member;

	if (meta->type != jbvNull && !json_is_object(meta))
		push_value(state, "meta", meta);
	if (!json_is_object(meta))
		return;
	it = JsonbIteratorInit(meta->val.binary.data);
	while ((token = JsonbIteratorNext(&it, &member, true)) != WJB_DONE)
		if (token == WJB_KEY || token == WJB_VALUE)
			push_json(state, token, &member);
}

static bool
lengths_agree(const LineReader *reader, LineColumn a, LineColumn b)
{
	Datum		arrays[2];
	const LineColumn columns[] = {a, b};

	for (int i = 0; i < 2; i++)
	{
		if (reader->nulls[reader->places[columns[i]]])
			return true;
		arrays[i] = reader->values[reader->places[columns[i]]];
	}
	return ARR_DIMS(DatumGetArrayTypeP(arrays[0]))[0] == ARR_DIMS(DatumGetArrayTypeP(arrays[1]))[0];
}

/* The object's members; what has no column is put with its meta. */
static bool
read_members(LineReader *reader, const JsonbValue *line)
{
	JsonbIterator *it = JsonbIteratorInit(line->val.binary.data);
	JsonbIteratorToken token;
	JsonWriter rest = {0};
	JsonbValue	meta = {.type = jbvNull};
	JsonbValue	name;
	JsonbValue	value;
	bool		has_rest = false;

	(void) json_member(line, "meta", &meta);
	while ((token = JsonbIteratorNext(&it, &name, true)) != WJB_DONE)
	{
		int			k;
		Datum		datum = (Datum) 0;
		bool		isnull = false;

		if (token != WJB_KEY)
			continue;
		(void) JsonbIteratorNext(&it, &value, true);
		k = key_of(reader, &name);
		if (k < 0)
		{
			if (!has_rest)
			{
				has_rest = true;
				push_json(&rest, WJB_BEGIN_OBJECT, NULL);
				push_meta(&rest, &meta);
			}
			push_json(&rest, WJB_KEY, &name);
			push_json(&rest, WJB_VALUE, &value);
		}
		else if (value.type != jbvNull)
		{
			if (!read_value(&value, keys[k].wanted, &datum, &isnull))
				return false;
			if (!isnull)
				set(reader, k, datum);
		}
	}
	if (has_rest)
		set(reader, LINE_METADATA, JsonbPGetDatum(JsonbValueToJsonb(end_json(&rest, WJB_END_OBJECT))));
	else if (meta.type != jbvNull)
		set(reader, LINE_METADATA, JsonbPGetDatum(jsonb_of(&meta)));
	return true;
}

/* Which model it was may stand in meta. */
static void
find_model(LineReader *reader, const JsonbValue *line)
{
	JsonbValue	meta;
	Words		model;

	if (!reader->nulls[reader->places[LINE_MODEL]] || !json_member(line, "meta", &meta))
		return;
	model = json_member_words(&meta, "model");
	if (model.s != NULL)
		set(reader, LINE_MODEL, PointerGetDatum(text_of_words(model)));
}

static bool
read_object(LineReader *reader, Jsonb *json)
{
	JsonbValue	line = json_root(json);

	if (!json_is_object(&line) || !read_members(reader, &line))
		return false;
	find_model(reader, &line);
	set(reader, LINE_NUL_REPLACED, Int32GetDatum(0));
	/* To tell a repeated line from a contradicting one. */
	if (reader->places[LINE_CONTENT] >= 0)
		set(reader, LINE_CONTENT, DirectFunctionCall1(stepadv_signature_hash_jsonb, JsonbPGetDatum(json)));
	return lengths_agree(reader, LINE_RESPONSE_MASK, LINE_RESPONSE_TOKEN_IDS) && lengths_agree(reader, LINE_ROLLOUT_LOGPROBS, LINE_RESPONSE_TOKEN_IDS) &&
		!reader->nulls[reader->places[LINE_ROLLOUT_ID]];
}

/* The line as JSON; bytes that came as LATIN1 are read as UTF-8. */
static Jsonb *
json_of_line(Datum line, bool is_latin1)
{
	char	   *words = TextDatumGetCString(line);

	if (is_latin1)
		words = (char *) utf8_of_latin1((Words) {words, strlen(words)}).s;
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(words)));
}

static LineReader *
begin_reading(int n_columns)
{
	LineReader *reader = palloc(sizeof(LineReader));

	reader->n_columns = n_columns;
	reader->values = ALLOCATE_ARRAY(Datum, n_columns);
	reader->nulls = ALLOCATE_ARRAY(bool, n_columns);
	reader->parsing = AllocSetContextCreate(CurrentMemoryContext, "stepadv line", ALLOCSET_DEFAULT_SIZES);
	for (int c = 0; c < LINE_METADATA; c++)
		reader->lengths[c] = strlen(keys[c].name);
	return reader;
}

/* Columns of a row by their names. */
static LineReader *
begin_reading_rows(TupleDesc desc)
{
	static const char *const others[] = {"metadata", "nul_replaced", "content"};
	LineReader *reader = begin_reading(desc->natts);

	for (int c = 0; c < N_LINE_COLUMNS; c++)
	{
		const char *name = c < LINE_METADATA ? keys[c].name : others[c - LINE_METADATA];

		reader->places[c] = -1;
		for (int i = 0; i < desc->natts; i++)
			if (strcmp(NameStr(TupleDescAttr(desc, i)->attname), name) == 0)
				reader->places[c] = i;
	}
	return reader;
}

LineReader *
begin_reading_lines(void)
{
	LineReader *reader = begin_reading(N_LINE_COLUMNS);

	for (int c = 0; c < N_LINE_COLUMNS; c++)
		reader->places[c] = c == LINE_CONTENT ? -1 : c;
	return reader;
}

bool
read_line(LineReader *reader, Datum line, bool is_latin1, Datum **values, bool **nulls)
{
	MemoryContext caller = MemoryContextSwitchTo(reader->parsing);
	Jsonb	   *json = json_of_line(line, is_latin1);
	bool		is_plain;

	MemoryContextSwitchTo(caller);
	memset(reader->nulls, true, reader->n_columns * sizeof(bool));
	is_plain = read_object(reader, json);
	MemoryContextReset(reader->parsing);
	*values = reader->values;
	*nulls = reader->nulls;
	return is_plain;
}

/*
 * read_lines(lines text[], is_latin1 boolean): a row for each, which is all NULL
 * for one that is not plain
 */
Datum
stepadv_read_lines(PG_FUNCTION_ARGS)
{
	Tuplestorestate *rows = begin_rows(fcinfo, ANY_COLUMNS);
	TupleDesc	desc = ((ReturnSetInfo *) fcinfo->resultinfo)->expectedDesc;
	MemoryContext caller = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(caller, "stepadv line's values", ALLOCSET_DEFAULT_SIZES);
	LineReader *reader = begin_reading_rows(desc);
	Datum	   *lines;
	Datum	   *values;
	bool	   *nulls;
	int			n;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT, &lines, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextSwitchTo(context);
		if (!read_line(reader, lines[i], PG_GETARG_BOOL(1), &values, &nulls))
			memset(nulls, true, desc->natts * sizeof(bool));
		tuplestore_putvalues(rows, desc, values, nulls);
		MemoryContextSwitchTo(caller);
		MemoryContextReset(context);
	}
	return (Datum) 0;
}
