/*
 * owner.c
 *		owns(relation, by_rights): the only place that decides whether a relation belongs to the current user,
 *		or whether they may act for its owner.
 *
 * Relations are known by OID, and by the owner that the catalog has now.  A superuser has all privileges, but
 * does not own other users' objects: the owner decides what runs when they are written or read.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_trigger.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "attach/names.h"
#include "attach/owner.h"
#include "compat.h"

PG_FUNCTION_INFO_V1(stepadv_owns);

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

bool
is_owned(Oid relation, Oid role)
{
	return OidIsValid(role) && relation_owner(relation) == role;
}

bool
may_become(Oid role)
{
	return OidIsValid(role) && has_privs_of_role(GetUserId(), role);
}

void
require_owner(Oid relation)
{
	Oid			owner = relation_owner(relation);

	if (!OidIsValid(owner))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relation)));
	if (!may_become(owner))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(relation)), get_rel_name(relation));
}

Oid
kept_table(Oid trigger)
{
	Relation	triggers = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			table = InvalidOid;

	ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(trigger));
	scan = systable_beginscan(triggers, TriggerOidIndexId, true, NULL, 1, &key);
	if (HeapTupleIsValid(tuple = systable_getnext(scan)) &&
		get_func_namespace(((Form_pg_trigger) GETSTRUCT(tuple))->tgfoid) == get_namespace_oid(INTERNAL_SCHEMA, false))
		table = ((Form_pg_trigger) GETSTRUCT(tuple))->tgrelid;
	systable_endscan(scan);
	table_close(triggers, AccessShareLock);
	return table;
}

List *
triggers_of(Oid attachment)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *triggers = NIL;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(attachment));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
		if (((Form_pg_depend) GETSTRUCT(tuple))->classid == TriggerRelationId)
			triggers = list_append_unique_oid(triggers, ((Form_pg_depend) GETSTRUCT(tuple))->objid);
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return triggers;
}

/* owns(relation regclass, by_rights boolean); false if the relation is gone. */
Datum
stepadv_owns(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);

	PG_RETURN_BOOL(PG_GETARG_BOOL(1) ? may_become(relation_owner(relation)) : is_owned(relation, GetUserId()));
}
