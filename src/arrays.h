/*
 * arrays.h
 *		Arrays that grow with data; allocating one checks for interrupts.
 */
#ifndef STEPADV_ARRAYS_H
#define STEPADV_ARRAYS_H

#include "miscadmin.h"
#include "utils/array.h"
#include "utils/memutils.h"
#include "utils/palloc.h"

/* What cannot be counted, where pointers have 32 bits, is refused by the allocation. */
static inline Size
array_size(uint64 n, Size width)
{
	return n > MaxAllocHugeSize / width ? SIZE_MAX : Max((Size) n, 1) * width;
}

/* n numbers, however many; like palloc, which stops at 1 GB. */
#define ALLOCATE_ARRAY(type, n) ((type *) allocate_large(array_size((n), sizeof(type))))
#define ALLOCATE_ZEROED_ARRAY(type, n) ((type *) allocate_zeroed(CurrentMemoryContext, array_size((n), sizeof(type))))

/* Allocations of at least this size check for interrupts. */
#define LARGE_PIECE ((Size) 1 << 20)

/* In a loop over many, at every so many of them. */
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

/* As large as need be; zeroed and copied in pieces. */
extern void *allocate_zeroed(MemoryContext context, Size size);
extern void copy_large(void *to, const void *from, Size size);

/* An SQL array of n elements that take `width` bytes each, zeros. */
extern ArrayType *zeroed_vector(Oid type, int n, Size width);

#endif							/* STEPADV_ARRAYS_H */
