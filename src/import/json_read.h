/*
 * json_read.h
 *		Reading jsonb as the operators -> and ->> do, and writing it, for importers.
 */
#ifndef STEPADV_JSON_READ_H
#define STEPADV_JSON_READ_H

#include "lib/stringinfo.h"
#include "utils/jsonb.h"

#include "compat.h"

/* Text somewhere else's; s is NULL for SQL's NULL. */
typedef struct Words
{
	const char *s;
	int			length;
} Words;

#define NO_WORDS ((Words) {NULL, 0})
#define WORDS(literal) ((Words) {literal, sizeof(literal) - 1})

static inline bool
words_are(Words words, const char *s)
{
	return words.s != NULL && words.length == strlen(s) && memcmp(words.s, s, words.length) == 0;
}

/* Is it one of a list that NULL ends? */
extern bool words_are_one_of(Words words, const char *const *list);
extern bool words_are_same(Words a, Words b);
extern struct varlena *text_of_words(Words words);

/* value -> key; false for SQL's NULL. */
extern bool json_member(const JsonbValue *value, const char *key, JsonbValue *member);
extern JsonbValue json_root(Jsonb *json);
static inline bool
json_is_array(const JsonbValue *value)
{
	return value->type == jbvBinary && JsonContainerIsArray(value->val.binary.data);
}

static inline bool
json_is_object(const JsonbValue *value)
{
	return value->type == jbvBinary && JsonContainerIsObject(value->val.binary.data);
}

/* The value as one of its own; an object or array without going through its members. */
extern Jsonb *jsonb_of(JsonbValue *value);

/* #>> '{}', and value ->> key. */
extern Words json_words(const JsonbValue *value);
extern Words json_member_words(const JsonbValue *value, const char *key);

/* Elements of an array as jsonb_array_elements gives them, its error included. */
extern JsonbValue *json_elements(const JsonbValue *array, int *n);

/* JSON that is being written, and the value once it is complete. */
typedef struct JsonWriter
{
	JSONB_STATE state;
	JsonbValue *complete;
} JsonWriter;

static inline void
push_json(JsonWriter *writer, JsonbIteratorToken token, JsonbValue *value)
{
	push_jsonb(&writer->state, token, value, &writer->complete);
}

static inline JsonbValue *
end_json(JsonWriter *writer, JsonbIteratorToken token)
{
	push_json(writer, token, NULL);
	return writer->complete;
}

/* Members of an object that is being written; words without text are null. */
extern void push_key(JsonWriter *state, const char *key);
extern void push_words(JsonWriter *state, const char *key, Words words);
extern void push_value(JsonWriter *state, const char *key, JsonbValue *value);
extern void push_integer(JsonWriter *state, const char *key, int64 number);
extern void push_boolean(JsonWriter *state, const char *key, bool flag);

#endif							/* STEPADV_JSON_READ_H */
