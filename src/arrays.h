/*
 * arrays.h
 *		Arrays that grow with data.
 */
#ifndef STEPADV_ARRAYS_H
#define STEPADV_ARRAYS_H

#include "utils/palloc.h"

/* n numbers, however many; like palloc, which stops at 1 GB. */
#define ALLOCATE_ARRAY(type, n) \
	((type *) MemoryContextAllocHuge(CurrentMemoryContext, Max((Size) (n), 1) * sizeof(type)))
#define ALLOCATE_ZEROED_ARRAY(type, n) \
	((type *) MemoryContextAllocExtended(CurrentMemoryContext, Max((Size) (n), 1) * sizeof(type), \
										 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO))

#endif							/* STEPADV_ARRAYS_H */
