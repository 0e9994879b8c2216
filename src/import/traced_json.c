/*
 * traced_json.c
 *		Texts that tracing tools keep of arguments, most of them JSON, as jsonb: never an
 *		error, for views over tables that somebody else fills.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "compat.h"
#include "import/conversation.h"

PG_FUNCTION_INFO_V1(stepadv_traced_json);

/* traced_json(content text): what it spells, or the text itself as a string */
Datum
stepadv_traced_json(PG_FUNCTION_ARGS)
{
	text	   *content = PG_GETARG_TEXT_PP(0);
	JsonWriter	state = {0};
	JsonbValue	value;
	JsonbValue *list;

	if (is_plain_json((Words) {VARDATA_ANY(content), VARSIZE_ANY_EXHDR(content)}))
		return DirectFunctionCall1(jsonb_in, CStringGetDatum(text_to_cstring(content)));
	value.type = jbvString;
	value.val.string.val = VARDATA_ANY(content);
	value.val.string.len = VARSIZE_ANY_EXHDR(content);
	push_json(&state, WJB_BEGIN_ARRAY, NULL);
	push_json(&state, WJB_ELEM, &value);
	list = end_json(&state, WJB_END_ARRAY);
	list->val.array.rawScalar = true;
	PG_RETURN_JSONB_P(JsonbValueToJsonb(list));
}
