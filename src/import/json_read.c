/*
 * json_read.c
 *		Reading jsonb as the operators -> and ->> do, and writing it, for importers.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#include "arrays.h"
#include "compat.h"
#include "import/json_read.h"

bool
words_are_one_of(Words words, const char *const *list)
{
	for (; *list != NULL; list++)
		if (words_are(words, *list))
			return true;
	return false;
}

bool
words_are_same(Words a, Words b)
{
	return a.s != NULL && b.s != NULL && a.length == b.length && memcmp(a.s, b.s, a.length) == 0;
}

struct varlena *
text_of_words(Words words)
{
	return (struct varlena *) cstring_to_text_with_len(words.s, words.length);
}

bool
json_member(const JsonbValue *value, const char *key, JsonbValue *member)
{
	return json_is_object(value) && getKeyJsonValueFromContainer(value->val.binary.data, key, strlen(key), member) != NULL;
}

JsonbValue
json_root(Jsonb *json)
{
	JsonbValue	root;

	if (!JB_ROOT_IS_SCALAR(json) || !JsonbExtractScalar(&json->root, &root))
	{
		root.type = jbvBinary;
		root.val.binary.data = &json->root;
		root.val.binary.len = VARSIZE(json) - VARHDRSZ;
	}
	return root;
}

Words
json_words(const JsonbValue *value)
{
	Words		words = NO_WORDS;

	switch (value->type)
	{
		case jbvNull:
			return words;
		case jbvString:
			words.s = value->val.string.val;
			words.length = value->val.string.len;
			return words;
		case jbvNumeric:
			words.s = DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric)));
			break;
		case jbvBool:
			words.s = value->val.boolean ? "true" : "false";
			break;
		case jbvBinary:
			words.s = JsonbToCString(NULL, value->val.binary.data, value->val.binary.len);
			break;
		default:
			elog(ERROR, "unexpected jsonb value type: %d", (int) value->type);
	}
	words.length = strlen(words.s);
	return words;
}

Words
json_member_words(const JsonbValue *value, const char *key)
{
	JsonbValue	member;

	return json_member(value, key, &member) ? json_words(&member) : NO_WORDS;
}

JsonbValue *
json_elements(const JsonbValue *array, int *n)
{
	JsonbValue *elements;
	JsonbIterator *it;
	JsonbValue	element;
	JsonbIteratorToken token;

	if (!json_is_array(array))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 json_is_object(array) ? errmsg("cannot extract elements from an object") : errmsg("cannot extract elements from a scalar")));
	elements = ALLOCATE_ARRAY(JsonbValue, JsonContainerSize(array->val.binary.data));
	*n = 0;
	it = JsonbIteratorInit(array->val.binary.data);
	while ((token = JsonbIteratorNext(&it, &element, true)) != WJB_DONE)
		if (token == WJB_ELEM)
			elements[(*n)++] = element;
	return elements;
}

void
push_key(JsonWriter *state, const char *key)
{
	JsonbValue	name;

	name.type = jbvString;
	name.val.string.val = (char *) key;
	name.val.string.len = strlen(key);
	push_json(state, WJB_KEY, &name);
}

void
push_value(JsonWriter *state, const char *key, JsonbValue *value)
{
	push_key(state, key);
	push_json(state, WJB_VALUE, value);
}

void
push_words(JsonWriter *state, const char *key, Words words)
{
	JsonbValue	value;

	value.type = jbvNull;
	if (words.s != NULL)
	{
		value.type = jbvString;
		value.val.string.val = (char *) words.s;
		value.val.string.len = words.length;
	}
	push_value(state, key, &value);
}

void
push_integer(JsonWriter *state, const char *key, int64 number)
{
	JsonbValue	value;

	value.type = jbvNumeric;
	value.val.numeric = int64_to_numeric(number);
	push_value(state, key, &value);
}

void
push_boolean(JsonWriter *state, const char *key, bool flag)
{
	JsonbValue	value;

	value.type = jbvBool;
	value.val.boolean = flag;
	push_value(state, key, &value);
}

Jsonb *
jsonb_of(JsonbValue *value)
{
	Jsonb	   *json;

	if (value->type != jbvBinary)
		return JsonbValueToJsonb(value);
	json = palloc(value->val.binary.len + VARHDRSZ);
	SET_VARSIZE(json, value->val.binary.len + VARHDRSZ);
	memcpy(VARDATA(json), value->val.binary.data, value->val.binary.len);
	return json;
}
