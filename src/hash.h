/*
 * hash.h
 *		XXH3-64, the only hash function for identities.
 *
 * Hashes are stored in users' tables, so they must be the same on every machine and in every version.  XXH3-64
 * has been frozen since xxHash 0.8.0, and reads its input as little-endian.  Its 64 bits are returned as a
 * bigint.
 */
#ifndef STEPADV_HASH_H
#define STEPADV_HASH_H

#include "port/pg_bswap.h"

/* Inline: short inputs take a few nanoseconds, and no library is linked. */
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

/* signature_hash(text): hashes UTF-8, so that databases of all encodings agree. */
extern int64 hash_of_text(const char *bytes, int length);

/* signature_hash(bigint, bigint): hashes the bytes of both, in the format of int8send. */
static inline int64
hash_of_pair(int64 a, int64 b)
{
	uint64		bytes[] = {pg_hton64((uint64) a), pg_hton64((uint64) b)};

	return hash_bytes_64(bytes, sizeof(bytes));
}

/* Hash a number with a previous hash as seed, to chain them. */
static inline int64
hash_int64_onto(int64 number, int64 seed)
{
#ifdef WORDS_BIGENDIAN
	number = (int64) __builtin_bswap64((uint64) number);
#endif
	return (int64) XXH3_64bits_withSeed(&number, sizeof(number), (XXH64_hash_t) seed);
}

#endif							/* STEPADV_HASH_H */
