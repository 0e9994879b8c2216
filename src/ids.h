/*
 * ids.h
 *		A hash table of ids, each with a number, such as an index.
 */
#ifndef STEPADV_IDS_H
#define STEPADV_IDS_H

#include "hash.h"

typedef struct IdEntry
{
	int64		id;				/* hash key */
	uint32		number;			/* set by the caller that inserts an id */
	uint32		status;			/* used by the hash table */
} IdEntry;

#define SH_PREFIX ids
#define SH_ELEMENT_TYPE IdEntry
#define SH_KEY_TYPE int64
#define SH_KEY id
#define SH_HASH_KEY(table, key) look_on_the_way((uint32) hash_bytes_64(&(key), sizeof(key)))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "hash_table.h"

#endif							/* STEPADV_IDS_H */
