/*
 * digest.c
 *		A digest in memory, to which others can be added.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "digest/digest.h"
#include "hash.h"

/* An empty digest. */
void
digest_init(Digest *digest, MemoryContext context, int parts)
{
	memset(digest, 0, sizeof(Digest));
	digest->context = context;
	digest->parts = parts;
}

/* Digests with fewer reward components add nothing to the others. */
void
digest_make_room_for_rewards(Digest *digest, int n)
{
	if (n > 0 && digest->rewards == NULL)
		digest->rewards = MemoryContextAllocZero(digest->context, sizeof(RewardTotals) * PG_UINT8_MAX);
	digest->n_rewards = Max(digest->n_rewards, n);
}

static CallTotals *
new_calls(Digest *digest, const Category *category)
{
	CallTotals *calls;
	char	   *copy = NULL;

	if (digest->n_calls == digest->room_for_calls)
	{
		Size		size;

		digest->room_for_calls = Max(digest->room_for_calls * 2, 16);
		size = array_size(digest->room_for_calls, sizeof(CallTotals));
		digest->calls = digest->calls ? repalloc_huge(digest->calls, size) : MemoryContextAllocHuge(digest->context, size);
	}
	if (category->bytes != NULL)
	{
		copy = MemoryContextAlloc(digest->context, Max(category->length, 1));
		memcpy(copy, category->bytes, category->length);
	}
	calls = &digest->calls[digest->n_calls++];
	memset(calls, 0, sizeof(CallTotals));
	calls->category = (Category) {copy, category->length};
	calls->methods = MemoryContextAllocZero(digest->context, sizeof(AdvantageTotals) * Max(digest->n_methods, 1));
	return calls;
}

/* The totals of a category, empty if it is new.  The pointer is valid until another category is added. */
CallTotals *
digest_calls(Digest *digest, const Category *category)
{
	IdEntry    *place;
	bool		found;

	if (digest->call_places == NULL)
		digest->call_places = ids_create(digest->context, 16, NULL);
	place = ids_insert(digest->call_places, category->bytes == NULL ? 0 : (int64) hash_bytes_64(category->bytes, category->length), &found);
	if (!found)
	{
		place->number = digest->n_calls;
		return new_calls(digest, category);
	}
	return &digest->calls[place->number];
}

/* The totals of rollouts at a distance, empty if it is new. */
Horizon *
digest_horizon(Digest *digest, int64 key)
{
	Horizon    *horizon;
	bool		found;

	if (digest->horizons == NULL)
		digest->horizons = horizon_create(digest->context, 16, NULL);
	horizon = horizon_insert(digest->horizons, key, &found);
	if (!found)
	{
		horizon->n = horizon->n_successes = horizon->n_steps = 0;
		horizon->excess = (Sum) {0, 0};
		horizon->excesses = NULL;
	}
	return horizon;
}

void
count_in(counts_hash **counts, MemoryContext context, int64 number, int64 n)
{
	if (*counts == NULL)
		*counts = counts_create(context, 8, NULL);
	count_number(*counts, number, n);
}
