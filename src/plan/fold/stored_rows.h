/*
 * stored_rows.h
 *		Access to rows as a heap stores them.
 */
#ifndef STEPADV_STORED_ROWS_H
#define STEPADV_STORED_ROWS_H

#include "access/heapam.h"
#include "access/htup_details.h"
#include "storage/bufmgr.h"

#include "plan/fold/input.h"

/* A visible row of the current page of a scan in page-at-a-time mode. */
static inline HeapTupleHeader
visible_row(const HeapScanDesc scan, Page page, uint32 row)
{
	return (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, scan->rs_vistuples[row]));
}

/* A bit for each column up to the last one read that is not NULL; NO_ROW if the row lacks columns added later. */
static inline uint64
present_columns(const HeapTupleHeader tuple, AttrNumber last)
{
	uint64		present = 0;

	if (unlikely(HeapTupleHeaderGetNatts(tuple) < last))
		return NO_ROW;
	if ((tuple->t_infomask & HEAP_HASNULL) == 0)
		return (UINT64CONST(1) << last) - 1;
	for (int byte = 0; byte * 8 < last; byte++)
		present |= (uint64) tuple->t_bits[byte] << (byte * 8);
	return present & ((UINT64CONST(1) << last) - 1);
}

/* Does a row have this layout? */
static inline bool
has_layout(const FoldSource *source, const StoredLayout *layout, const HeapTupleHeader tuple)
{
	const char *data = (const char *) tuple + tuple->t_hoff;

	if (present_columns(tuple, source->last_position) != layout->present)
		return false;
	for (int v = 0; v < layout->n_short; v++)
		if (*(const uint8 *) (data + layout->short_values[v].offset) != layout->short_values[v].first_byte)
			return false;
	return true;
}

#endif							/* STEPADV_STORED_ROWS_H */
