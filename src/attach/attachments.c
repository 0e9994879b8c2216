/*
 * attachments.c
 *		attachments(of_owner, of_source), known(attachment): attachments, as far as they can be trusted.
 *
 * An attachment is the row of a table OF stepadv.attachment in a user's schema.  Anybody can create such a
 * table and write anything into it, so a row proves only what its owner could have done by hand: relations of
 * other owners are removed from it, and the caller compares the owner with that of the source.  Nothing in it
 * may cause an error or a delay for others.  Therefore the tables are not read by queries (another user's
 * rule, row security policy or inheritance child could take part), sizes are bounded, and no session waits
 * for a lock on the table of an unrelated user.
 *
 * Reading needs no privilege: it reveals nothing that the public definitions of the views do not show.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "attach/names.h"
#include "attach/owner.h"
#include "attach/view_query.h"
#include "compat.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_attachments);
PG_FUNCTION_INFO_V1(stepadv_known);

/* An attachment's row has a few kilobytes, in a table of one page and its dead rows.  Anything larger is ignored. */
#define LARGEST_ROW (1024 * 1024)
#define LARGEST_LIST 1000		/* relations in one array */
#define LARGEST_TABLE 4096		/* blocks */

/* How long to try to get locks without waiting for them, for all tables together. */
#define PATIENCE 20				/* milliseconds */

/* Columns of the result before those of the type: attachment, owner, source, schema. */
#define N_OWN 4

typedef struct Reader
{
	TupleDesc	type;			/* of stepadv.attachment, dropped attributes included */
	Oid			of_owner;		/* the owner asked for; InvalidOid: roles whose privileges the caller has */
	Oid			of_source;		/* the source asked for; InvalidOid: any */
	Oid			source_owner;
	int			patience;		/* tries left */
	TupleDesc	result;
	Datum	   *values;			/* of the attachment that was read last */
	bool	   *nulls;
} Reader;

/* ----------
 * Relations
 * ----------
 */

/* The pg_class row of a relation; false if there is none. */
static bool
look_up(Oid relation, FormData_pg_class *class)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));

	if (!HeapTupleIsValid(tuple))
		return false;
	*class = *(Form_pg_class) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	return true;
}

/* Does an attachment have triggers on tables of a role?  Only an owner can create them. */
static bool
keeps_groups_of(Oid attachment, Oid owner)
{
	ListCell   *cell;

	foreach(cell, triggers_of(attachment))
		if (is_owned(kept_table(lfirst_oid(cell)), owner))
			return true;
	return false;
}

/*
 * Is a table of this owner asked for?  Attachments of unrelated users over other users' relations are
 * ignored.  Over a source count those of the caller, of its owner, of members of that role (being superuser is
 * not enough), and of a former owner who keeps groups by triggers on the owner's tables.
 */
static bool
is_asked_for(Oid table, Oid owner, const Reader *reader)
{
	if (OidIsValid(reader->of_owner))
		return owner == reader->of_owner;
	if (!may_become(owner))
		return false;
	return !OidIsValid(reader->of_source) || owner == GetUserId() ||
		is_member_of_role_nosuper(owner, reader->source_owner) || keeps_groups_of(table, reader->source_owner);
}

/* Is a relation a table of the type that is asked for, and can this process read it? */
static bool
is_readable(Oid relation, const Reader *reader, Oid type)
{
	FormData_pg_class class;

	return look_up(relation, &class) &&
		class.relkind == RELKIND_RELATION &&
		class.reloftype == type &&
		is_asked_for(relation, class.relowner, reader) &&
		(class.relpersistence != RELPERSISTENCE_TEMP || isTempNamespace(class.relnamespace)) &&
		(class.relpersistence != RELPERSISTENCE_UNLOGGED || !RecoveryInProgress());
}

/* The tables of a type, found by their dependency on it. */
static List *
typed_tables(const Reader *reader, Oid type)
{
	List	   *tables = NIL;
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(TypeRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(type));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend row = (Form_pg_depend) GETSTRUCT(tuple);

		if (row->classid == RelationRelationId && row->objsubid == 0 &&
			is_readable(row->objid, reader, type))
			tables = lappend_oid(tables, row->objid);
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return tables;
}

