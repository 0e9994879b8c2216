/*
 * stored_rows.h
 *		Rows as a heap stores them.
 */
#ifndef STEPADV_STORED_ROWS_H
#define STEPADV_STORED_ROWS_H

#include "access/heapam.h"
#include "access/htup_details.h"
#include "storage/bufmgr.h"

/* One of the rows that a scan, which looks at all of a page at once, found visible on the page that it is at. */
static inline HeapTupleHeader
visible_row(const HeapScanDesc scan, Page page, uint32 row)
{
	return (HeapTupleHeader) PageGetItem(page, PageGetItemId(page, scan->rs_vistuples[row]));
}

/* Has a row all columns up to the last that is read, none of them NULL? */
static inline bool
has_all(const HeapTupleHeader tuple, AttrNumber last)
{
	const uint8 *present = tuple->t_bits;

	if (HeapTupleHeaderGetNatts(tuple) < last)
		return false;
	if ((tuple->t_infomask & HEAP_HASNULL) == 0)
		return true;
	for (; last >= 8; last -= 8)
		if (*present++ != 0xFF)
			return false;
	return (~*present & ((1 << last) - 1)) == 0;
}

#endif							/* STEPADV_STORED_ROWS_H */
