/*
 * sparse_sums.c
 *		Sums of sparse feature vectors by owner, with only the indices that occur.
 *
 * Addends are appended to a log, so that a row touches only the memory at its end.
 * When the log is several times as long as the sums, it is added up: addends are
 * sorted by owner, and each owner's are summed in a vector of all indices.  So time
 * is linear in the number of entries, and memory in the number of distinct indices of
 * each owner.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "arrays.h"
#include "progress/sparse_sums.h"

#define FIRST_ENTRIES 64
#define FIRST_ADDENDS 8
/* The log is added up if longer than this multiple of the sums, and than LEAST_LOG. */
#define LONGEST_LOG 4
#define LEAST_LOG (256 * 1024)
#define WORD_BITS 64

/* How many addends ahead to prefetch, since those of an owner are scattered over the log. */
#define AHEAD 8

/* An addend: n entries of the log from first on. */
typedef struct Run
{
	uint64		first;
	uint32		n;
} Run;

void
sparse_sums_init(SparseSums *sums, MemoryContext context)
{
	*sums = (SparseSums) {.context = context};
}

static void *
resize(MemoryContext context, void *array, Size size)
{
	return array == NULL ? MemoryContextAllocHuge(context, size) : repalloc_huge(array, size);
}

static void
require_entries(SparseEntries *entries, uint64 n, MemoryContext context)
{
	if (entries->place != NULL && entries->n + n <= entries->capacity)
		return;
	entries->capacity = Max(Max(2 * entries->capacity, entries->n + n), FIRST_ENTRIES);
	entries->place = resize(context, entries->place, entries->capacity * sizeof(int32));
	entries->weight = resize(context, entries->weight, entries->capacity * sizeof(double));
}

void
sparse_sums_make_room(SparseSums *sums, uint32 n, int32 **place, double **weight)
{
	require_entries(&sums->log, n, sums->context);
	if (sums->n_addends == sums->addends_capacity)
	{
		sums->addends_capacity = Max(2 * sums->addends_capacity, FIRST_ADDENDS);
		sums->addend = resize(sums->context, sums->addend, sums->addends_capacity * sizeof(SparseAddend));
	}
	*place = sums->log.place + sums->log.n;
	*weight = sums->log.weight + sums->log.n;
}

void
sparse_sums_added(SparseSums *sums, uint32 n)
{
	sums->addend[sums->n_addends++] = (SparseAddend) {0, n};
	sums->log.n += n;
	if (n > 0)
		sums->most_place = Max(sums->most_place, sums->log.place[sums->log.n - 1]);
}

void
sparse_sums_add(SparseSums *sums, const SparseFeatures *features)
{
	int32	   *place;
	double	   *weight;

	sparse_sums_make_room(sums, features->n, &place, &weight);
	memcpy(place, features->place, features->n * sizeof(int32));
	for (int i = 0; i < features->n; i++)
		weight[i] = features->weight[i];
	sparse_sums_added(sums, features->n);
}

bool
sparse_sums_are_due(const SparseSums *sums)
{
	return sums->log.n + sums->n_addends > Max(LONGEST_LOG * sums->sums.n, LEAST_LOG);
}

SparseSum
sparse_sums_of(const SparseSums *sums, uint32 owner)
{
	uint64		first;

	if (owner >= sums->n_owners)
		return (SparseSum) {0};
	first = owner == 0 ? 0 : sums->end[owner - 1];
	return (SparseSum) {sums->sums.place + first, sums->sums.weight + first, (uint32) (sums->end[owner] - first)};
}

/* ----------
 * Adding up
 * ----------
 */

static void
require_room(SparseSums *sums)
{
	if (sums->most_place < sums->room)
		return;
	if (sums->room > 0)
	{
		pfree(sums->sum);
		pfree(sums->seen);
		pfree(sums->touched);
	}
	sums->room = Min(Max(2 * sums->most_place, 1024), MOST_PLACES) + 1;
	sums->sum = MemoryContextAllocZero(sums->context, sums->room * sizeof(double));
	sums->seen = MemoryContextAllocZero(sums->context, (sums->room / WORD_BITS + 1) * sizeof(uint64));
	sums->touched = MemoryContextAllocZero(sums->context, (sums->room / WORD_BITS / WORD_BITS + 1) * sizeof(uint64));
}

