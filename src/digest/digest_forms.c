/*
 * digest_forms.c
 *		Input and output of group_digest: its bytes, in hexadecimal or binary form; and of labelled_calls,
 *		which has neither.
 *
 * Input is accepted if writing its contents gives the same bytes.
 */
#include "postgres.h"

#include "fmgr.h"
#include "libpq/pqformat.h"

#include "digest/bytes.h"
#include "hex.h"

PG_FUNCTION_INFO_V1(stepadv_group_digest_in);
PG_FUNCTION_INFO_V1(stepadv_group_digest_out);
PG_FUNCTION_INFO_V1(stepadv_group_digest_recv);
PG_FUNCTION_INFO_V1(stepadv_refuse_labelled_calls);

/* Returns the value if it is valid, else raises an error. */
static GroupDigest *
checked(GroupDigest *datum, int sqlerrcode)
{
	DigestReader reader = {.sqlerrcode = sqlerrcode};
	Digest		digest;
	GroupDigest *again;

	digest_init(&digest, CurrentMemoryContext, ALL_PARTS);
	digest_add(&digest, datum, sqlerrcode);
	again = digest_write(&digest);
	if (VARSIZE(again) != VARSIZE(datum) || memcmp(again, datum, VARSIZE(datum)) != 0)
		refuse_digest(&reader);
	pfree(again);
	return datum;
}

Datum
stepadv_group_digest_in(PG_FUNCTION_ARGS)
{
	struct varlena *value = varlena_of_hex(PG_GETARG_CSTRING(0), "group_digest");

	PG_RETURN_POINTER(checked((GroupDigest *) value, ERRCODE_INVALID_TEXT_REPRESENTATION));
}

Datum
stepadv_group_digest_out(PG_FUNCTION_ARGS)
{
	PG_RETURN_CSTRING(hex_of_varlena(PG_GETARG_VARLENA_P(0), "group_digest"));
}

Datum
stepadv_group_digest_recv(PG_FUNCTION_ARGS)
{
	StringInfo	buffer = (StringInfo) PG_GETARG_POINTER(0);
	int			length = buffer->len - buffer->cursor;
	struct varlena *value = varlena_of_bytes(pq_getmsgbytes(buffer, length), length);

	PG_RETURN_POINTER(checked((GroupDigest *) value, ERRCODE_INVALID_BINARY_REPRESENTATION));
}

/* Input and output of a type whose values exist only within a query. */
Datum
stepadv_refuse_labelled_calls(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a value of type labelled_calls can neither be written nor read"),
			 errhint("It is made by the aggregate labelled_calls for group_digest of the same query.")));
	return (Datum) 0;
}
