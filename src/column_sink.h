/*
 * column_sink.h
 *		Lets step_scan.c take columns from a function as they are.  Only for step_scan.c and rows.c.
 */
#ifndef STEPADV_COLUMN_SINK_H
#define STEPADV_COLUMN_SINK_H

#include "nodes/extensible.h"

#include "rows.h"

/*
 * Passed as resultinfo, where other callers of set-returning functions pass a ReturnSetInfo.  It is never
 * copied, compared or printed, so it needs no registered methods.
 */
typedef struct ColumnSink
{
	ExtensibleNode node;
	int			n_columns;		/* number of result columns expected */
	bool		asked[MAX_ROW_COLUMNS]; /* whether each of them is read */
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

/* The sink that the caller passed, or NULL if it wants rows. */
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