static bool
lock_soon(Oid table, Reader *reader)
{
	while (!ConditionalLockRelationOid(table, AccessShareLock))
	{
		if (reader->patience-- <= 0)
			return false;
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
	return true;
}

/*
 * Open a table, which may have changed before it was locked; NULL if it is not to be read.  If an owner or a
 * source is asked for, or the caller is a member of the owner's role (being superuser is not enough), wait
 * for the lock.  Otherwise do not wait, since the owner of a table can lock it for as long as they like.
 */
static Relation
open_table(Oid table, Reader *reader, Oid type)
{
	FormData_pg_class class;
	Relation	opened;

	if (!look_up(table, &class))
		return NULL;
	if (OidIsValid(reader->of_owner) || OidIsValid(reader->of_source) ||
		is_member_of_role_nosuper(GetUserId(), class.relowner))
		LockRelationOid(table, AccessShareLock);
	else if (!lock_soon(table, reader))
		return NULL;
	opened = is_readable(table, reader, type) ? try_relation_open(table, NoLock) : NULL;
	if (opened == NULL)
		UnlockRelationOid(table, AccessShareLock);
	else if (RelationGetNumberOfBlocks(opened) > LARGEST_TABLE)
	{
		relation_close(opened, AccessShareLock);
		opened = NULL;
	}
	return opened;
}

/* ----------
 * The row
 * ----------
 */

/*
 * Does a table have the columns of the type?  The server and ALTER TYPE … CASCADE ensure this, and reading
 * relies on it.
 */
static bool
same_columns(TupleDesc table, TupleDesc type)
{
	int			t = 0;

	for (int c = 0; c < table->natts; c++)
	{
		Form_pg_attribute column = TupleDescAttr(table, c);

		if (column->attisdropped)
			continue;
		while (t < type->natts && TupleDescAttr(type, t)->attisdropped)
			t++;
		if (t == type->natts || column->atttypid != TupleDescAttr(type, t)->atttypid ||
			strcmp(NameStr(column->attname), NameStr(TupleDescAttr(type, t)->attname)) != 0)
			return false;
		t++;
	}
	while (t < type->natts && TupleDescAttr(type, t)->attisdropped)
		t++;
	return t == type->natts;
}

/* Detoasted values of a row, in the order of the type's attributes; false if the row is too large. */
static bool
take_values(HeapTuple tuple, TupleDesc desc, Datum *values, bool *nulls)
{
	Datum	   *all = palloc(desc->natts * sizeof(Datum));
	bool	   *all_nulls = palloc(desc->natts * sizeof(bool));
	Size		size = 0;
	int			n = 0;

	heap_deform_tuple(tuple, desc, all, all_nulls);
	for (int c = 0; c < desc->natts; c++)
		if (!all_nulls[c] && TupleDescAttr(desc, c)->attlen == -1)
			size += toast_raw_datum_size(all[c]);
	if (size > LARGEST_ROW)
		return false;
	for (int c = 0; c < desc->natts; c++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, c);

		if (column->attisdropped)
			continue;
		nulls[n] = all_nulls[c];
		values[n] = all[c];
		if (!nulls[n] && column->attlen == -1)
			values[n] = PointerGetDatum(PG_DETOAST_DATUM_COPY(all[c]));
		n++;
	}
	return true;
}

/*
 * Read the only row of a table; false if there is none, or another.  It is read as of now, like the catalog,
 * even if the transaction's queries see an older state: the views and kept tables that it names exist
 * already.
 */
static bool
read_row(Relation table, Datum *values, bool *nulls)
{
	Snapshot	snapshot = RegisterSnapshot(IsInParallelMode() ? GetActiveSnapshot() : GetLatestSnapshot());
	SysScanDesc scan = systable_beginscan(table, InvalidOid, false, snapshot, 0, NULL);
	HeapTuple	tuple = systable_getnext(scan);
	bool		is_one = false;

	if (HeapTupleIsValid(tuple))
	{
		tuple = heap_copytuple(tuple);
		is_one = !HeapTupleIsValid(systable_getnext(scan)) &&
			take_values(tuple, RelationGetDescr(table), values, nulls);
	}
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	return is_one;
}

/* ----------
 * What can be trusted
 * ----------
 */

/* Replace relations of other owners in an array by NULL; false if it is unreasonably long. */
static bool
keep_owned(Datum *array, Oid owner)
{
	ArrayType  *given = DatumGetArrayTypeP(*array);
	Datum	   *relations;
	bool	   *nulls;
	int			n_given;
	int			lower_bound = 1;

	if (ArrayGetNItems(ARR_NDIM(given), ARR_DIMS(given)) > LARGEST_LIST)
		return false;
	deconstruct_array(given, REGCLASSOID, sizeof(Oid), true, TYPALIGN_INT, &relations, &nulls, &n_given);
	for (int i = 0; i < n_given; i++)
		nulls[i] = nulls[i] || !is_owned(DatumGetObjectId(relations[i]), owner);
	*array = PointerGetDatum(construct_md_array(relations, nulls, 1, &n_given, &lower_bound, REGCLASSOID, sizeof(Oid), true, TYPALIGN_INT));
	return true;
}

/*
 * Remove dropped relations and those of other owners from a row; false if the rest cannot be an attachment.
 * `rows` is set to the adapter view.
 */
