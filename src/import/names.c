/*
 * names.c
 *		Ids that importers make of files' names and of content.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "compat.h"
#include "import/names.h"

PG_FUNCTION_INFO_V1(stepadv_import_names);

extern Datum stepadv_signature_hash_jsonb(PG_FUNCTION_ARGS);

static const char *const endings[] = {".gz", ".traj", ".json", ".jsonl", ".ndjson", ".txt", ".log", NULL};

/* What follows the last slash; the path is shortened to what is before it. */
static Words
last_part(Words *path)
{
	Words		part;
	int			begin = path->length;

	while (begin > 0 && path->s[begin - 1] != '/')
		begin--;
	part.s = path->s + begin;
	part.length = path->length - begin;
	path->length = Max(begin - 1, 0);
	return part;
}

static Words
without_endings(Words name)
{
	for (int i = 0; endings[i] != NULL; i++)
	{
		int			length = strlen(endings[i]);

		if (name.length >= length && pg_strncasecmp(name.s + name.length - length, endings[i], length) == 0)
		{
			name.length -= length;
			i = -1;
		}
	}
	return name;
}

static Words
without_first_slashes(Words path)
{
	while (path.length > 0 && path.s[0] == '/')
	{
		path.s++;
		path.length--;
	}
	return path;
}

/* What is behind the last part "." of a path, if there is one. */
static bool
behind_mark(Words *path)
{
	for (int i = path->length; i > 0; i--)
	{
		if (path->s[i - 1] != '.' || (i > 1 && path->s[i - 2] != '/') || (i < path->length && path->s[i] != '/'))
			continue;
		i = Min(i + 1, path->length);
		path->s += i;
		path->length -= i;
		return true;
	}
	return false;
}

/*
 * What tells a file's rollout from those of others: directory--base.  A directory
 * with one file of its name says nothing, the one above does.  Where a part "." says
 * so, all that is behind it: directory/directory--base.
 */
static Words
with_directory(Words path, Words base)
{
	StringInfoData name;
	bool		is_marked = behind_mark(&path);
	Words		directories = path;
	bool		has_directory = path.length > 0;
	Words		directory = last_part(&path);

	if (has_directory && words_are_same(directory, base))
	{
		has_directory = path.length > 0;
		directory = last_part(&path);
	}
	if (is_marked && has_directory)
	{
		directories.length = directory.s + directory.length - directories.s;
		directory = directories;
	}
	initStringInfo(&name);
	if (has_directory)
	{
		appendBinaryStringInfo(&name, directory.s, directory.length);
		appendStringInfoString(&name, "--");
	}
	appendBinaryStringInfo(&name, base.s, base.length);
	return (Words) {name.data, name.len};
}

Words
name_of_path(Words path)
{
	Words		base;

	if (path.s == NULL)
		return path;
	path = without_first_slashes(path);
	if (path.length == 0)
		return NO_WORDS;
	base = without_endings(last_part(&path));
	return with_directory(path, base);
}

Words
digest_of(JsonbValue *value)
{
	Jsonb	   *json = value->type == jbvBinary ? palloc(value->val.binary.len + VARHDRSZ) : JsonbValueToJsonb(value);
	int64		hash;
	char	   *digits;

	if (value->type == jbvBinary)
	{
		SET_VARSIZE(json, value->val.binary.len + VARHDRSZ);
		memcpy(VARDATA(json), value->val.binary.data, value->val.binary.len);
	}
	hash = DatumGetInt64(DirectFunctionCall1(stepadv_signature_hash_jsonb, JsonbPGetDatum(json)));
	pfree(json);
	digits = psprintf("%llx", (unsigned long long) hash);
	return (Words) {digits, strlen(digits)};
}

/* import_names(source text, OUT base text, OUT rollout text) */
Datum
stepadv_import_names(PG_FUNCTION_ARGS)
{
	text	   *source = PG_GETARG_TEXT_PP(0);
	Words		path = without_first_slashes((Words) {VARDATA_ANY(source), VARSIZE_ANY_EXHDR(source)});
	TupleDesc	desc;
	Datum		values[2];
	bool		nulls[2] = {path.length == 0, false};
	Words		base;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	base = without_endings(last_part(&path));
	values[0] = PointerGetDatum(text_of_words(base));
	values[1] = PointerGetDatum(text_of_words(with_directory(path, base)));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
