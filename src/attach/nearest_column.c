/*
 * nearest_column.c
 *		nearest_column(relation, name): what was meant by the name of a column that
 *		does not exist.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(stepadv_nearest_column);

/* The server's own rule: at most so many letters may differ, and at most half of them. */
#define MAX_DISTANCE 3

Datum
stepadv_nearest_column(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_GETARG_OID(0);
	text	   *name = PG_GETARG_TEXT_PP(1);
	int			length = VARSIZE_ANY_EXHDR(name);
	int			n_columns = 0;
	int			best = MAX_DISTANCE + 1;
	NameData	nearest = {{0}};
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));

	if (!HeapTupleIsValid(tuple) || length >= NAMEDATALEN)
	{
		if (HeapTupleIsValid(tuple))
			ReleaseSysCache(tuple);
		PG_RETURN_NULL();
	}
	n_columns = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	for (int c = 1; c <= n_columns; c++)
	{
		Form_pg_attribute column;
		int			distance;

		tuple = SearchSysCacheAttNum(relation, c);
		/* Dropped columns are not found. */
		if (!HeapTupleIsValid(tuple))
			continue;
		column = (Form_pg_attribute) GETSTRUCT(tuple);
		distance = varstr_levenshtein_less_equal(VARDATA_ANY(name), length, NameStr(column->attname), strlen(NameStr(column->attname)),
												 1, 1, 1, best, true);
		if (distance < best && distance <= length / 2)
		{
			best = distance;
			nearest = column->attname;
		}
		ReleaseSysCache(tuple);
	}
	if (best > MAX_DISTANCE)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(NameStr(nearest)));
}
