/*
 * hash.h
 *		XXH3-64 as stepadv's one hash of identities.
 *
 * Hashes are stored in users' tables, so they must be the same on every
 * machine and in every version: XXH3-64 is frozen since xxHash 0.8.0, reads its
 * input as little-endian, and its value is taken as a bigint's bits.
 */
#ifndef STEPADV_HASH_H
#define STEPADV_HASH_H

#include "port/pg_bswap.h"

/* Inlined: short inputs are hashed in a few nanoseconds, no library to link. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#if XXH_VERSION_NUMBER < 800
#error "stepadv needs xxHash 0.8.0 or later, whose XXH3 is stable"
#endif

static inline int64
hash_bytes_64(const void *bytes, size_t length)
{
	return (int64) XXH3_64bits(bytes, length);
}

/* signature_hash(text): hashed as UTF-8, so that databases of any encoding agree. */
extern int64 hash_of_text(const char *bytes, int length);

/* signature_hash(bigint, bigint): of the bytes of both, as int8send gives them. */
static inline int64
hash_of_pair(int64 a, int64 b)
{
	uint64		bytes[] = {pg_hton64((uint64) a), pg_hton64((uint64) b)};

	return hash_bytes_64(bytes, sizeof(bytes));
}

/* A chain link: the hash of a number on top of a hash. */
static inline int64
hash_int64_onto(int64 number, int64 seed)
{
#ifdef WORDS_BIGENDIAN
	number = (int64) __builtin_bswap64((uint64) number);
#endif
	return (int64) XXH3_64bits_withSeed(&number, sizeof(number), (XXH64_hash_t) seed);
}

#endif							/* STEPADV_HASH_H */
