/*
 * view_query.h
 *		The query of a view, as the catalog has it.
 */
#ifndef STEPADV_VIEW_QUERY_H
#define STEPADV_VIEW_QUERY_H

#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"

/* What a view is defined as; NULL if there is no such view. */
extern Query *view_query(Oid view);

/*
 * The numbers of the range table entries that a query reads from: those of its
 * FROM, or the arms of its UNION; not the joins among them, and not the entries
 * of OLD and NEW that rules have up to 15.
 */
extern Bitmapset *from_entries(Query *query);

/*
 * The one relation that a view reads in FROM, subqueries and WITH included;
 * InvalidOid if there are none or several, or if the definition is too large to
 * be worth reading.  It never fails because of what the view is: for views of
 * people whom the caller has nothing to do with.
 */
extern Oid	view_source(Oid view);

#endif							/* STEPADV_VIEW_QUERY_H */
