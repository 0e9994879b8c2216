/*
 * columns.c
 *		column_type(relation, name), group_columns(relation, number), relation_name(relation): catalog lookups
 *		that attach makes more than a thousand times each.
 *
 * They use the server's caches, as its parser does.  As queries, they took a third of attach's time.
 */
#include "postgres.h"

#include "access/attnum.h"
#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(stepadv_column_type);
PG_FUNCTION_INFO_V1(stepadv_group_columns);
PG_FUNCTION_INFO_V1(stepadv_relation_name);

/* The declared type of a column; NULL if there is none. */
Datum
stepadv_column_type(PG_FUNCTION_ARGS)
{
	AttrNumber	number;
	char	   *name;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	/* It is too long for a name, and the cache would look up its beginning. */
	if (strlen(name) >= NAMEDATALEN)
		PG_RETURN_NULL();
	/* System columns have numbers below 0, and no role. */
	number = get_attnum(PG_GETARG_OID(0), name);
	if (!AttributeNumberIsValid(number) || !AttrNumberIsForUserDefinedAttr(number))
		PG_RETURN_NULL();
	PG_RETURN_OID(get_atttype(PG_GETARG_OID(0), number));
}

Datum
stepadv_group_columns(PG_FUNCTION_ARGS)
{
	ArrayBuildState *names = NULL;

	for (int i = 1; i <= PG_GETARG_INT32(1) && i <= MaxAttrNumber; i++)
	{
		char	   *name = get_attname(PG_GETARG_OID(0), i, true);

		if (name == NULL)
			break;
		names = accumArrayResult(names, CStringGetTextDatum(name), false, TEXTOID, CurrentMemoryContext);
	}
	if (names == NULL)
		PG_RETURN_NULL();
	PG_RETURN_DATUM(makeArrayResult(names, CurrentMemoryContext));
}

Datum
stepadv_relation_name(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	char	   *name = get_rel_name(relation);
	char	   *schema = name == NULL ? NULL : get_namespace_name(get_rel_namespace(relation));

	if (schema == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(quote_qualified_identifier(schema, name)));
}
