/*
 * read_call.c
 *		Reads a tool call from SQL: the tool's name, its arguments and the user's vocabulary, both as jsonb.
 *
 * Malformed calls never raise an error; an invalid vocabulary does.
 */
#include "postgres.h"

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include "compat.h"
#include "signatures/read_call.h"

/* The user's vocabulary of the last call, kept as long as it stays the same. */
typedef struct VocabularyCache
{
	MemoryContext context;
	Size		size;
	char	   *bytes;
	UserVocabulary vocabulary;
} VocabularyCache;

static Span
span_of_text(text *value)
{
	return span_make(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value));
}

static Span
span_of_string(const JsonbValue *value)
{
	return span_make(value->val.string.val, value->val.string.len);
}

static Span
span_of_numeric(const JsonbValue *value)
{
	return span_of(DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric))));
}

static Span
span_of_json(const JsonbValue *value)
{
	StringInfoData out;

	initStringInfo(&out);
	JsonbToCString(&out, value->val.binary.data, value->val.binary.len);
	return span_make(out.data, out.len);
}

/* The elements of an array as a list of words, see call_arguments.h. */
static Span
span_of_array(JsonbContainer *container)
{
	StringInfoData list;
	JsonbIterator *it = JsonbIteratorInit(container);
	JsonbIteratorToken token;
	JsonbValue	v;

	initStringInfo(&list);
	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		Span		element;

		CHECK_FOR_INTERRUPTS();
		if (token != WJB_ELEM)
			continue;
		if (v.type == jbvString)
		{
			arguments_add_quoted(&list, span_of_string(&v));
			continue;
		}
		if (v.type == jbvNumeric)
			element = span_of_numeric(&v);
		else if (v.type == jbvBool)
			element = span_of(v.val.boolean ? "true" : "false");
		else if (v.type == jbvBinary)
			element = span_of_json(&v);
		else
			element = span_of("null");
		if (list.len > 0)
			appendStringInfoChar(&list, ' ');
		appendBinaryStringInfo(&list, element.data, element.length);
	}
	return span_make(list.data, list.len);
}

static void
read_arguments(Arguments *arguments, Jsonb *args)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	v;
	Span		name = span_none();

	arguments_init(arguments, GetDatabaseEncoding() == PG_UTF8);
	if (args == NULL)
		return;
	if (!JB_ROOT_IS_OBJECT(args))
	{
		if (!JB_ROOT_IS_SCALAR(args))
		{
			arguments->text = span_of_array(&args->root);
			return;
		}
		it = JsonbIteratorInit(&args->root);
		while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
		{
			if (token != WJB_ELEM)
				continue;
			if (v.type == jbvString)
				arguments_read_text(arguments, span_of_string(&v));
			else if (v.type == jbvNumeric)
				arguments->text = span_of_numeric(&v);
		}
		return;
	}
	it = JsonbIteratorInit(&args->root);
	while ((token = JsonbIteratorNext(&it, &v, true)) != WJB_DONE)
	{
		if (token == WJB_KEY)
			name = span_of_string(&v);
		else if (token == WJB_VALUE)
		{
			switch (v.type)
			{
				case jbvString:
					arguments_add(arguments, name, span_of_string(&v));
					break;
				case jbvNumeric:
					arguments_add(arguments, name, span_of_numeric(&v));
					break;
				case jbvBool:
					arguments_add(arguments, name, span_of(v.val.boolean ? "true" : "false"));
					break;
				case jbvBinary:
					if (JsonContainerIsArray(v.val.binary.data))
						arguments_add(arguments, name, span_of_array(v.val.binary.data));
					else
						arguments_add(arguments, name, span_of_json(&v));
					break;
				default:		/* null: as if it were not there */
					break;
			}
		}
	}
}

static void
bad_vocabulary(const char *problem, const char *value, int length)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid vocabulary: %s \"%.*s\"", problem, length, value),
			 errhint("A vocabulary is an array of objects with \"tool\", \"meaning\" and optionally \"subcommand\" and \"arguments\" (an object from role to argument name), as user_vocabulary() returns it.")));
}

