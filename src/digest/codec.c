/*
 * codec.c
 *		Writes a digest as bytes, and adds the bytes of one to a digest: see digest.h.
 */
#include "postgres.h"

#include "common/int.h"
#include "miscadmin.h"

#include "digest/bytes.h"

/* ----------
 * Encoding and decoding
 * ----------
 */

/* Writes values as bytes, or reads them and adds them to the present values. */
typedef struct Coder
{
	StringInfo	bytes;			/* to write to, or NULL */
	DigestReader *reader;		/* to read from otherwise */
	MemoryContext context;		/* of what is added */
} Coder;

/* Valid counts do not overflow, even those of all digests together. */
static void
code_count(Coder *coder, int64 *count)
{
	if (coder->bytes != NULL)
		write_count(coder->bytes, *count);
	else if (unlikely(pg_add_s64_overflow(*count, read_count(coder->reader), count)))
		refuse_digest(coder->reader);
}

static void
code_sum(Coder *coder, Sum *sum)
{
	Sum			added;

	if (coder->bytes != NULL)
	{
		write_sum(coder->bytes, sum);
		return;
	}
	added = read_sum(coder->reader);
	/* Take the first one unchanged. */
	if (sum->high == 0 && sum->low == 0)
		*sum = added;
	else
		sum_add_sum(sum, &added);
}

/* The least, and the greatest, of all. */
static void
code_range(Coder *coder, double *least, double *greatest)
{
	double		low;
	double		high;

	if (coder->bytes != NULL)
	{
		write_number(coder->bytes, *least);
		write_number(coder->bytes, *greatest);
		return;
	}
	low = read_number(coder->reader);
	high = read_number(coder->reader);
	*least = Min(*least, low);
	*greatest = Max(*greatest, high);
}

/* Read a key, stored as its distance from the previous one; it must be above that and within the bounds. */
static inline int64
read_key(DigestReader *reader, int64 before, bool is_first, int64 least, int64 most)
{
	int64		key = (int64) ((uint64) before + (uint64) read_signed(reader));

	if (unlikely(key > most || key < least || (!is_first && key <= before)))
		refuse_digest(reader);
	return key;
}

static inline void
write_key(StringInfo bytes, int64 before, int64 key)
{
	write_signed(bytes, (int64) ((uint64) key - (uint64) before));
}

/* The number of entries that follow. */
static int64
code_n(Coder *coder, int64 n)
{
	if (coder->bytes == NULL)
		return read_n(coder->reader);
	write_count(coder->bytes, n);
	return n;
}

static void
write_counts(StringInfo bytes, counts_hash *counts)
{
	int64		n = 0;
	Counted    *sorted = counts != NULL ? sorted_counts(counts, &n) : NULL;
	int64		before = 0;

	write_count(bytes, n);
	for (int64 i = 0; i < n; i++)
	{
		write_key(bytes, before, sorted[i].number);
		write_count(bytes, sorted[i].n);
		before = sorted[i].number;
		CHECK_ONCE_IN_A_WHILE(i);
	}
	if (sorted != NULL)
		pfree(sorted);
}

static void
code_counts(Coder *coder, counts_hash **counts, int64 least, int64 most)
{
	int64		number = 0;
	int64		n;

	if (coder->bytes != NULL)
	{
		write_counts(coder->bytes, *counts);
		return;
	}
	n = read_n(coder->reader);
	if (n > 0 && *counts == NULL)
		*counts = counts_create(coder->context, 8, NULL);
	for (int64 i = 0; i < n; i++)
	{
		int64		count;

		number = read_key(coder->reader, number, i == 0, least, most);
		count = read_count(coder->reader);
		if (unlikely(count == 0))
			refuse_digest(coder->reader);
		count_number(*counts, number, count);
		CHECK_ONCE_IN_A_WHILE(i);
	}
}

/* ----------
 * Parts
 * ----------
 */

static void
code_group_counts(Coder *coder, Digest *digest)
{
	int			n_rewards = digest->n_rewards;

	for (int i = 0; i < N_DIGEST_COUNTS; i++)
		code_count(coder, &digest->counts[i]);
	code_sum(coder, &digest->returns);
	if (coder->bytes != NULL)
		write_count(coder->bytes, n_rewards);
	else
	{
		n_rewards = (int) read_limited(coder->reader, PG_UINT8_MAX);
		digest_make_room_for_rewards(digest, n_rewards);
	}
	for (int i = 0; i < n_rewards; i++)
	{
		code_count(coder, &digest->rewards[i].n);
		code_sum(coder, &digest->rewards[i].sum);
	}
}

/* False if the sums are empty, and nothing follows. */
static bool
code_advantage_sums(Coder *coder, AdvantageTotals *totals)
{
	int64		before = coder->bytes != NULL ? 0 : totals->n;

	code_count(coder, &totals->n);
	if (totals->n == before)
		return false;
	code_count(coder, &totals->n_positive);
	code_count(coder, &totals->n_negative);
	code_sum(coder, &totals->sum);
	code_sum(coder, &totals->abs_sum);
	return true;
}

