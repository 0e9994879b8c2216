/*
 * cluster.c
 *		state_cluster(text, threshold) OVER (…), text_similarity
 *
 * Leader clustering in the order of the window: a row joins the first cluster
 * whose first member is similar enough, or begins a cluster of its own.  The
 * result is the cluster's number in its partition, from 1; NULL for NULL.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "windowapi.h"

#include "arrays.h"
#include "compat.h"
#include "signatures/sequence_matcher.h"

PG_FUNCTION_INFO_V1(stepadv_state_cluster_text);
PG_FUNCTION_INFO_V1(stepadv_text_similarity);

typedef struct TextClusters
{
	MemoryContext context;
	MemoryContext scratch;
	int64		n;
	int64		size;
	SequenceIndex **leaders;
} TextClusters;

static float8
get_threshold(WindowObject window)
{
	bool		isnull;
	Datum		value = WinGetFuncArgCurrent(window, 1, &isnull);
	float8		threshold;

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("threshold of state_cluster must not be NULL")));
	threshold = DatumGetFloat8(value);
	if (isnan(threshold) || threshold < 0 || threshold > 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("threshold %g of state_cluster is not between 0 and 1", threshold)));
	return threshold;
}

/* Index a text by its characters, in the current memory context. */
static SequenceIndex *
index_text(text *value)
{
	int			length = VARSIZE_ANY_EXHDR(value);
	pg_wchar   *characters = palloc(sizeof(pg_wchar) * ((Size) length + 1));
	int			n = 0;

	StaticAssertStmt(sizeof(pg_wchar) == sizeof(uint32), "pg_wchar is not 32 bits wide");
	/* In pieces, so that a long text can be canceled. */
	for (int done = 0; done < length;)
	{
		const char *rest = VARDATA_ANY(value) + done;
		int			piece = pg_mbcliplen(rest, length - done, LARGE_PIECE);

		Assert(piece > 0);
		n += pg_mb2wchar_with_len(rest, characters + n, piece);
		done += piece;
		CHECK_FOR_INTERRUPTS();
	}
	return sequence_index((const uint32 *) characters, n);
}

Datum
stepadv_state_cluster_text(PG_FUNCTION_ARGS)
{
	WindowObject window = PG_WINDOW_OBJECT();
	TextClusters *clusters = WinGetPartitionLocalMemory(window, sizeof(TextClusters));
	float8		threshold = get_threshold(window);
	bool		isnull;
	Datum		value = WinGetFuncArgCurrent(window, 0, &isnull);
	MemoryContext caller;
	SequenceIndex *index;
	int64		i;

	if (isnull)
		PG_RETURN_NULL();
	if (clusters->context == NULL)
	{
		clusters->context = GetMemoryChunkContext(clusters);
		clusters->scratch = AllocSetContextCreate(clusters->context, "stepadv text comparison", ALLOCSET_DEFAULT_SIZES);
	}
	MemoryContextReset(clusters->scratch);
	caller = MemoryContextSwitchTo(clusters->scratch);
	index = index_text(DatumGetTextPP(value));
	for (i = 0; i < clusters->n; i++)
	{
		const SequenceIndex *leader = clusters->leaders[i];
		float8		shorter = Min(index->length, leader->length);
		float8		both = (float8) index->length + leader->length;

		CHECK_FOR_INTERRUPTS();
		/* Bounds by length, then by characters; then the ratio itself. */
		if (both > 0 && 2 * shorter / both < threshold)
			continue;
		if (sequence_ratio_bound(index, leader) < threshold)
			continue;
		if (sequence_ratio(index, leader) >= threshold)
			break;
	}
	MemoryContextSwitchTo(caller);
	if (i < clusters->n)
		PG_RETURN_INT64(i + 1);

	caller = MemoryContextSwitchTo(clusters->context);
	if (clusters->n >= clusters->size)
	{
		int64		size = Max(clusters->size * 2, 16);

		clusters->leaders = clusters->leaders == NULL ? palloc(sizeof(SequenceIndex *) * size) :
			repalloc_huge(clusters->leaders, sizeof(SequenceIndex *) * size);
		clusters->size = size;
	}
	clusters->leaders[clusters->n++] = index_text(DatumGetTextPP(value));
	MemoryContextSwitchTo(caller);
	PG_RETURN_INT64(clusters->n);
}

/* text_similarity(a text, b text) -> float8 */
Datum
stepadv_text_similarity(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(sequence_ratio(index_text(PG_GETARG_TEXT_PP(0)), index_text(PG_GETARG_TEXT_PP(1))));
}
