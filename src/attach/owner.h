#ifndef STEPADV_OWNER_H
#define STEPADV_OWNER_H

/* InvalidOid if it is gone. */
extern Oid	relation_owner(Oid relation);

/* Whether a relation belongs to a role itself; false if it is gone. */
extern bool is_owned(Oid relation, Oid role);

/*
 * Whether the current user has the rights of a role, as a superuser always has: for what
 * is then done as that role, or only returns what every role can read.
 */
extern bool may_become(Oid role);

/* An error if the current user has not the rights of a relation's owner. */
extern void require_owner(Oid relation);

/* The table of a trigger that keeps groups; InvalidOid of any other, and of one that is gone. */
extern Oid	kept_table(Oid trigger);

#endif							/* STEPADV_OWNER_H */