static void
code_advantages(Coder *coder, Digest *digest)
{
	for (AdvantageTotals *totals = digest->advantages; totals < digest->advantages + digest->n_methods; totals++)
		if (code_advantage_sums(coder, totals))
		{
			code_sum(coder, &totals->square_sum);
			code_range(coder, &totals->least, &totals->greatest);
		}
}

static void
code_histogram(Coder *coder, Digest *digest)
{
	for (int i = 0; i < digest->n_methods; i++)
		code_counts(coder, &digest->advantages[i].bins, -(int64) FURTHEST_BIN, (int64) FURTHEST_BIN);
}

/* The pairs that disagree on some step, each as its distance from the previous one. */
static void
write_apart(StringInfo bytes, const Digest *digest)
{
	int			before = -1;

	for (int i = 0; i < digest_n_pairs(digest); i++)
		if (digest->apart[i] > 0)
		{
			write_count(bytes, i - before);
			write_number(bytes, digest->apart[i]);
			before = i;
		}
}

static void
add_apart(DigestReader *reader, Digest *digest)
{
	int			n_pairs = digest_n_pairs(digest);
	int64		pair = -1;

	while (reader->at < reader->end)
	{
		int64		distance = read_limited(reader, n_pairs);
		double		apart = read_number(reader);

		pair += distance;
		if (distance == 0 || pair >= n_pairs || apart <= 0)
			refuse_digest(reader);
		digest->apart[pair] = Max(digest->apart[pair], apart);
	}
}

static void
code_signs(Coder *coder, Digest *digest)
{
	bool		has_pairs = digest_n_pairs(digest) > 0;

	/* A digit for the outcome and one for each method. */
	code_counts(coder, &digest->signs, has_pairs ? 0 : 1, has_pairs ? (INT64CONST(4) << 2 * digest->n_methods) - 1 : 0);
	if (coder->bytes != NULL)
		write_apart(coder->bytes, digest);
	else
		add_apart(coder->reader, digest);
}

/* Calls without a category come first, the others by its bytes. */
static int
compare_calls(const void *a, const void *b)
{
	const Category *one = &((const CallTotals *) a)->category;
	const Category *other = &((const CallTotals *) b)->category;
	int			result;

	if (one->bytes == NULL || other->bytes == NULL)
		return (one->bytes != NULL) - (other->bytes != NULL);
	result = memcmp(one->bytes, other->bytes, Min(one->length, other->length));
	return result != 0 ? result : (one->length > other->length) - (one->length < other->length);
}

static CallTotals *
sorted_calls(const Digest *digest)
{
	CallTotals *sorted = ALLOCATE_ARRAY(CallTotals, digest->n_calls);

	if (digest->n_calls > 0)
		memcpy(sorted, digest->calls, sizeof(CallTotals) * digest->n_calls);
	qsort(sorted, digest->n_calls, sizeof(CallTotals), compare_calls);
	return sorted;
}

static void
write_category(StringInfo bytes, const Category *category)
{
	write_count(bytes, category->bytes != NULL);
	if (category->bytes != NULL)
		write_name(bytes, category);
}

static CallTotals *
calls_of_next(DigestReader *reader, Digest *digest)
{
	Category	category = {NULL, 0};

	if (read_limited(reader, 1) == 1)
		category = read_name(reader);
	return digest_calls(digest, &category);
}

static void
code_calls(Coder *coder, Digest *digest)
{
	CallTotals *sorted = coder->bytes != NULL ? sorted_calls(digest) : NULL;
	int64		n = code_n(coder, digest->n_calls);

	for (int64 i = 0; i < n; i++)
	{
		CallTotals *calls = sorted != NULL ? &sorted[i] : calls_of_next(coder->reader, digest);

		if (sorted != NULL)
			write_category(coder->bytes, &calls->category);
		for (int c = 0; c < N_CALL_COUNTS; c++)
			code_count(coder, &calls->counts[c]);
		for (int m = 0; m < digest->n_methods; m++)
			(void) code_advantage_sums(coder, &calls->methods[m]);
	}
	if (sorted != NULL)
		pfree(sorted);
}

static void
code_measures(Coder *coder, Digest *digest)
{
	for (MeasureTotals *totals = digest->measured; totals < digest->measured + digest->n_measures; totals++)
	{
		code_count(coder, &totals->n);
		code_count(coder, &totals->n_successes);
		code_sum(coder, &totals->sum);
		code_sum(coder, &totals->judged_sum);
		code_counts(coder, &totals->numbers, -GREATEST_NUMBER_KEY, GREATEST_NUMBER_KEY);
	}
}

static int
compare_horizons(const void *a, const void *b)
{
	const Horizon *one = *(const Horizon *const *) a;
	const Horizon *other = *(const Horizon *const *) b;

	return (one->key > other->key) - (one->key < other->key);
}

