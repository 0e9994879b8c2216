#ifndef STEPADV_TABLES_READ_H
#define STEPADV_TABLES_READ_H

#include "access/attnum.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

/*
 * A table below the views, or one through which its rows may be written: its partitions or children, and its
 * parents.  Statement triggers fire for the table that the statement names, so each of them is watched.
 */
typedef struct WatchedTable
{
	Oid			relation;
	Oid			base;			/* the table that the views read */
	AttrNumber *keys;			/* columns of the group; 0: unknown */
	Bitmapset  *reads;			/* numbers of the columns that the views read */
	bool		whole_row;		/* all of them */
} WatchedTable;

/* OIDs of a table, its partitions or children and its parents; takes no locks. */
extern List *table_family(Oid base);

/* The merged entries of a relation in the families of the tables below the views; NULL if it is in none. */
extern WatchedTable *watched_table(List *views, int n_keys, Oid relation);

#endif							/* STEPADV_TABLES_READ_H */
