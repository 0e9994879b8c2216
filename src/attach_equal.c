/*
 * attach_equal.c
 *		The equality operator of a type, for the texts that attach writes.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_operator.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(stepadv_attach_equal);

/*
 * By the operator classes that GROUP BY and indexes go by: only superusers make
 * such, while anybody who has a schema can make operators in it.
 */
Datum
stepadv_attach_equal(PG_FUNCTION_ARGS)
{
	Oid			type = PG_GETARG_OID(0);
	Oid			equal = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
	HeapTuple	tuple;
	Form_pg_operator form;
	char	   *text;

	if (!OidIsValid(equal))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("type %s has no equality operator", format_type_be(type)),
				 errhint("Rows cannot be grouped by it: attach a view that casts it to a type that has one.")));
	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(equal));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", equal);
	form = (Form_pg_operator) GETSTRUCT(tuple);
	text = psprintf("OPERATOR(%s.%s)", quote_identifier(get_namespace_name(form->oprnamespace)), NameStr(form->oprname));
	ReleaseSysCache(tuple);
	PG_RETURN_TEXT_P(cstring_to_text(text));
}
