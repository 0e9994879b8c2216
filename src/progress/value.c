/*
 * value.c
 *		Layout and checks of progress_model.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "compat.h"
#include "progress/value.h"

/* Bytes of a model; 0: too many. */
static Size
progress_size(ProgressKind kind, uint64 dimension)
{
	uint64		size;

	/* The product of larger ones might overflow. */
	if (dimension > MaxAllocSize)
		return 0;
	size = offsetof(ProgressModel, numbers) +
		(MODEL_WEIGHTS + (kind == PROGRESS_SPARSE ? 2 : 1) * dimension) * sizeof(double);
	return size <= MaxAllocSize ? (Size) size : 0;
}

ProgressModel *
progress_allocate(ProgressKind kind, uint64 dimension)
{
	Size		size = progress_size(kind, dimension);
	ProgressModel *model;

	if (size == 0)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("features of " UINT64_FORMAT " elements are too many for a linear fit", dimension)));
	model = palloc0(size);
	SET_VARSIZE(model, size);
	model->version = PROGRESS_VERSION;
	model->kind = kind;
	model->dimension = (uint32) dimension;
	return model;
}

#ifdef WORDS_BIGENDIAN
static void
swap_header(ProgressModel *model)
{
	model->flags = pg_bswap16(model->flags);
	model->dimension = pg_bswap32(model->dimension);
}

/* All that is 64 bits wide, up to the end. */
static void
swap_words(ProgressModel *model)
{
	uint64	   *words = (uint64 *) &model->n_rollouts;
	Size		n = (VARSIZE(model) - offsetof(ProgressModel, n_rollouts)) / sizeof(uint64);

	for (Size i = 0; i < n; i++)
		words[i] = pg_bswap64(words[i]);
}
#endif

/* A zero is 0: the -0 of a product would not come back from the text of the model. */
static void
tidy_zeros(ProgressModel *model)
{
	Size		n = (VARSIZE(model) - offsetof(ProgressModel, numbers)) / sizeof(double);

	for (Size i = 0; i < n; i++)
		if (model->numbers[i] == 0)
			model->numbers[i] = 0;
}

ProgressModel *
progress_seal(ProgressModel *model)
{
	tidy_zeros(model);
#ifdef WORDS_BIGENDIAN
	swap_words(model);
	swap_header(model);
#endif
	return model;
}

/* What is wrong with the header; NULL: nothing. */
static const char *
header_problem(const ProgressModel *model)
{
	if (model->version != PROGRESS_VERSION)
		return "It is of another version.";
	if (model->kind != PROGRESS_LINEAR && model->kind != PROGRESS_SPARSE)
		return "It is of another kind.";
	if ((model->flags & ~PROGRESS_LOGISTIC) != 0)
		return "It has bits set that mean nothing.";
	if (model->dimension == 0 || model->unused != 0 || progress_size(model->kind, model->dimension) != VARSIZE(model))
		return "Its length does not fit its dimension.";
	return NULL;
}

ProgressModel *
progress_open(struct varlena *bytes, int sqlstate)
{
	ProgressModel *model = (ProgressModel *) bytes;
	const char *problem = "It is too short.";

	if (VARSIZE(bytes) >= offsetof(ProgressModel, numbers))
	{
#ifdef WORDS_BIGENDIAN
		model = palloc(VARSIZE(bytes));
		memcpy(model, bytes, VARSIZE(bytes));
		swap_header(model);
#endif
		problem = header_problem(model);
	}
	if (problem != NULL)
		ereport(ERROR,
				(errcode(sqlstate),
				 errmsg("invalid progress_model"),
				 errdetail_internal("%s", problem)));
#ifdef WORDS_BIGENDIAN
	swap_words(model);
#endif
	return model;
}

/* ----------
 * Models as arguments
 * ----------
 */

typedef struct ModelCache
{
	struct varatt_external pointer;
	ProgressModel *model;
	MemoryContext context;
} ModelCache;

const ProgressModel *
progress_model_argument(FmgrInfo *flinfo, Datum datum)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;
	ModelCache *cache = flinfo->fn_extra;
	MemoryContext old;

	if (!VARATT_IS_EXTERNAL_ONDISK(stored))
		return progress_open(PG_DETOAST_DATUM(datum), ERRCODE_DATA_CORRUPTED);

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
	cache->model = progress_open(PG_DETOAST_DATUM(datum), ERRCODE_DATA_CORRUPTED);
	MemoryContextSwitchTo(old);
	cache->pointer = pointer;
	return cache->model;
}
