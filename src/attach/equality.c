/*
 * equality.c
 *		equality_operator(type): the operator that compares two values of a type in generated SQL.
 *
 * Only superusers can create operator classes, so the operator of a default one can be trusted as much as the
 * type.  An operator that is merely named = cannot.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_operator.h"
#include "fmgr.h"
#include "nodes/value.h"
#include "parser/parse_oper.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(stepadv_equality_operator);

/*
 * Does OPERATOR(schema.name) between two values of the type resolve to this operator?  It may not if the
 * operator is that of another type (the type is a domain, or cast to it without a function) and its schema is
 * open to other users, who can create a better match there.
 */
static bool
is_found(Oid operator, const char *schema, const char *name, Oid type)
{
	List	   *names = list_make2(makeString(pstrdup(schema)), makeString(pstrdup(name)));

	return compatible_oper_opid(names, type, type, true) == operator;
}

Datum
stepadv_equality_operator(PG_FUNCTION_ARGS)
{
	Oid			type = PG_GETARG_OID(0);
	Oid			operator = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
	HeapTuple	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	char	   *schema = NULL;
	char	   *name = NULL;

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_operator row = (Form_pg_operator) GETSTRUCT(tuple);

		schema = get_namespace_name(row->oprnamespace);
		name = pstrdup(NameStr(row->oprname));
		ReleaseSysCache(tuple);
	}
	if (schema == NULL || !is_found(operator, schema, name, type))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("type %s has no equality operator", format_type_be(type)),
				 errhint("The equality of the type's default btree or hash operator class is used.")));
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("OPERATOR(%s.%s)", quote_identifier(schema), name)));
}
