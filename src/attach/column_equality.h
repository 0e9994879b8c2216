/*
 * column_equality.h
 *		Columns that a query's conditions equate.
 */
#ifndef STEPADV_COLUMN_EQUALITY_H
#define STEPADV_COLUMN_EQUALITY_H

#include "attach/view_query.h"

/* A column of a range table entry, in a query `levels` levels out from where it is mentioned. */
typedef struct Column
{
	int			levels;
	int			entry;
	int			column;
} Column;

/*
 * The column that an expression refers to: directly, by a join's or GROUP BY's name for it, or by a cast to a
 * type with the same equality.  False if it is something else.
 */
extern bool column_of(Node *expression, const Level *level, Column *column);

/*
 * The two columns of a condition `column = column`, if the operator is the one that groups values of both, so
 * that equality is transitive.  False for all other conditions.
 */
extern bool equated_columns(Node *condition, const Level *level, Column *left, Column *right);

/* Is the equality of two types the same, if one is cast to the other without a function? */
extern bool same_equality(Oid type, Oid other);

#endif							/* STEPADV_COLUMN_EQUALITY_H */
