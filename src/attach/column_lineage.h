#ifndef STEPADV_COLUMN_LINEAGE_H
#define STEPADV_COLUMN_LINEAGE_H

#include "access/attnum.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

/*
 * What views read of a table (or foreign table, or materialized view).
 *
 * keys[i] is a column of the table such that a row affects only those rows of the view whose column i + 1
 * equals it, because it contributes to them or because it hides others (null-extended rows, duplicates); 0 if
 * there is none, or if it is unknown.  Its type can be another one of the same operator family: integer for
 * bigint.
 */
typedef struct TableRead
{
	Oid			relation;
	Bitmapset  *reads;			/* columns that are mentioned, without system columns */
	bool		whole_row;		/* it is also read as a whole */
	AttrNumber *keys;
} TableRead;

/*
 * The tables below views (a table stands for itself), with the first n_keys columns of each view as its keys:
 * a list of TableRead, each table once.  A key is 0 if it differs between the places where the table is read.
 * What functions read is unknown; partitions and children are not listed.
 */
extern List *tables_read(List *relations, int n_keys);

#endif							/* STEPADV_COLUMN_LINEAGE_H */
