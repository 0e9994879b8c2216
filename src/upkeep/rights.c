/*
 * rights.c
 *		Who may read kept groups: whoever may read all that they are folded from.
 *
 * A policy on the kept tables asks this in each query, so that they follow what
 * is granted and revoked on the tables below, and row security that is switched
 * on there later.
 */
#include "postgres.h"

#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/supportnodes.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
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
 * What a view reads is found by reading its query and those below it.  A session
 * remembers it until any relation changes.
 * ----------
 */

typedef struct ReadView
{
	Oid			view;
	List	   *between;		/* views that it reads, one after the other */
	List	   *tables;			/* of TableRead, without keys */
} ReadView;

static MemoryContext read_views_context = NULL;
static List *read_views = NIL;
static bool read_views_valid = false;

static void
forget_read_views(Datum argument, Oid relation)
{
	read_views_valid = false;
}

static void
begin_read_views(void)
{
	if (read_views_context == NULL)
	{
		read_views_context = AllocSetContextCreate(CacheMemoryContext, "stepadv tables below views", ALLOCSET_SMALL_SIZES);
		CacheRegisterRelcacheCallback(forget_read_views, (Datum) 0);
	}
	if (!read_views_valid)
	{
		MemoryContextReset(read_views_context);
		read_views = NIL;
		read_views_valid = true;
	}
}

/* What a view reads may be views in their turn, which have grants of their own. */
static List *
views_between(Oid view)
{
	List	   *views = NIL;

	while (OidIsValid(view = view_source(view)) && get_rel_relkind(view) == RELKIND_VIEW && !list_member_oid(views, view))
		views = lappend_oid(views, view);
	return views;
}

static const ReadView *
below(Oid view)
{
	ListCell   *cell;
	List	   *between;
	List	   *tables;
	MemoryContext old;
	ReadView   *known;

	begin_read_views();
	foreach(cell, read_views)
	{
		known = lfirst(cell);
		if (known->view == view)
			return known;
	}
	between = views_between(view);
	tables = tables_read(list_make1_oid(view), 0);
	old = MemoryContextSwitchTo(read_views_context);
	known = palloc0(sizeof(ReadView));
	known->view = view;
	known->between = list_copy(between);
	foreach(cell, tables)
	{
		TableRead  *read = palloc(sizeof(TableRead));

		*read = *(const TableRead *) lfirst(cell);
		read->reads = bms_copy(read->reads);
		read->keys = NULL;
		known->tables = lappend(known->tables, read);
	}
	read_views = lappend(read_views, known);
	MemoryContextSwitchTo(old);
	return known;
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

/*
 * may_read_kept(view regclass): true, or the error that reading the tables below
 * the view would be.  Called for each row, it asks for the first.
 */
Datum
stepadv_may_read_kept(PG_FUNCTION_ARGS)
{
	Oid			view = PG_GETARG_OID(0);
	Oid		   *asked = fcinfo->flinfo->fn_extra;
	const ReadView *read;
	Oid			owner;
	ListCell   *cell;

	if (asked != NULL && *asked == view)
		PG_RETURN_BOOL(true);
	owner = relation_owner(view);
	read = below(view);
	foreach(cell, read->tables)
		require_table(lfirst(cell), owner);
	foreach(cell, read->between)
		require_view(lfirst_oid(cell));
	if (asked == NULL)
		asked = fcinfo->flinfo->fn_extra = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(Oid));
	*asked = view;
	PG_RETURN_BOOL(true);
}

/* No row is left out by it. */
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
