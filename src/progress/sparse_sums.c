/*
 * sparse_sums.c
 *		Sums of sparse feature vectors: only the places that occur.
 *
 * Steps are appended.  When a sum's room is used up its places are added up, one
 * entry each, by way of a vector of all places that the sums share: so the work is
 * linear in the entries, and the memory in the places of each rollout.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "progress/sparse_sums.h"
#include "progress/value.h"

#define ST_SORT sort_places
#define ST_ELEMENT_TYPE int32
#define ST_COMPARE(a, b) (*(a) < *(b) ? -1 : *(a) > *(b))
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

#define FIRST_CAPACITY 40
#define FIRST_COMPACTED 64
#define ENTRY_BYTES (sizeof(double) + sizeof(int32))
#define WORD_BITS 64

void
sparse_sum_reserve(SparseSum *sum, uint64 n, MemoryContext context)
{
	if (n > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a rollout has too many features")));
	*sum = (SparseSum) {.capacity = (uint32) Max(n, 1)};
	sum->weight = MemoryContextAllocHuge(context, (Size) sum->capacity * ENTRY_BYTES);
	sum->place = (int32 *) (sum->weight + sum->capacity);
}

static void
grow(SparseSum *sum, uint64 n, MemoryContext context)
{
	SparseSum	old = *sum;

	/* Allocation rounds up to a power of two of bytes: all of it is used. */
	sparse_sum_reserve(sum, pg_nextpower2_64(Max(n, FIRST_CAPACITY) * ENTRY_BYTES) / ENTRY_BYTES, context);
	if (old.capacity == 0)
		return;
	memcpy(sum->place, old.place, old.n * sizeof(int32));
	memcpy(sum->weight, old.weight, old.n * sizeof(double));
	sum->n = old.n;
	sum->n_compact = old.n_compact;
	pfree(old.weight);
}

static void
require_scratch(SparseScratch *scratch, const SparseSum *sum)
{
	int32		most = 0;

	for (uint32 i = 0; i < sum->n; i++)
		most = Max(most, sum->place[i]);
	if (most >= scratch->most_places)
	{
		if (scratch->most_places > 0)
		{
			pfree(scratch->sum);
			pfree(scratch->seen);
		}
		scratch->most_places = Min(Max(2 * most, 1024), MOST_PLACES) + 1;
		scratch->sum = MemoryContextAllocZero(scratch->context, scratch->most_places * sizeof(double));
		scratch->seen = MemoryContextAllocZero(scratch->context, (scratch->most_places / WORD_BITS + 1) * sizeof(uint64));
	}
	if (sum->n > scratch->most_touched)
	{
		if (scratch->most_touched > 0)
			pfree(scratch->touched);
		scratch->most_touched = sum->capacity;
		scratch->touched = MemoryContextAllocHuge(scratch->context, (Size) scratch->most_touched * sizeof(int32));
	}
}

/* The places that were seen, ascending: read off the bits where they are dense, else sorted. */
static void
order_touched(SparseScratch *scratch, uint32 n)
{
	int32		least = PG_INT32_MAX;
	int32		most = 0;
	uint32		next = 0;

	for (uint32 i = 0; i < n; i++)
	{
		least = Min(least, scratch->touched[i]);
		most = Max(most, scratch->touched[i]);
	}
	if (n == 0 || (uint32) (most - least) / WORD_BITS > 4 * n)
	{
		sort_places(scratch->touched, n);
		return;
	}
	for (int32 w = least / WORD_BITS; w <= most / WORD_BITS; w++)
		for (uint64 bits = scratch->seen[w]; bits != 0; bits &= bits - 1)
			scratch->touched[next++] = w * WORD_BITS + pg_rightmost_one_pos64(bits);
}

void
sparse_sum_compact(SparseSum *sum, SparseScratch *scratch)
{
	uint32		n = 0;

	if (sum->n_compact == sum->n)
		return;
	require_scratch(scratch, sum);
	for (uint32 i = 0; i < sum->n; i++)
	{
		int32		place = sum->place[i];
		uint64		bit = UINT64CONST(1) << (place % WORD_BITS);

		if ((scratch->seen[place / WORD_BITS] & bit) == 0)
		{
			scratch->seen[place / WORD_BITS] |= bit;
			scratch->touched[n++] = place;
		}
		scratch->sum[place] += sum->weight[i];
	}
	order_touched(scratch, n);
	for (uint32 i = 0; i < n; i++)
	{
		int32		place = scratch->touched[i];

		sum->place[i] = place;
		sum->weight[i] = scratch->sum[place];
		scratch->sum[place] = 0;
		scratch->seen[place / WORD_BITS] = 0;
	}
	sum->n = sum->n_compact = n;
}

/*
 * Room for n more entries.  Adding up what is there waits until it may halve it, so
 * that all of the additions together stay linear.
 */
static void
require_room(SparseSum *sum, uint64 n, SparseScratch *scratch)
{
	if (sum->n + n <= sum->capacity)
		return;
	if (sum->n + n > Max(2 * (uint64) sum->n_compact, FIRST_COMPACTED))
		sparse_sum_compact(sum, scratch);
	if (4 * (sum->n + n) > 3 * (uint64) sum->capacity)
		grow(sum, sum->n + n, scratch->context);
}

void
sparse_sum_add(SparseSum *sum, const SparseFeatures *features, SparseScratch *scratch)
{
	require_room(sum, features->n, scratch);
	memcpy(sum->place + sum->n, features->place, features->n * sizeof(int32));
	for (int i = 0; i < features->n; i++)
		sum->weight[sum->n + i] = features->weight[i];
	if (sum->n == 0)
		sum->n_compact = features->n;
	sum->n += features->n;
}

void
sparse_sum_merge(SparseSum *sum, const SparseSum *other, SparseScratch *scratch)
{
	require_room(sum, other->n, scratch);
	memcpy(sum->place + sum->n, other->place, other->n * sizeof(int32));
	memcpy(sum->weight + sum->n, other->weight, other->n * sizeof(double));
	if (sum->n == 0)
		sum->n_compact = other->n_compact;
	sum->n += other->n;
}
