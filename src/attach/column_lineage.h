#ifndef STEPADV_COLUMN_LINEAGE_H
#define STEPADV_COLUMN_LINEAGE_H

#include "access/attnum.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

/*
 * What views read of a table (or foreign table, or materialized view).
 *
 * keys[i] is a column of the table such that a row of it has a part only in rows
 * of the view whose column i + 1 equals it, as the row itself, as what it hides
 * (an outer join's NULLs, a duplicate) or by what it adds to them; 0 if there is
 * none, or unknown.  It can be of another type of the same operator
 * family: integer for bigint.
 */
typedef struct TableRead
{
	Oid			relation;
	Bitmapset  *reads;			/* columns that are mentioned; none of the system's */
	bool		whole_row;		/* also as a whole */
	AttrNumber *keys;
} TableRead;

/*
 * The tables below views (or that are given themselves), with the first n_keys
 * columns of each view as its keys: a list of TableRead, each table once.  Keys
 * that differ between the places where a table is read are 0.  What functions
 * read is not known; partitions and children are not named.
 */
extern List *tables_read(List *relations, int n_keys);

#endif							/* STEPADV_COLUMN_LINEAGE_H */
