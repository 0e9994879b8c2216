/*
 * tables_read.c
 *		tables_read(views, n_keys): column_lineage.h for SQL.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/execnodes.h"
#include "utils/array.h"
#include "utils/tuplestore.h"

#include "attach/column_lineage.h"
#include "compat.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_tables_read);

static List *
relations_of(ArrayType *array)
{
	List	   *relations = NIL;
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	deconstruct_array(array, REGCLASSOID, sizeof(Oid), true, TYPALIGN_INT, &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
		if (!nulls[i])
			relations = lappend_oid(relations, DatumGetObjectId(elements[i]));
	return relations;
}

static Datum
numbers(const Datum *values, int n)
{
	return PointerGetDatum(construct_array((Datum *) values, n, INT2OID, sizeof(int16), true, TYPALIGN_SHORT));
}

static void
give_table(ReturnSetInfo *result, Tuplestorestate *rows, const TableRead *table, int n_keys)
{
	Datum		values[3];
	bool		nulls[3] = {false, false, table->whole_row};
	Datum	   *columns = palloc((n_keys + bms_num_members(table->reads) + 1) * sizeof(Datum));
	int			n = 0;
	int			column = -1;

	for (int k = 0; k < n_keys; k++)
		columns[k] = Int16GetDatum(table->keys[k]);
	values[0] = ObjectIdGetDatum(table->relation);
	values[1] = numbers(columns, n_keys);
	while ((column = bms_next_member(table->reads, column)) >= 0)
		columns[n++] = Int16GetDatum(column);
	values[2] = numbers(columns, n);
	tuplestore_putvalues(rows, result->expectedDesc, values, nulls);
}

Datum
stepadv_tables_read(PG_FUNCTION_ARGS)
{
	int			n_keys = PG_GETARG_INT32(1);
	Tuplestorestate *rows = begin_rows(fcinfo, 3);
	ListCell   *cell;

	if (n_keys < 0 || n_keys > MaxHeapAttributeNumber)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("n_keys must be between 0 and %d, not %d", MaxHeapAttributeNumber, n_keys)));
	foreach(cell, tables_read(relations_of(PG_GETARG_ARRAYTYPE_P(0)), n_keys))
		give_table((ReturnSetInfo *) fcinfo->resultinfo, rows, lfirst(cell), n_keys);
	return (Datum) 0;
}
