/*
 * rights.h
 *		Who may read the tables from which kept groups are folded.
 */
#ifndef STEPADV_RIGHTS_H
#define STEPADV_RIGHTS_H

#include "attach/column_lineage.h"

/* May a role SELECT the columns of a table that views read? */
extern bool may_read(const TableRead *read, Oid role);

#endif							/* STEPADV_RIGHTS_H */
