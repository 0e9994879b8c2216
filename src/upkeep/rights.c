/*
 * rights.c
 *		Who may read kept groups: roles that may read everything that they are folded from, as long as that is
 *		unchanged.
 *
 * The views over kept tables, and a policy on these, check this in each query.  So they respect later grants
 * and revokes on the tables below, row security enabled there later, and changes that no trigger sees, such
 * as dropping a partition or replacing a view.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/supportnodes.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/rls.h"

#include "attach/owner.h"
#include "attach/view_query.h"
#include "compat.h"
#include "upkeep/rights.h"

PG_FUNCTION_INFO_V1(stepadv_may_read_kept);
PG_FUNCTION_INFO_V1(stepadv_may_read_kept_support);

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

/* ----------
 * The tables below a view
 *
 * They are found by reading the queries of the view and of those below it.  The session caches them, and the fact
 * that the kept groups are not stale, until something in the catalog changes.
 * ----------
 */

typedef struct ReadView
{
	Oid			view;
	uint64		as_of;			/* catalog_changes then */
	bool		is_fresh;		/* the kept groups were not stale */
	MemoryContext context;
	List	   *between;		/* views below it, from one to the next */
	List	   *tables;			/* of TableRead, without keys */
	List	   *empty;			/* partitions added since: it is fresh while they are empty */
} ReadView;

static List *read_views = NIL;

/* The views below a view, which have grants of their own. */
static List *
views_between(Oid view)
{
	List	   *views = NIL;

	while (OidIsValid(view = view_source(view)) && get_rel_relkind(view) == RELKIND_VIEW && !list_member_oid(views, view))
		views = lappend_oid(views, view);
	return views;
}

/* A session uses few views, so those that were dropped stay in the list. */
static ReadView *
remembered(Oid view)
{
	ListCell   *cell;
	ReadView   *known;
	MemoryContext old;

	foreach(cell, read_views)
	{
		known = lfirst(cell);
		if (known->view == view)
			return known;
	}
	old = MemoryContextSwitchTo(CacheMemoryContext);
	known = palloc0(sizeof(ReadView));
	known->view = view;
	known->context = AllocSetContextCreate(CacheMemoryContext, "stepadv tables below a view", ALLOCSET_SMALL_SIZES);
	read_views = lappend(read_views, known);
	MemoryContextSwitchTo(old);
	return known;
}

static ReadView *
below(Oid view)
{
	ReadView   *known = remembered(view);
	List	   *between;
	List	   *tables;
	ListCell   *cell;
	MemoryContext old;
	uint64		now = catalog_changes();

	if (known->as_of == now)
		return known;
	known->is_fresh = false;
	between = views_between(view);
	tables = tables_read(list_make1_oid(view), 0);
	MemoryContextReset(known->context);
	old = MemoryContextSwitchTo(known->context);
	known->between = list_copy(between);
	known->tables = NIL;
	known->empty = NIL;
	foreach(cell, tables)
	{
		TableRead  *read = palloc(sizeof(TableRead));

		*read = *(const TableRead *) lfirst(cell);
		read->reads = bms_copy(read->reads);
		read->keys = NULL;
		known->tables = lappend(known->tables, read);
	}
	MemoryContextSwitchTo(old);
	known->as_of = now;
	return known;
}

/* ----------
 * Staleness
 * ----------
 */

static bool
are_empty(List *tables)
{
	ListCell   *cell;
	bool		are = true;

	foreach(cell, tables)
	{
		Relation	table = try_relation_open(lfirst_oid(cell), AccessShareLock);

		if (table == NULL)
			continue;
		are &= RelationGetNumberOfBlocks(table) == 0;
		relation_close(table, AccessShareLock);
	}
	return are;
}

/* Raise an error if groups kept by triggers differ from what a fold would return. */
static void
require_fresh(ReadView *known)
{
	Oid			type = REGCLASSOID;
	Datum		view = ObjectIdGetDatum(known->view);
	MemoryContext old;
	bool		isnull;

	if (known->is_fresh && are_empty(known->empty))
		return;
	SPI_connect();
	if (SPI_execute_with_args("SELECT problem, hint, empty FROM stepadv_internal.staleness_for_readers($1)",
							  1, &type, &view, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "stepadv_internal.staleness_for_readers failed");
	known->empty = NIL;
	old = MemoryContextSwitchTo(known->context);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		HeapTuple	row = SPI_tuptable->vals[i];
		TupleDesc	desc = SPI_tuptable->tupdesc;
		Datum		empty = SPI_getbinval(row, desc, 3, &isnull);

		if (SPI_getvalue(row, desc, 1) != NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("%s", SPI_getvalue(row, desc, 1)),
					 errhint("%s", SPI_getvalue(row, desc, 2))));
		if (!isnull)
			known->empty = lappend_oid(known->empty, DatumGetObjectId(empty));
	}
	MemoryContextSwitchTo(old);
	known->is_fresh = true;
	SPI_finish();
}

/* ----------
 * The policy
 * ----------
 */

static void
require_view(Oid view)
{
	if (pg_class_aclcheck(view, GetUserId(), ACL_SELECT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(view, GetUserId(), ACL_SELECT, ACLMASK_ALL) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_VIEW, get_rel_name(view));
}

static void
require_table(const TableRead *read, Oid owner)
{
	const char *name = get_rel_name(read->relation);

	/* A session that writes rows cannot fold the groups then, see triggers.c. */
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

/*
 * may_read_kept(view regclass): true, or the error that reading the tables below the view would raise, or
 * that the kept groups are stale.  Called for each row, it checks only for the first.
 */
Datum
stepadv_may_read_kept(PG_FUNCTION_ARGS)
{
	Oid			view = PG_GETARG_OID(0);
	Oid		   *asked = fcinfo->flinfo->fn_extra;
	ReadView   *read;
	Oid			owner;
	ListCell   *cell;

	if (asked != NULL && *asked == view)
		PG_RETURN_BOOL(true);
	owner = relation_owner(view);
	read = below(view);
	foreach(cell, read->tables)
		require_table(lfirst(cell), owner);
	for_each_from(cell, read->between, FIRST_VIEW_TO_REQUIRE)
		require_view(lfirst_oid(cell));
	require_fresh(read);
	if (asked == NULL)
		asked = fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(Oid));
	*asked = view;
	PG_RETURN_BOOL(true);
}

/* It removes no row. */
Datum
stepadv_may_read_kept_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSelectivity))
		((SupportRequestSelectivity *) request)->selectivity = 1;
	else
		request = NULL;
	PG_RETURN_POINTER(request);
}