/* Runs in the cache's memory context. */
static void
parse_vocabulary(Jsonb *value, UserVocabulary *vocabulary)
{
	JsonbIterator *it;
	JsonbIteratorToken token;
	JsonbValue	v;
	UserEntry  *entry = NULL;
	char	   *key = NULL;
	bool		in_roles = false;

	vocabulary->n = 0;
	if (!JB_ROOT_IS_ARRAY(value) || JB_ROOT_IS_SCALAR(value))
		bad_vocabulary("not an array:", "", 0);
	vocabulary->entries = palloc0(sizeof(UserEntry) * Max(JB_ROOT_COUNT(value), 1));
	it = JsonbIteratorInit(&value->root);
	while ((token = JsonbIteratorNext(&it, &v, false)) != WJB_DONE)
	{
		switch (token)
		{
			case WJB_BEGIN_ARRAY:
				if (entry != NULL)
					bad_vocabulary("an array in", key, strlen(key));
				break;
			case WJB_BEGIN_OBJECT:
				if (entry == NULL)
					entry = &vocabulary->entries[vocabulary->n++];
				else if (!in_roles && strcmp(key, "arguments") == 0)
					in_roles = true;
				else
					bad_vocabulary("an object in", key, strlen(key));
				break;
			case WJB_END_OBJECT:
				if (in_roles)
					in_roles = false;
				else
				{
					if (entry->tool.length == 0)
						bad_vocabulary("an entry without", "tool", 4);
					if (entry->meaning == TOOL_UNKNOWN)
						bad_vocabulary("no meaning for tool", entry->tool.data, entry->tool.length);
					entry = NULL;
				}
				break;
			case WJB_KEY:
				key = pnstrdup(v.val.string.val, v.val.string.len);
				if (in_roles && role_of(span_of(key)) < 0)
					bad_vocabulary("unknown role of an argument:", key, strlen(key));
				break;
			case WJB_ELEM:
				bad_vocabulary("an element that is no object:", v.type == jbvString ? v.val.string.val : "", v.type == jbvString ? v.val.string.len : 0);
				break;
			case WJB_VALUE:
				if (v.type == jbvNull)
					break;
				if (v.type != jbvString)
					bad_vocabulary("not a string:", key, strlen(key));
				if (in_roles)
					entry->roles[role_of(span_of(key))] = span_keep(span_of_string(&v));
				else if (strcmp(key, "tool") == 0)
					entry->tool = span_keep(span_of_string(&v));
				else if (strcmp(key, "subcommand") == 0)
					entry->subcommand = span_keep(span_of_string(&v));
				else if (strcmp(key, "meaning") == 0)
				{
					entry->meaning = meaning_of(span_of_string(&v));
					if (entry->meaning == TOOL_UNKNOWN)
						bad_vocabulary("unknown meaning", v.val.string.val, v.val.string.len);
				}
				else if (strcmp(key, "scaffold") != 0)
					bad_vocabulary("unknown key", key, strlen(key));
				break;
			default:
				break;
		}
	}
}

static const UserVocabulary *
get_vocabulary(FunctionCallInfo fcinfo, Jsonb *value)
{
	VocabularyCache *cache = fcinfo->flinfo->fn_extra;
	Size		size = VARSIZE(value);
	MemoryContext caller;

	if (cache != NULL && cache->size == size && memcmp(cache->bytes, value, size) == 0)
		return &cache->vocabulary;
	if (cache == NULL)
	{
		cache = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(VocabularyCache));
		cache->context = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt, "stepadv vocabulary", ALLOCSET_SMALL_SIZES);
		fcinfo->flinfo->fn_extra = cache;
	}
	cache->size = 0;
	MemoryContextReset(cache->context);
	caller = MemoryContextSwitchTo(cache->context);
	parse_vocabulary(value, &cache->vocabulary);
	cache->bytes = palloc(size);
	memcpy(cache->bytes, value, size);
	MemoryContextSwitchTo(caller);
	cache->size = size;
	return &cache->vocabulary;
}

/* The effects of a call; arguments 0, 1 and the vocabulary are those of the SQL function. */
void
read_call(FunctionCallInfo fcinfo, int vocabulary_argument, CallResult result, Effects *effects)
{
	Span		tool = PG_ARGISNULL(0) ? span_none() : span_of_text(PG_GETARG_TEXT_PP(0));
	Jsonb	   *args = PG_ARGISNULL(1) ? NULL : PG_GETARG_JSONB_P(1);
	const UserVocabulary *vocabulary = NULL;
	Arguments	arguments;

	if (!PG_ARGISNULL(vocabulary_argument))
		vocabulary = get_vocabulary(fcinfo, PG_GETARG_JSONB_P(vocabulary_argument));
	read_arguments(&arguments, args);
	classify_call(tool, &arguments, vocabulary, result, effects);
}
