/*
 * counts.h
 *		A hash table that counts numbers.
 */
#ifndef STEPADV_COUNTS_H
#define STEPADV_COUNTS_H

#include "arrays.h"

typedef struct Counted
{
	int64		number;			/* hash key */
	int64		n;
	char		status;
} Counted;

/*
 * Numbers near each other, like bins of advantages, get different slots; the bits above the lowest eight are
 * scattered.
 */
static inline uint32
hash_number(int64 number)
{
	return (uint32) ((uint64) number ^ (uint64) (number >> 8) * UINT64CONST(0x9E3779B97F4A7C15) >> 32);
}

#define SH_PREFIX counts
#define SH_ELEMENT_TYPE Counted
#define SH_KEY_TYPE int64
#define SH_KEY number
#define SH_HASH_KEY(table, key) look_on_the_way(hash_number(key))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "hash_table.h"

#define ST_SORT sort_counted
#define ST_ELEMENT_TYPE Counted
#define ST_COMPARE(a, b) (((a)->number > (b)->number) - ((a)->number < (b)->number))
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

static inline Counted *
count_number(counts_hash *counts, int64 number, int64 n)
{
	bool		found;
	Counted    *counted = counts_insert(counts, number, &found);

	counted->n = found ? counted->n + n : n;
	return counted;
}

/* All counts, in the order of the numbers. */
static inline Counted *
sorted_counts(counts_hash *counts, int64 *n)
{
	Counted    *sorted = ALLOCATE_ARRAY(Counted, counts->members);
	counts_iterator scan;
	Counted    *counted;

	*n = 0;
	counts_start_iterate(counts, &scan);
	while ((counted = counts_iterate(counts, &scan)) != NULL)
		sorted[(*n)++] = *counted;
	sort_counted(sorted, *n);
	return sorted;
}

#endif							/* STEPADV_COUNTS_H */
