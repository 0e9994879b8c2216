/*
 * rights.h
 *		Who may read what kept groups are folded from.
 */
#ifndef STEPADV_RIGHTS_H
#define STEPADV_RIGHTS_H

#include "attach/column_lineage.h"

/* Whether a role may SELECT the columns of a table that views read. */
extern bool may_read(const TableRead *read, Oid role);

#endif							/* STEPADV_RIGHTS_H */
