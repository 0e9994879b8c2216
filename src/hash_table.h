/*
 * hash_table.h
 *		Include this instead of PostgreSQL's simplehash.h if a table may be large, so that its growth can be
 *		cancelled.  No include guard: include it once per kind of table.
 *
 * It replaces the function that allocates zeroed memory.  Also wrap the hash of a key in look_on_the_way():
 * when a table grows, it computes the hash of every entry in one loop.
 */
#include "arrays.h"

#ifndef STEPADV_HASH_TABLE_H
#define STEPADV_HASH_TABLE_H

static inline uint32
look_on_the_way(uint32 hash)
{
	CHECK_FOR_INTERRUPTS();
	return hash;
}

#endif							/* STEPADV_HASH_TABLE_H */

#define MemoryContextAllocExtended(context, size, flags) allocate_zeroed(context, size)
#include "lib/simplehash.h"
#undef MemoryContextAllocExtended
