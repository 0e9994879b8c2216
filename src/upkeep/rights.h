/*
 * rights.h
 *		Who may read what kept groups are folded from.
 */
#ifndef STEPADV_RIGHTS_H
#define STEPADV_RIGHTS_H

#include "attach/lineage.h"

/* Whether a role may SELECT the columns of a table that views read. */
extern bool may_read(const TableRead *read, Oid role);

/* The owner of a relation; InvalidOid if it is gone. */
extern Oid	relation_owner(Oid relation);

/* An error if the current user has not the rights of a relation's owner. */
extern void require_owner(Oid relation);

#endif							/* STEPADV_RIGHTS_H */
