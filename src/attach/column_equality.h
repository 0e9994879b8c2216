/*
 * column_equality.h
 *		Columns that a query's conditions equate.
 */
#ifndef STEPADV_COLUMN_EQUALITY_H
#define STEPADV_COLUMN_EQUALITY_H

#include "attach/view_query.h"

/* A column of a range table entry, of a query so many levels out from where it is mentioned. */
typedef struct Column
{
	int			levels;
	int			entry;
	int			column;
} Column;

/*
 * The column that an expression of a level is: itself, by a join's or GROUP BY's
 * name for it, or under another name of its type that leaves equality what it is.
 * False if it is something else.
 */
extern bool column_of(Node *expression, const Level *level, Column *column);

/*
 * The two columns of a condition `column = column`, if the operator is that by
 * which values of both are grouped: then equated columns can stand for each other
 * in any number of steps.  False for all other conditions.
 */
extern bool equated_columns(Node *condition, const Level *level, Column *left, Column *right);

/* Whether values of two types, one cast to the other without a function, are equal in both or in none. */
extern bool same_equality(Oid type, Oid other);

#endif							/* STEPADV_COLUMN_EQUALITY_H */