/* The addends sorted by owner, then by arrival: owner i's from (*first)[i] to (*first)[i + 1]. */
static Run *
order_addends(const SparseSums *sums, uint32 n_owners, uint64 **first)
{
	uint64	   *next = ALLOCATE_ZEROED_ARRAY(uint64, (Size) n_owners + 2);
	Run		   *runs = ALLOCATE_ARRAY(Run, sums->n_addends);
	uint64		at = 0;

	for (uint64 i = 0; i < sums->n_addends; i++)
		next[sums->addend[i].owner + 2]++;
	for (uint32 i = 2; i < n_owners + 2; i++)
		next[i] += next[i - 1];
	for (uint64 i = 0; i < sums->n_addends; i++)
	{
		runs[next[sums->addend[i].owner + 1]++] = (Run) {at, sums->addend[i].n};
		at += sums->addend[i].n;
		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	*first = next;
	return runs;
}

static void
add_up(SparseSums *sums, const SparseSum *addend)
{
	double	   *sum = sums->sum;
	uint64	   *seen = sums->seen;

	for (uint32 i = 0; i < addend->n; i++)
	{
		uint32		place = (uint32) addend->place[i];
		uint32		word = place / WORD_BITS;

		sum[place] += addend->weight[i];
		seen[word] |= UINT64CONST(1) << (place % WORD_BITS);
		sums->touched[word / WORD_BITS] |= UINT64CONST(1) << (word % WORD_BITS);
	}
}

/* Move the vector's sum to the end of entries, and clear it; indices are from least to most. */
static void
take_sum(SparseSums *sums, SparseEntries *entries, int32 least, int32 most)
{
	uint64		n = entries->n;

	for (int32 t = least / WORD_BITS / WORD_BITS; t <= most / WORD_BITS / WORD_BITS; t++)
	{
		for (uint64 words = sums->touched[t]; words != 0; words &= words - 1)
		{
			int32		w = t * WORD_BITS + pg_rightmost_one_pos64(words);

			for (uint64 bits = sums->seen[w]; bits != 0; bits &= bits - 1)
			{
				int32		place = w * WORD_BITS + pg_rightmost_one_pos64(bits);

				entries->place[n] = place;
				entries->weight[n++] = sums->sum[place];
				sums->sum[place] = 0;
			}
			sums->seen[w] = 0;
		}
		sums->touched[t] = 0;
	}
	entries->n = n;
}

/* Append the sum of an owner's addends to entries, which must have room for all of them. */
static void
sum_owner(SparseSums *sums, SparseEntries *entries, const SparseSum *before, const Run *runs, uint64 n_runs, const Run *last)
{
	int32		least = PG_INT32_MAX;
	int32		most = 0;

	for (int64 r = -1; r < (int64) n_runs; r++)
	{
		SparseSum	addend = *before;

		if (r >= 0)
		{
			if (runs + r + AHEAD < last)
			{
				__builtin_prefetch(sums->log.place + runs[r + AHEAD].first);
				__builtin_prefetch(sums->log.weight + runs[r + AHEAD].first);
				__builtin_prefetch(sums->log.weight + runs[r + AHEAD].first + 8);
			}
			addend = (SparseSum) {sums->log.place + runs[r].first, sums->log.weight + runs[r].first, runs[r].n};
		}
		if (addend.n == 0)
			continue;
		least = Min(least, addend.place[0]);
		most = Max(most, addend.place[addend.n - 1]);
		add_up(sums, &addend);
		CHECK_FOR_INTERRUPTS();
	}
	if (most > 0)
		take_sum(sums, entries, least, most);
}

void
sparse_sums_compact(SparseSums *sums, uint32 n_owners)
{
	SparseEntries entries = {0};
	uint64	   *end;
	uint64	   *first;
	Run		   *runs;

	if (sums->n_addends == 0 && sums->n_owners == n_owners)
		return;
	require_room(sums);
	require_entries(&entries, sums->sums.n + sums->log.n, sums->context);
	end = MemoryContextAllocHuge(sums->context, Max(n_owners, 1) * sizeof(uint64));
	runs = order_addends(sums, n_owners, &first);
	for (uint32 owner = 0; owner < n_owners; owner++)
	{
		SparseSum	before = sparse_sums_of(sums, owner);

		sum_owner(sums, &entries, &before, runs + first[owner], first[owner + 1] - first[owner], runs + sums->n_addends);
		end[owner] = entries.n;
	}
	pfree(runs);
	pfree(first);
	if (sums->sums.place != NULL)
	{
		pfree(sums->sums.place);
		pfree(sums->sums.weight);
	}
	if (sums->end != NULL)
		pfree(sums->end);
	entries.capacity = Max(entries.n, 1);
	entries.place = repalloc_huge(entries.place, entries.capacity * sizeof(int32));
	entries.weight = repalloc_huge(entries.weight, entries.capacity * sizeof(double));
	sums->sums = entries;
	sums->end = end;
	sums->n_owners = n_owners;
	sums->log.n = 0;
	sums->n_addends = 0;
}
