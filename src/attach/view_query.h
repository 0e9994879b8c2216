#ifndef STEPADV_VIEW_QUERY_H
#define STEPADV_VIEW_QUERY_H

#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"

/* A query inside others, whose columns it can mention. */
typedef struct Level
{
	Query	   *query;
	const struct Level *outer;
} Level;

/* The level that is n levels further out. */
static inline const Level *
level_up(const Level *level, int n)
{
	while (n-- > 0 && level != NULL)
		level = level->outer;
	if (level == NULL)
		elog(ERROR, "a view's query mentions a level that it does not have");
	return level;
}

/* Strip casts that change only the type's name. */
static inline Node *
without_relabel(Node *expression)
{
	while (expression != NULL && IsA(expression, RelabelType))
		expression = (Node *) ((RelabelType *) expression)->arg;
	return expression;
}

/*
 * The expression that a column of a join or of GROUP BY refers to, at the same level; NULL for columns of
 * other entries and for dropped ones.
 */
extern Node *entry_expression(RangeTblEntry *entry, AttrNumber column);

/* The WITH query that an entry of a level refers to, and where it is. */
extern CommonTableExpr *with_query(const RangeTblEntry *entry, const Level *level, const Level **defined);

/*
 * Extend a mark by the xmin and location of an object's rows in a catalog, so that it changes when one of
 * them is replaced.  The index is on that column, or begins with it.
 */
extern int64 mark_rows(int64 mark, Oid catalog, Oid index, AttrNumber column, Oid object);

/* A value from the catalog, kept in the session until the catalog changes. */
typedef struct Remembered
{
	int64		of;
	int64		value;
	uint64		as_of;			/* catalog_changes */
} Remembered;

/* A counter that changes when a relation, a function or an enum has been changed; never 0. */
extern uint64 catalog_changes(void);

/* The definition of a view; NULL if there is no such view. */
extern Query *view_query(Oid view);

/*
 * The range table entries that a query reads from: those of its FROM, or the arms of its UNION; not the joins
 * among them, and not the entries OLD and NEW that rules have up to 15.
 */
extern Bitmapset *from_entries(Query *query);

/* The same for one FROM item. */
extern Bitmapset *item_entries(Node *item);

/*
 * Replace unread result columns by NULL.  `columns` has the numbers of those that are read, less
 * FirstLowInvalidHeapAttributeNumber; 0, or an empty set, means all.  Columns that decide which rows there are
 * stay.
 */
extern void leave_out_unread(Query *query, const Bitmapset *columns);

/*
 * For each range table entry, the columns that the query mentions, numbered in the same way; the array begins
 * with entry 0.
 */
extern Bitmapset **columns_mentioned(Query *query);

/*
 * The only relation that a view reads in FROM, including subqueries and WITH; InvalidOid if there is none,
 * several, or the definition is too large to read.  It never fails because of the definition, so that it can
 * be used for views of unrelated users.
 */
extern Oid	view_source(Oid view);

#endif							/* STEPADV_VIEW_QUERY_H */
