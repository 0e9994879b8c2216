/*
 * column_sink.h
 *		How step_scan.c gets columns out of a function as they are.
 *
 * A header of its own, since execnodes.h knows another Group.
 */
#ifndef STEPADV_COLUMN_SINK_H
#define STEPADV_COLUMN_SINK_H

#include "nodes/execnodes.h"

#include "rows.h"

/*
 * What a caller that takes columns as they are (step_scan.c) passes as
 * resultinfo.
 */
typedef struct ColumnSink
{
	ReturnSetInfo info;
	int			n_columns;		/* expected */
	ResultColumn columns[MAX_ROW_COLUMNS];
	uint64		n_rows;
} ColumnSink;

/* Beside the bits of SetFunctionReturnMode in allowedModes. */
#define TAKES_COLUMNS 0x4000

#endif							/* STEPADV_COLUMN_SINK_H */
