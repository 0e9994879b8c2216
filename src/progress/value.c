/*
 * value.c
 *		Layout and checks of progress_statistics and progress_model.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "compat.h"
#include "progress/kernels.h"
#include "progress/value.h"
#include "progress/value_io.h"

const char *
progress_type_name(ProgressType type)
{
	return type == TYPE_STATISTICS ? "progress_statistics" : "progress_model";
}

/* How many numbers a value has after its header. */
static uint64
count_numbers(ProgressKind kind, int version, uint64 dimension)
{
	if (kind == PROGRESS_STATISTICS)
		return STATISTICS_SUMS(dimension) + (version == PROGRESS_VERSION_1 ? 0 : dimension + 1);
	return LINEAR_WEIGHTS + (kind == PROGRESS_SPARSE ? 2 : 1) * dimension;
}

/* 0: it would be larger than a value can be. */
Size
progress_size(ProgressKind kind, int version, uint64 dimension)
{
	uint64		size;

	/* The product of larger ones might overflow. */
	if (dimension > MaxAllocSize)
		return 0;
	size = offsetof(ProgressValue, numbers) + count_numbers(kind, version, dimension) * sizeof(double);
	return size <= MaxAllocSize ? (Size) size : 0;
}

ProgressValue *
progress_allocate(ProgressKind kind, int version, uint64 dimension)
{
	Size		size = progress_size(kind, version, dimension);
	ProgressValue *value;

	if (size == 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("features of " UINT64_FORMAT " elements are too many for a linear fit", dimension),
				 errdetail("The matrix of their products would need more than 1 GB."),
				 errhint("Use fewer, for example by a smaller dim of hash_features.")));
	value = palloc0(size);
	SET_VARSIZE(value, size);
	value->version = (uint8) version;
	value->kind = kind;
	value->dimension = (uint32) dimension;
	return value;
}

#ifdef WORDS_BIGENDIAN
static void
swap_header(ProgressValue *value)
{
	value->flags = pg_bswap16(value->flags);
	value->dimension = pg_bswap32(value->dimension);
}

/* All that is 64 bits wide, up to the end. */
static void
swap_words(ProgressValue *value)
{
	uint64	   *words = (uint64 *) &value->n_rollouts;
	Size		n = (VARSIZE(value) - offsetof(ProgressValue, n_rollouts)) / sizeof(uint64);

	for (Size i = 0; i < n; i++)
		words[i] = pg_bswap64(words[i]);
}
#endif

/* A zero is 0: the -0 of a product would not come back from the text of the value. */
static void
tidy_zeros(ProgressValue *value)
{
	Size		n = (VARSIZE(value) - offsetof(ProgressValue, numbers)) / sizeof(double);

	for (Size i = 0; i < n; i++)
		if (value->numbers[i] == 0)
			value->numbers[i] = 0;
}

ProgressValue *
progress_seal(ProgressValue *value)
{
	tidy_zeros(value);
#ifdef WORDS_BIGENDIAN
	swap_words(value);
	swap_header(value);
#endif
	return value;
}

/* What the header of a value of that type must not be; NULL: fine. */
static const char *
header_problem(const ProgressValue *value, ProgressType type)
{
	bool		old = value->version == PROGRESS_VERSION_1;

	if (!old && value->version != PROGRESS_VERSION_2)
		return "It is of another version.";
	if (type == TYPE_STATISTICS ? value->kind != PROGRESS_STATISTICS :
		value->kind != PROGRESS_LINEAR && (value->kind != PROGRESS_SPARSE || old))
		return "It is of another kind.";
	if ((value->flags & ~(type == TYPE_STATISTICS ? 0 : old ? PROGRESS_FLAGS_1 : PROGRESS_FLAGS_2)) != 0)
		return "It has bits set that mean nothing.";
	/* What version 1 can say is said in it: one model, one form. */
	if (!old && value->kind == PROGRESS_LINEAR && (value->flags & ~PROGRESS_FLAGS_1) == 0)
		return "It is of another version.";
	if (value->dimension == 0 || value->unused != 0 ||
		progress_size(value->kind, value->version, value->dimension) != VARSIZE(value))
		return "Its length does not fit its dimension.";
	return NULL;
}

ProgressValue *
progress_open_input(struct varlena *bytes, ProgressType type, int sqlstate)
{
	ProgressValue *value = (ProgressValue *) bytes;
	const char *problem = NULL;

	if (VARSIZE(bytes) < offsetof(ProgressValue, numbers))
		problem = "It is too short.";
	else
	{
#ifdef WORDS_BIGENDIAN
		value = palloc(VARSIZE(bytes));
		memcpy(value, bytes, VARSIZE(bytes));
		swap_header(value);
#endif
		problem = header_problem(value, type);
	}
	if (problem != NULL)
		ereport(ERROR,
				(errcode(sqlstate),
				 errmsg("invalid %s", progress_type_name(type)),
				 errdetail_internal("%s", problem)));
#ifdef WORDS_BIGENDIAN
	swap_words(value);
#endif
	return value;
}

ProgressValue *
progress_open(struct varlena *value, ProgressType type)
{
	return progress_open_input(value, type, ERRCODE_DATA_CORRUPTED);
}

/* ----------
 * Models as arguments
 * ----------
 */

typedef struct ModelCache
{
	struct varatt_external pointer;
	ProgressValue *model;
	MemoryContext context;
} ModelCache;

const ProgressValue *
progress_model_argument(FmgrInfo *flinfo, Datum datum)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;
	ModelCache *cache = flinfo->fn_extra;
	MemoryContext old;

	if (!VARATT_IS_EXTERNAL_ONDISK(stored))
		return progress_open(PG_DETOAST_DATUM(datum), TYPE_MODEL);

	/* A toast pointer names what it points to for as long as a query can see it. */
	VARATT_EXTERNAL_GET_POINTER(pointer, stored);
	if (cache != NULL && memcmp(&cache->pointer, &pointer, sizeof(pointer)) == 0)
		return cache->model;
	if (cache == NULL)
	{
		cache = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(ModelCache));
		cache->context = AllocSetContextCreate(flinfo->fn_mcxt, "stepadv progress_model", ALLOCSET_SMALL_SIZES);
		flinfo->fn_extra = cache;
	}
	/* Not to be found should what follows fail. */
	memset(&cache->pointer, 0, sizeof(cache->pointer));
	MemoryContextReset(cache->context);
	old = MemoryContextSwitchTo(cache->context);
	cache->model = progress_open(PG_DETOAST_DATUM(datum), TYPE_MODEL);
	MemoryContextSwitchTo(old);
	cache->pointer = pointer;
	return cache->model;
}
