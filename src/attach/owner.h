#ifndef STEPADV_OWNER_H
#define STEPADV_OWNER_H

#include "nodes/pg_list.h"

/* The owner of a relation; InvalidOid if it is gone. */
extern Oid	relation_owner(Oid relation);

/* Does a relation belong to the role itself?  False if it is gone. */
extern bool is_owned(Oid relation, Oid role);

/*
 * Does the current user have the privileges of a role, as a superuser always has?  Use it for what is then
 * done as that role, or only returns what every role can read.
 */
extern bool may_become(Oid role);

/* Raise an error if the current user lacks the privileges of a relation's owner. */
extern void require_owner(Oid relation);

/* The table of a trigger that keeps groups; InvalidOid for other triggers and dropped ones. */
extern Oid	kept_table(Oid trigger);

/* The triggers that depend on an attachment. */
extern List *triggers_of(Oid attachment);

#endif							/* STEPADV_OWNER_H */
