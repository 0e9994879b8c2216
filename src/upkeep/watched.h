#ifndef STEPADV_WATCHED_H
#define STEPADV_WATCHED_H

#include "access/attnum.h"
#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

/*
 * A table below the views, or one through which rows of it may be written: its
 * partitions or children, and its parents.  Statement triggers fire for the
 * table that the statement names, so each of them is watched.
 */
typedef struct WatchedTable
{
	Oid			relation;
	Oid			base;			/* that the views read */
	AttrNumber *keys;			/* columns of the group; 0: unknown */
	Bitmapset  *reads;			/* numbers of the columns that the views read */
	bool		whole_row;		/* all of them */
} WatchedTable;

/* OIDs of a table, its partitions or children and its parents, without a lock. */
extern List *table_family(Oid base);

/* One for each table below the views and each of its family. */
extern List *watched_tables(List *views, int n_keys);

/* The relation among them: all of its entries together; NULL if there is none. */
extern WatchedTable *watched_table(List *views, int n_keys, Oid relation);

/* Whether an index leads to the rows of a group: it begins with the group's columns. */
extern bool has_group_index(Oid relation, const AttrNumber *keys, int n_keys);

#endif							/* STEPADV_WATCHED_H */
