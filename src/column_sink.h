/*
 * column_sink.h
 *		How step_scan.c gets columns out of a function as they are: between it and
 *		rows.c only.
 */
#ifndef STEPADV_COLUMN_SINK_H
#define STEPADV_COLUMN_SINK_H

#include "nodes/extensible.h"

#include "rows.h"

/*
 * Passed as resultinfo, where other callers of set-returning functions pass a
 * ReturnSetInfo.  It is never copied, compared or printed, so no other code has to know
 * its methods by name.
 */
typedef struct ColumnSink
{
	ExtensibleNode node;
	int			n_columns;		/* expected */
	bool		asked[MAX_ROW_COLUMNS]; /* which of them are read */
	ResultColumn columns[MAX_ROW_COLUMNS];
	uint64		n_rows;
} ColumnSink;

extern const char column_sink_name[];

static inline void
column_sink_init(ColumnSink *sink, int n_columns)
{
	sink->node.type = T_ExtensibleNode;
	sink->node.extnodename = column_sink_name;
	sink->n_columns = n_columns;
}

/* What the caller of a function passed, or NULL if it needs rows. */
static inline ColumnSink *
column_sink_of(FunctionCallInfo fcinfo)
{
	Node	   *node = fcinfo->resultinfo;

	if (node == NULL || !IsA(node, ExtensibleNode) ||
		((ExtensibleNode *) node)->extnodename != column_sink_name)
		return NULL;
	return (ColumnSink *) node;
}

#endif							/* STEPADV_COLUMN_SINK_H */