static Horizon **
sorted_horizons(const Digest *digest, uint32 n)
{
	Horizon   **sorted = ALLOCATE_ARRAY(Horizon *, n);
	horizon_iterator scan;

	if (n > 0)
		horizon_start_iterate(digest->horizons, &scan);
	for (uint32 i = 0; i < n; i++)
		sorted[i] = horizon_iterate(digest->horizons, &scan);
	qsort(sorted, n, sizeof(Horizon *), compare_horizons);
	return sorted;
}

static void
code_horizons(Coder *coder, Digest *digest)
{
	int64		n = digest->horizons == NULL ? 0 : digest->horizons->members;
	Horizon   **sorted = coder->bytes != NULL ? sorted_horizons(digest, n) : NULL;
	int64		key = 0;

	n = code_n(coder, n);
	for (int64 i = 0; i < n; i++)
	{
		Horizon    *horizon;

		if (sorted != NULL)
		{
			write_key(coder->bytes, key, sorted[i]->key);
			horizon = sorted[i];
		}
		else
			horizon = digest_horizon(digest, read_key(coder->reader, key, i == 0, -GREATEST_EXACT_KEY, NO_HORIZON));
		key = horizon->key;
		code_count(coder, &horizon->n);
		code_count(coder, &horizon->n_successes);
		code_count(coder, &horizon->n_steps);
		code_sum(coder, &horizon->excess);
		code_counts(coder, &horizon->excesses, -GREATEST_NUMBER_KEY, GREATEST_NUMBER_KEY);
	}
	if (sorted != NULL)
		pfree(sorted);
}

/* ----------
 * All of it
 * ----------
 */

static void (*const codecs[N_DIGEST_PARTS]) (Coder *coder, Digest *digest) = {
	[PART_COUNTS] = code_group_counts,
	[PART_ADVANTAGES] = code_advantages,
	[PART_HISTOGRAM] = code_histogram,
	[PART_SIGNS] = code_signs,
	[PART_CALLS] = code_calls,
	[PART_MEASURES] = code_measures,
	[PART_HORIZONS] = code_horizons
};

GroupDigest *
digest_write(Digest *digest)
{
	StringInfoData parts;
	StringInfoData bytes;
	Coder		coder = {.bytes = &parts};
	uint64		length[N_DIGEST_PARTS];

	initStringInfo(&parts);
	initStringInfo(&bytes);
	appendStringInfoSpaces(&bytes, DIGEST_OVERHEAD);
	digest_write_names(&parts, digest->methods, digest->n_methods, digest->measures, digest->n_measures);
	length[PART_NAMES] = parts.len;
	for (int i = PART_COUNTS; i < N_DIGEST_PARTS; i++)
	{
		uint64		before = parts.len;

		if ((digest->parts & 1 << i) != 0)
			codecs[i] (&coder, digest);
		length[i] = parts.len - before;
	}
	for (int i = 0; i < N_DIGEST_PARTS; i++)
		write_count(&bytes, length[i]);
	appendBinaryStringInfo(&bytes, parts.data, parts.len);
	pfree(parts.data);
	((GroupDigest *) bytes.data)->version = DIGEST_VERSION;
	((GroupDigest *) bytes.data)->parts = (uint8) digest->parts;
	SET_VARSIZE(bytes.data, bytes.len);
	return (GroupDigest *) bytes.data;
}

/* Add a detoasted digest.  Only parts that both have are kept. */
void
digest_add(Digest *digest, const GroupDigest *datum, int sqlerrcode)
{
	DigestReader reader = {datum->bytes, (const char *) datum + VARSIZE(datum), sqlerrcode};
	int64		length[N_DIGEST_PARTS];
	int64		all = 0;

	if (VARSIZE(datum) < DIGEST_OVERHEAD || datum->version != DIGEST_VERSION || (datum->parts & PARTS_ALWAYS) != PARTS_ALWAYS)
		refuse_digest(&reader);
	digest->parts &= datum->parts;
	for (int i = 0; i < N_DIGEST_PARTS; i++)
	{
		length[i] = read_n(&reader);
		all += length[i];
	}
	if (all != reader.end - reader.at)
		refuse_digest(&reader);
	digest_set_names(digest, reader.at, length[PART_NAMES], sqlerrcode);
	reader.at += length[PART_NAMES];
	for (int i = PART_COUNTS; i < N_DIGEST_PARTS; i++)
	{
		DigestReader part = {reader.at, reader.at + length[i], sqlerrcode};
		Coder		coder = {.reader = &part, .context = digest->context};

		reader.at += length[i];
		if ((datum->parts & 1 << i) == 0 && length[i] > 0)
			refuse_digest(&reader);
		if ((digest->parts & 1 << i) == 0)
			continue;
		codecs[i] (&coder, digest);
		require_end(&part);
	}
}
