/*
 * enabled.c
 *		When our triggers fire, depending on session_replication_role.
 *
 * Works like ALTER TABLE … ENABLE ALWAYS TRIGGER and ENABLE REPLICA TRIGGER, but also, like CREATE TRIGGER,
 * while the statement that needs it reads the table.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "attach/names.h"
#include "attach/owner.h"
#include "compat.h"

PG_FUNCTION_INFO_V1(stepadv_enable_trigger);

static void
set_enabled(Relation triggers, HeapTuple found, char fires)
{
	HeapTuple	tuple = heap_copytuple(found);
	Form_pg_trigger trigger = (Form_pg_trigger) GETSTRUCT(tuple);

	if (get_func_namespace(trigger->tgfoid) != get_namespace_oid(INTERNAL_SCHEMA, false))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("trigger \"%s\" was not created by stepadv.maintain", NameStr(trigger->tgname))));
	require_owner(trigger->tgrelid);
	LockRelationOid(trigger->tgrelid, ShareRowExclusiveLock);
	trigger->tgenabled = fires;
	CatalogTupleUpdate(triggers, &tuple->t_self, tuple);
	CacheInvalidateRelcacheByRelid(trigger->tgrelid);
}

/* enable_trigger(trigger oid, fires "char"): sets pg_trigger.tgenabled of a trigger that maintain created. */
Datum
stepadv_enable_trigger(PG_FUNCTION_ARGS)
{
	char		fires = PG_GETARG_CHAR(1);
	Relation	triggers = table_open(TriggerRelationId, RowExclusiveLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (fires != TRIGGER_FIRES_ALWAYS && fires != TRIGGER_FIRES_ON_REPLICA)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("triggers of maintain fire always, or on replicas")));
	ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(PG_GETARG_OID(0)));
	scan = systable_beginscan(triggers, TriggerOidIndexId, true, NULL, 1, &key);
	if (HeapTupleIsValid(tuple = systable_getnext(scan)))
		set_enabled(triggers, tuple, fires);
	systable_endscan(scan);
	table_close(triggers, RowExclusiveLock);
	PG_RETURN_VOID();
}
