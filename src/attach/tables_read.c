/*
 * tables_read.c
 *		tables_read(views, n_keys, families): column_lineage.h for SQL, and the families of tables, whose rows
 *		may be written through any member.
 *
 * column_lineage.c knows columns by their number in the table that a view reads.  In parents and children, a
 * column has the same name, which the server ensures, but not the same number.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/tuplestore.h"

#include "attach/column_lineage.h"
#include "attach/tables_read.h"
#include "compat.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_tables_read);

/* Append the parents of a relation, their parents, and so on. */
static List *
append_ancestors(List *relations, Oid relation)
{
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
	scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Oid			parent = ((Form_pg_inherits) GETSTRUCT(tuple))->inhparent;

		if (!list_member_oid(relations, parent))
			relations = append_ancestors(lappend_oid(relations, parent), parent);
	}
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	return relations;
}

/* The number of a column in another member of the family; 0 if there is none. */
static AttrNumber
same_column(Oid base, AttrNumber number, Oid relation)
{
	if (relation == base || number <= 0)
		return number;
	return get_attnum(relation, get_attname(base, number, false));
}

static WatchedTable *
watched_member(const TableRead *read, int n_keys, Oid relation)
{
	WatchedTable *watched = palloc0(sizeof(WatchedTable));
	int			number = -1;

	watched->relation = relation;
	watched->base = read->relation;
	watched->whole_row = read->whole_row;
	watched->keys = palloc0(sizeof(AttrNumber) * n_keys);
	for (int i = 0; i < n_keys; i++)
		watched->keys[i] = same_column(read->relation, read->keys[i], relation);
	while ((number = bms_next_member(read->reads, number)) >= 0)
	{
		AttrNumber	column = same_column(read->relation, number, relation);

		/* A parent lacks the columns that only its children have. */
		if (column > 0)
			watched->reads = bms_add_member(watched->reads, column);
	}
	return watched;
}

List *
table_family(Oid base)
{
	return append_ancestors(find_all_inheritors(base, NoLock, NULL), base);
}

WatchedTable *
watched_table(List *views, int n_keys, Oid relation)
{
	WatchedTable *result = NULL;
	ListCell   *table;

	foreach(table, tables_read(views, n_keys))
	{
		const TableRead *read = lfirst(table);
		WatchedTable *watched;

		if (!list_member_oid(table_family(read->relation), relation))
			continue;
		watched = watched_member(read, n_keys, relation);
		if (result == NULL)
		{
			result = watched;
			continue;
		}
		result->whole_row |= watched->whole_row;
		result->reads = bms_join(result->reads, watched->reads);
		for (int i = 0; i < n_keys; i++)
		{
			if (result->keys[i] != watched->keys[i])
				result->keys[i] = InvalidAttrNumber;
		}
	}
	return result;
}

static Datum
int2_array(const AttrNumber *numbers, int n)
{
	Datum	   *values = palloc(sizeof(Datum) * Max(n, 1));

	for (int i = 0; i < n; i++)
		values[i] = Int16GetDatum(numbers[i]);
	return PointerGetDatum(construct_array(values, n, INT2OID, sizeof(int16), true, TYPALIGN_SHORT));
}

static void
give_table(ReturnSetInfo *result, Tuplestorestate *rows, const WatchedTable *table, int n_keys)
{
	AttrNumber *reads = palloc(sizeof(AttrNumber) * (bms_num_members(table->reads) + 1));
	int			n = 0;
	int			number = -1;
	Datum		values[4];
	bool		nulls[4] = {false, false, false, table->whole_row};

	while ((number = bms_next_member(table->reads, number)) >= 0)
		reads[n++] = number;
	values[0] = ObjectIdGetDatum(table->relation);
	values[1] = ObjectIdGetDatum(table->base);
	values[2] = int2_array(table->keys, n_keys);
	values[3] = int2_array(reads, n);
	tuplestore_putvalues(rows, result->expectedDesc, values, nulls);
}

/* Returns each member of a table's family or, without families, the table itself. */
Datum
stepadv_tables_read(PG_FUNCTION_ARGS)
{
	int			n_keys = PG_GETARG_INT32(1);
	bool		with_families = PG_GETARG_BOOL(2);
	List	   *views = NIL;
	Datum	   *oids;
	bool	   *nulls;
	int			n_views;
	Tuplestorestate *rows = begin_rows(fcinfo, 4);
	ListCell   *table;
	ListCell   *member;

	if (n_keys < 0 || n_keys > MaxHeapAttributeNumber)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("n_keys must be between 0 and %d, not %d", MaxHeapAttributeNumber, n_keys)));
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), REGCLASSOID, sizeof(Oid), true, TYPALIGN_INT, &oids, &nulls, &n_views);
	for (int i = 0; i < n_views; i++)
	{
		if (!nulls[i])
			views = lappend_oid(views, DatumGetObjectId(oids[i]));
	}
	foreach(table, tables_read(views, n_keys))
	{
		const TableRead *read = lfirst(table);

		foreach(member, with_families ? table_family(read->relation) : list_make1_oid(read->relation))
			give_table((ReturnSetInfo *) fcinfo->resultinfo, rows, watched_member(read, n_keys, lfirst_oid(member)), n_keys);
	}
	return (Datum) 0;
}
