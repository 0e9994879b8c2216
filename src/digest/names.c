/*
 * names.c
 *		The names of a digest's methods and measures: their bytes, and those of a digest to which others are
 *		added.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "digest/bytes.h"

/* Tables have fewer columns; a digest with more is invalid. */
#define MOST_NAMES 1000

void
digest_write_names(StringInfo bytes, const Category *methods, int n_methods, const Category *measures, int n_measures)
{
	write_count(bytes, n_methods);
	for (int i = 0; i < n_methods; i++)
		write_name(bytes, &methods[i]);
	write_count(bytes, n_measures);
	for (int i = 0; i < n_measures; i++)
		write_name(bytes, &measures[i]);
}

static Category *
read_names(DigestReader *reader, int *n)
{
	Category   *names;

	*n = (int) read_limited(reader, MOST_NAMES);
	names = palloc0(sizeof(Category) * Max(*n, 1));
	for (int i = 0; i < *n; i++)
	{
		names[i] = read_name(reader);
		for (int j = 0; j < i; j++)
		{
			if (names[j].length == names[i].length && memcmp(names[j].bytes, names[i].bytes, names[i].length) == 0)
				refuse_digest(reader);
		}
	}
	return names;
}

static bool
are_same_names(const Category *one, int n_one, const Category *other, int n_other)
{
	for (int i = 0; n_one == n_other && i < n_one; i++)
	{
		if (one[i].length != other[i].length || memcmp(one[i].bytes, other[i].bytes, one[i].length) != 0)
			return false;
	}
	return n_one == n_other;
}

static Category *
copy_names(MemoryContext context, const Category *names, int n)
{
	Category   *copies = MemoryContextAllocZero(context, sizeof(Category) * Max(n, 1));

	for (int i = 0; i < n; i++)
	{
		char	   *bytes = MemoryContextAlloc(context, Max(names[i].length, 1));

		memcpy(bytes, names[i].bytes, names[i].length);
		copies[i] = (Category) {bytes, names[i].length};
	}
	return copies;
}

static void
take_names(Digest *digest, const Category *methods, int n_methods, const Category *measures, int n_measures)
{
	digest->n_methods = n_methods;
	digest->methods = copy_names(digest->context, methods, n_methods);
	digest->n_measures = n_measures;
	digest->measures = copy_names(digest->context, measures, n_measures);
	digest->advantages = MemoryContextAllocZero(digest->context, sizeof(AdvantageTotals) * Max(n_methods, 1));
	for (int i = 0; i < n_methods; i++)
	{
		digest->advantages[i].least = INFINITY;
		digest->advantages[i].greatest = -INFINITY;
	}
	digest->measured = MemoryContextAllocZero(digest->context, sizeof(MeasureTotals) * Max(n_measures, 1));
	digest->apart = MemoryContextAllocZero(digest->context, sizeof(double) * Max(digest_n_pairs(digest), 1));
}

/*
 * Set the digest's names from PART_NAMES.  All digests that are added must have the same names, as far as the
 * parts concern methods, or measures.
 */
void
digest_set_names(Digest *digest, const char *names, uint64 length, int sqlerrcode)
{
	DigestReader reader = {names, names + length, sqlerrcode};
	Category   *methods;
	Category   *measures;
	int			n_methods;
	int			n_measures;

	if ((digest->parts & PARTS_OF_METHODS) == 0)
		digest->n_methods = 0;
	if ((digest->parts & 1 << PART_MEASURES) == 0)
		digest->n_measures = 0;
	/* Mostly they equal the last ones. */
	if (digest->names != NULL && digest->names_length == length && memcmp(digest->names, names, length) == 0)
		return;
	/* Counts alone have no names. */
	if ((digest->parts & (PARTS_OF_METHODS | 1 << PART_MEASURES)) == 0)
		return;
	methods = read_names(&reader, &n_methods);
	measures = read_names(&reader, &n_measures);
	require_end(&reader);
	if ((digest->parts & PARTS_OF_METHODS) == 0)
		n_methods = 0;
	if ((digest->parts & 1 << PART_MEASURES) == 0)
		n_measures = 0;
	if (digest->names == NULL)
		take_names(digest, methods, n_methods, measures, n_measures);
	else if (!are_same_names(digest->methods, digest->n_methods, methods, n_methods) || !are_same_names(digest->measures, digest->n_measures, measures, n_measures))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("digests of different methods or measures cannot be added to each other"),
				 errhint("Make all of them with the same methods and measures, in the same order.")));
	else
		pfree(digest->names);
	digest->names = MemoryContextAlloc(digest->context, Max(length, 1));
	memcpy(digest->names, names, length);
	digest->names_length = length;
	pfree(methods);
	pfree(measures);
}
