/*
 * rights.c
 *		Who may read kept groups: whoever may read all that they are folded from.
 *
 * A policy on the kept tables asks this, once per query, so that they follow what
 * is granted and revoked on the tables below, and row security that is switched
 * on there later.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "catalog/view_query.h"
#include "compat.h"
#include "upkeep/rights.h"

PG_FUNCTION_INFO_V1(stepadv_may_read_kept);

Oid
relation_owner(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Oid			owner = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
		ReleaseSysCache(tuple);
	}
	return owner;
}

void
require_owner(Oid relation)
{
	Oid			owner = relation_owner(relation);

	if (!OidIsValid(owner))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relation)));
	if (!has_privs_of_role(GetUserId(), owner))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relation)), get_rel_name(relation));
}

bool
may_read(const TableRead *read, Oid role)
{
	int			number = -1;

	if (pg_class_aclcheck(read->relation, role, ACL_SELECT) == ACLCHECK_OK)
		return true;
	if (read->whole_row || bms_is_empty(read->reads))
		return pg_attribute_aclcheck_all(read->relation, role, ACL_SELECT, read->whole_row ? ACLMASK_ALL : ACLMASK_ANY) == ACLCHECK_OK;
	while ((number = bms_next_member(read->reads, number)) >= 0)
	{
		if (pg_attribute_aclcheck(read->relation, number, role, ACL_SELECT) != ACLCHECK_OK)
			return false;
	}
	return true;
}

/* What a view reads may be views in their turn, which have grants of their own. */
static void
require_views(Oid view)
{
	while (OidIsValid(view = view_source(view)) && get_rel_relkind(view) == RELKIND_VIEW)
	{
		if (pg_class_aclcheck(view, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
			pg_attribute_aclcheck_all(view, GetUserId(), ACL_SELECT, ACLMASK_ALL) != ACLCHECK_OK)
			aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_VIEW, get_rel_name(view));
	}
}

/*
 * may_read_kept(view regclass): true, or the error that reading the tables below
 * the view would be.
 */
Datum
stepadv_may_read_kept(PG_FUNCTION_ARGS)
{
	Oid			view = PG_GETARG_OID(0);
	Oid			owner = relation_owner(view);
	ListCell   *cell;

	require_views(view);
	foreach(cell, tables_read(list_make1_oid(view), 0))
	{
		const TableRead *read = lfirst(cell);
		const char *name = get_rel_name(read->relation);

		/* Whoever changes rows now cannot have the groups folded, see triggers.c. */
		if (!OidIsValid(owner) || !may_read(read, owner))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("groups of table %s are no longer kept", name),
					 errdetail("Their owner may not read it.")));
		if (!may_read(read, GetUserId()))
			aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(get_rel_relkind(read->relation)), name);
		if (check_enable_rls(read->relation, InvalidOid, true) == RLS_ENABLED)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("permission denied for table %s", name),
					 errdetail("It has row-level security, and kept groups are folded from all of its rows.")));
	}
	PG_RETURN_BOOL(true);
}
