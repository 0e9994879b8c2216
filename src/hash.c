/*
 * hash.c
 *		signature_hash(text | bytea | jsonb | uuid) -> bigint, signature_hash(bigint, bigint) -> bigint
 *
 * The identity of a state, an action, or an id of another type.  NULL gives NULL.  The only errors are those of
 * detoasting and encoding conversion.
 */
#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"
#include "utils/uuid.h"

#include "compat.h"
#include "hash.h"
#include "jsonb_hash.h"

PG_FUNCTION_INFO_V1(stepadv_signature_hash_text);
PG_FUNCTION_INFO_V1(stepadv_signature_hash_bytea);
PG_FUNCTION_INFO_V1(stepadv_signature_hash_jsonb);
PG_FUNCTION_INFO_V1(stepadv_signature_hash_uuid);
PG_FUNCTION_INFO_V1(stepadv_signature_hash_pair);

int64
hash_of_text(const char *bytes, int length)
{
	if (GetDatabaseEncoding() != PG_UTF8)
	{
		char	   *utf8 = pg_server_to_any(bytes, length, PG_UTF8);

		if (utf8 != bytes)
			return hash_bytes_64(utf8, strlen(utf8));
	}
	return hash_bytes_64(bytes, length);
}

Datum
stepadv_signature_hash_text(PG_FUNCTION_ARGS)
{
	text	   *value = PG_GETARG_TEXT_PP(0);

	PG_RETURN_INT64(hash_of_text(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)));
}

Datum
stepadv_signature_hash_bytea(PG_FUNCTION_ARGS)
{
	bytea	   *value = PG_GETARG_BYTEA_PP(0);

	PG_RETURN_INT64(hash_bytes_64(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)));
}

Datum
stepadv_signature_hash_uuid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(hash_bytes_64(PG_GETARG_UUID_P(0)->data, UUID_LEN));
}

Datum
stepadv_signature_hash_pair(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(hash_of_pair(PG_GETARG_INT64(0), PG_GETARG_INT64(1)));
}

/* A length-prefixed string, so that different token streams have different bytes. */
static void
append_token(StringInfo canonical, char kind, const char *bytes, int length)
{
	uint32		le_length = (uint32) length;

#ifdef WORDS_BIGENDIAN
	le_length = pg_bswap32(le_length);
#endif
	appendStringInfoChar(canonical, kind);
	appendBinaryStringInfo(canonical, (char *) &le_length, sizeof(le_length));
	appendBinaryStringInfo(canonical, bytes, length);
}

static void
append_string(StringInfo canonical, char kind, const char *bytes, int length)
{
	char	   *utf8 = pg_server_to_any(bytes, length, PG_UTF8);

	append_token(canonical, kind, utf8, utf8 == bytes ? length : strlen(utf8));
}

static void
append_scalar(StringInfo canonical, const JsonbValue *v)
{
	char	   *digits;

	switch (v->type)
	{
		case jbvNull:
			appendStringInfoChar(canonical, 'n');
			break;
		case jbvBool:
			appendStringInfoChar(canonical, v->val.boolean ? 't' : 'f');
			break;
		case jbvString:
			append_string(canonical, 's', v->val.string.val, v->val.string.len);
			break;
		case jbvNumeric:
			digits = numeric_normalize(v->val.numeric);
			append_token(canonical, '#', digits, strlen(digits));
			break;
		default:
			elog(ERROR, "unexpected jsonb value of type %d", (int) v->type);
	}
}

/*
 * Hash jsonb as a canonical stream of tokens, not as stored: the storage format may change between servers,
 * and distinguishes 1.0 from 1. jsonb itself has sorted keys and removed duplicates.
 */
static void
append_tokens(StringInfo canonical, JsonbContainer *value)
{
	JsonbIterator *it = JsonbIteratorInit(value);
	JsonbIteratorToken token;
	JsonbValue	v;

	while ((token = JsonbIteratorNext(&it, &v, false)) != WJB_DONE)
	{
		CHECK_FOR_INTERRUPTS();
		switch (token)
		{
			case WJB_BEGIN_ARRAY:
				/* A scalar jsonb is stored as an array of one element. */
				appendStringInfoChar(canonical, v.val.array.rawScalar ? '$' : '[');
				break;
			case WJB_BEGIN_OBJECT:
				appendStringInfoChar(canonical, '{');
				break;
			case WJB_END_ARRAY:
				appendStringInfoChar(canonical, ']');
				break;
			case WJB_END_OBJECT:
				appendStringInfoChar(canonical, '}');
				break;
			case WJB_KEY:
				append_string(canonical, 'k', v.val.string.val, v.val.string.len);
				break;
			default:
				append_scalar(canonical, &v);
		}
	}
}

Datum
stepadv_signature_hash_jsonb(PG_FUNCTION_ARGS)
{
	Jsonb	   *value = PG_GETARG_JSONB_P(0);
	StringInfoData canonical;

	initStringInfo(&canonical);
	append_tokens(&canonical, &value->root);
	PG_RETURN_INT64(hash_bytes_64(canonical.data, canonical.len));
}

/* Within an array, a scalar has no array of its own. */
int64
hash_of_tool_call(const char *tool, int tool_length, Jsonb *args)
{
	StringInfoData canonical;
	JsonbValue	scalar = {.type = jbvNull};
	int64		hash;

	initStringInfo(&canonical);
	appendStringInfoChar(&canonical, '[');
	append_string(&canonical, 's', tool, tool_length);
	if (args != NULL && !JB_ROOT_IS_SCALAR(args))
		append_tokens(&canonical, &args->root);
	else
	{
		if (args != NULL)
			(void) JsonbExtractScalar(&args->root, &scalar);
		append_scalar(&canonical, &scalar);
	}
	appendStringInfoChar(&canonical, ']');
	hash = hash_bytes_64(canonical.data, canonical.len);
	pfree(canonical.data);
	return hash;
}
