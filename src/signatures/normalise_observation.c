/*
 * normalise_observation.c
 *		normalise_observation(text, whitespace, ansi, lowercase, digits,
 *		addresses, timestamps, root)
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include "compat.h"
#include "signatures/observation.h"

PG_FUNCTION_INFO_V1(stepadv_normalise_observation);

Datum
stepadv_normalise_observation(PG_FUNCTION_ARGS)
{
	ObservationOptions options;
	StringInfoData out;
	text	   *value;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	value = PG_GETARG_TEXT_PP(0);
	/* A NULL choice leaves the text unchanged. */
	options.whitespace = !PG_ARGISNULL(1) && PG_GETARG_BOOL(1);
	options.ansi = !PG_ARGISNULL(2) && PG_GETARG_BOOL(2);
	options.lowercase = !PG_ARGISNULL(3) && PG_GETARG_BOOL(3);
	options.digits = !PG_ARGISNULL(4) && PG_GETARG_BOOL(4);
	options.addresses = !PG_ARGISNULL(5) && PG_GETARG_BOOL(5);
	options.timestamps = !PG_ARGISNULL(6) && PG_GETARG_BOOL(6);
	options.root = span_none();
	if (!PG_ARGISNULL(7))
	{
		text	   *root = PG_GETARG_TEXT_PP(7);

		options.root = span_make(VARDATA_ANY(root), VARSIZE_ANY_EXHDR(root));
	}
	initStringInfo(&out);
	normalize_text(&out, span_make(VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)), &options);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}