static bool
keep_trusted(const Reader *reader, Oid owner, Datum *values, bool *nulls, Oid *rows)
{
	int			n = 0;

	*rows = InvalidOid;
	for (int a = 0; a < reader->type->natts; a++)
	{
		Form_pg_attribute attribute = TupleDescAttr(reader->type, a);

		if (attribute->attisdropped)
			continue;
		if (nulls[n])
			 /* nothing to check */ ;
		else if (attribute->atttypid == REGCLASSOID)
		{
			nulls[n] = !is_owned(DatumGetObjectId(values[n]), owner);
			if (!nulls[n] && strcmp(NameStr(attribute->attname), "rows") == 0)
				*rows = DatumGetObjectId(values[n]);
		}
		else if (attribute->atttypid == REGCLASSARRAYOID && !keep_owned(&values[n], owner))
			return false;
		n++;
	}
	return OidIsValid(*rows) && get_rel_relkind(*rows) == RELKIND_VIEW;
}

/* Read the attachment of a table; false if it has none, or none that is asked for. */
static bool
read_attachment(Reader *reader, Oid table, Oid type)
{
	Datum	   *values = reader->values = palloc0(reader->result->natts * sizeof(Datum));
	bool	   *nulls = reader->nulls = palloc0(reader->result->natts * sizeof(bool));
	Relation	opened = open_table(table, reader, type);
	Oid			owner;
	Oid			rows;
	Oid			source;
	bool		is_one;

	if (opened == NULL)
		return false;
	owner = opened->rd_rel->relowner;
	is_one = same_columns(RelationGetDescr(opened), reader->type) &&
		read_row(opened, values + N_OWN, nulls + N_OWN);
	relation_close(opened, AccessShareLock);
	if (!is_one || !keep_trusted(reader, owner, values + N_OWN, nulls + N_OWN, &rows))
		return false;
	source = view_source(rows);
	if (OidIsValid(reader->of_source) && source != reader->of_source)
		return false;
	values[0] = ObjectIdGetDatum(table);
	values[1] = ObjectIdGetDatum(owner);
	values[2] = ObjectIdGetDatum(source);
	nulls[2] = !OidIsValid(source);
	values[3] = PointerGetDatum(cstring_to_text(get_namespace_name(get_rel_namespace(table))));
	return true;
}

static int
n_attributes(TupleDesc desc)
{
	int			n = 0;

	for (int a = 0; a < desc->natts; a++)
		n += !TupleDescAttr(desc, a)->attisdropped;
	return n;
}

static Oid
attachment_type(void)
{
	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum("attachment"),
						   ObjectIdGetDatum(get_namespace_oid(PUBLIC_SCHEMA, false)));
}

Datum
stepadv_attachments(PG_FUNCTION_ARGS)
{
	Oid			type = attachment_type();
	Reader		reader = {.of_owner = PG_ARGISNULL(0) ? InvalidOid : PG_GETARG_OID(0),
		.of_source = PG_ARGISNULL(1) ? InvalidOid : PG_GETARG_OID(1), .patience = PATIENCE};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "stepadv attachment", ALLOCSET_DEFAULT_SIZES);
	Tuplestorestate *rows;
	ListCell   *cell;

	reader.source_owner = relation_owner(reader.of_source);
	reader.type = lookup_rowtype_tupdesc_copy(type, -1);
	rows = begin_rows(fcinfo, N_OWN + n_attributes(reader.type));
	reader.result = ((ReturnSetInfo *) fcinfo->resultinfo)->expectedDesc;
	foreach(cell, typed_tables(&reader, type))
	{
		MemoryContext old = MemoryContextSwitchTo(context);

		CHECK_FOR_INTERRUPTS();
		if (read_attachment(&reader, lfirst_oid(cell), type))
			tuplestore_putvalues(rows, reader.result, reader.values, reader.nulls);
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
	}
	MemoryContextDelete(context);
	return (Datum) 0;
}

/* The attachment of one table; NULL if it has none that can be trusted. */
Datum
stepadv_known(PG_FUNCTION_ARGS)
{
	Oid			table = PG_GETARG_OID(0);
	Oid			type = attachment_type();
	Reader		reader = {.of_owner = relation_owner(table)};

	reader.type = lookup_rowtype_tupdesc_copy(type, -1);
	if (get_call_result_type(fcinfo, NULL, &reader.result) != TYPEFUNC_COMPOSITE ||
		reader.result->natts != N_OWN + n_attributes(reader.type))
		elog(ERROR, "known is not declared as its C code expects");
	if (!OidIsValid(reader.of_owner) || !read_attachment(&reader, table, type))
		PG_RETURN_NULL();
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(reader.result), reader.values, reader.nulls)));
}
