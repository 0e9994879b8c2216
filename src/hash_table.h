/*
 * hash_table.h
 *		PostgreSQL's simplehash, included instead of it where a table may be large:
 *		its growth can be cancelled.  No guard: once for each kind of table.
 *
 * It allocates its zeroed memory by one function, which is replaced here.  And
 * what computes the hash of a key is wrapped in look_on_the_way(): a table that
 * grows does that for each entry, in one go.
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
