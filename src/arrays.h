/*
 * arrays.h
 *		Arrays whose size depends on data.  Allocating a large one checks for interrupts.
 */
#ifndef STEPADV_ARRAYS_H
#define STEPADV_ARRAYS_H

#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/palloc.h"

/* If the size overflows, as it can with 32-bit pointers, SIZE_MAX makes the allocation fail. */
static inline Size
array_size(uint64 n, Size width)
{
	return n > MaxAllocHugeSize / width ? SIZE_MAX : Max((Size) n, 1) * width;
}

/* Allocate an array of n entries.  Unlike palloc, it may exceed 1 GB. */
#define ALLOCATE_ARRAY(type, n) ((type *) allocate_large(array_size((n), sizeof(type))))
#define ALLOCATE_ZEROED_ARRAY(type, n) ((type *) allocate_zeroed(CurrentMemoryContext, array_size((n), sizeof(type))))

/* Allocations of at least this size check for interrupts. */
#define LARGE_PIECE ((Size) 1 << 20)

/* In a loop over i, checks for interrupts from time to time. */
#define CHECK_ONCE_IN_A_WHILE(i) \
	do { \
		if (unlikely((i) % 8192 == 0)) \
			CHECK_FOR_INTERRUPTS(); \
	} while (0)

static inline void *
allocate_large(Size size)
{
	if (size >= LARGE_PIECE)
		CHECK_FOR_INTERRUPTS();
	return MemoryContextAllocHuge(CurrentMemoryContext, size);
}

/* May exceed 1 GB.  Memory is zeroed and copied in pieces, with checks for interrupts. */
extern void *allocate_zeroed(MemoryContext context, Size size);
extern void copy_large(void *to, const void *from, Size size);

/* A one-dimensional SQL array of n elements of width bytes each, all zero. */
extern ArrayType *zeroed_vector(Oid type, int n, Size width);

#endif							/* STEPADV_ARRAYS_H */
