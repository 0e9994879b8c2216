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

/* The level that is so many further out. */
static inline const Level *
level_up(const Level *level, int n)
{
	while (n-- > 0 && level != NULL)
		level = level->outer;
	if (level == NULL)
		elog(ERROR, "a view's query mentions a level that it does not have");
	return level;
}

/* An expression without the casts that change nothing but the type's name. */
static inline Node *
without_relabel(Node *expression)
{
	while (expression != NULL && IsA(expression, RelabelType))
		expression = (Node *) ((RelabelType *) expression)->arg;
	return expression;
}

/*
 * The expression that a column of a join or of GROUP BY refers to, at the same
 * level; NULL for columns of other entries, which stand for themselves, and for
 * dropped ones.
 */
extern Node *entry_expression(RangeTblEntry *entry, AttrNumber column);

/* The WITH query that an entry of a level refers to, and where it is. */
extern CommonTableExpr *with_query(const RangeTblEntry *entry, const Level *level, const Level **defined);

/*
 * Goes on from a mark by who wrote the catalog's rows of an object, and where they are: another mark when one of
 * them is replaced.  index: on that column, or on more that begin with it.
 */
extern int64 mark_rows(int64 mark, Oid catalog, Oid index, AttrNumber column, Oid object);

/* What a session remembers of the catalog until that changes. */
typedef struct Remembered
{
	int64		of;
	int64		value;
	uint64		as_of;			/* catalog_changes */
} Remembered;

/* A number that is another when a relation, a function or an enum has been changed; never 0. */
extern uint64 catalog_changes(void);

/* What a view is defined as; NULL if there is no such view. */
extern Query *view_query(Oid view);

/*
 * The numbers of the range table entries that a query reads from: those of its
 * FROM, or the arms of its UNION; not the joins among them, and not the entries
 * of OLD and NEW that rules have up to 15.
 */
extern Bitmapset *from_entries(Query *query);

/* Those of one item of FROM. */
extern Bitmapset *item_entries(Node *item);

/*
 * Replaces unread result columns by NULL.  columns: those that are
 * read, less FirstLowInvalidHeapAttributeNumber, 0 for all; none of them: all.
 * Columns that decide which rows there are stay.
 */
extern void leave_out_unread(Query *query, const Bitmapset *columns);

/*
 * For each entry of the range table, by number, the columns of it that the query
 * mentions, numbered in the same way; the array begins with the entry 0.
 */
extern Bitmapset **columns_mentioned(Query *query);

/*
 * The one relation that a view reads in FROM, subqueries and WITH included;
 * InvalidOid if there are none or several, or if the definition is too large to
 * be worth reading.  It never fails because of what the view is: for views of
 * people whom the caller has nothing to do with.
 */
extern Oid	view_source(Oid view);

#endif							/* STEPADV_VIEW_QUERY_H */
