/*
 * fold.c
 *		Folds kept groups again.
 *
 * A session that changes a group first locks its row and then folds it, in a snapshot that sees what the
 * previous session committed.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/syscache.h"

#include "arrays.h"
#include "attach/owner.h"
#include "compat.h"
#include "group/group.h"
#include "upkeep/fold.h"
#include "upkeep/kept_digests.h"

PG_FUNCTION_INFO_V1(stepadv_fold_groups);

/*
 * If at least this many groups changed, and this part of all, a refresh folds everything: one scan of the
 * tables instead of one per group.  Folding a group through the index takes between once and twice as long as
 * its part of a fold of all groups.
 */
#define MANY_GROUPS 100
#define LARGE_PART 0.45

/* ----------
 * Groups
 * ----------
 */

/* The shape of a group; zeros if it is NULL. */
static GroupShape
shape_of(HeapTuple row, TupleDesc desc, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(row, desc, column, &isnull);

	if (isnull)
		return (GroupShape) {0};
	return group_shape((RolloutGroup *) PG_DETOAST_DATUM_SLICE(value, 0, sizeof(RolloutGroup) - VARHDRSZ));
}

/* Have rollouts been added, but no steps of them yet? */
static bool
awaits_steps(HeapTuple row, TupleDesc desc)
{
	GroupShape	now = shape_of(row, desc, 2);
	GroupShape	before = shape_of(row, desc, 3);

	return now.n_rollouts > before.n_rollouts && now.n_steps == before.n_steps;
}

/* Fold a group; returns awaits_steps, where that is known and used. */
static bool
fold_one(Kept *kept, SPITupleTable *groups, uint64 group, bool has_grown)
{
	bool		is_empty = false;
	bool		awaits = false;
	bool		isnull;

	has_grown &= OidIsValid(kept->digests);
	if (kept_query(kept, has_grown ? KEPT_FOLD_GROWN : KEPT_FOLD_ONE, groups, group) > 0)
	{
		is_empty = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
		awaits = has_grown && awaits_steps(SPI_tuptable->vals[0], SPI_tuptable->tupdesc);
	}
	SPI_freetuptable(SPI_tuptable);
	if (is_empty)
		kept_execute(kept, KEPT_FORGET_ONE, groups, group);
	return awaits;
}

void
fold_these(Kept *kept, SPITupleTable *groups, bool have_grown, LongWork *work)
{
	uint64		n = groups->numvals;
	bool	   *await_steps = ALLOCATE_ZEROED_ARRAY(bool, n);

	/* In order, so that two writers of the same groups do not deadlock. */
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (kept_execute(kept, KEPT_LOOK, groups, i) == 0)
			kept_execute(kept, KEPT_CLAIM, groups, i);
	}
	if (!kept->by_index && n > 0)
	{
		kept_execute_set(kept, KEPT_FOLD_SET, groups, 0, n);
		kept_execute_set(kept, KEPT_FORGET_SET, groups, 0, n);
	}
	for (uint64 i = 0; kept->by_index && i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		await_steps[i] = fold_one(kept, groups, i, have_grown);
		group_done(kept, work);
	}
	/* Holding the locks on the groups' rows, we may also change their digests. */
	keep_digests(kept, groups, await_steps, work);
	pfree(await_steps);
}

uint64
fold_all(Kept *kept, bool is_asked)
{
	LongWork	work;
	volatile uint64 n = 0;

	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("folding all groups requires the isolation level READ COMMITTED"),
				 errdetail("Rows that were committed after the transaction's snapshot would be missed."),
				 errhint("TRUNCATE of a table whose groups are maintained folds all of them.")));
	LockRelationOid(kept->folded, ShareRowExclusiveLock);
	allow_sequential_scans(kept, true);
	/* As much memory as CREATE INDEX may use. */
	if (is_asked && maintenance_work_mem > work_mem)
		kept_set("work_mem", psprintf("%d", maintenance_work_mem));
	kept_execute_once(kept, KEPT_CLEAR_ALL);
	begin_long_work(&work, "read", "rows", kept_source(kept), "about ", 0);
	rows_read_for = is_asked ? &work : NULL;
	PG_TRY();
	{
		n = kept_execute_once(kept, KEPT_FOLD_ALL);
	}
	PG_FINALLY();
	{
		rows_read_for = NULL;
	}
	PG_END_TRY();
	/* Digests are computed by a plan for this number of groups.  A sample is copied with all values, so it is small. */
	if (is_asked)
	{
		int			nest_level = NewGUCNestLevel();

		kept_set("default_statistics_target", "10");
		kept_execute_once(kept, KEPT_ANALYZE);
		AtEOXact_GUC(false, nest_level);
	}
	keep_all_digests(kept, is_asked, n);
	if (is_asked && OidIsValid(kept->digests))
		kept_execute_once(kept, KEPT_ANALYZE_DIGESTS);
	allow_sequential_scans(kept, false);
	return n;
}

/* Are n groups most of all?  Only if the statistics of the table are known. */
static bool
are_most(const Kept *kept, uint64 n)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(kept->folded));
	double		all = -1;

	if (HeapTupleIsValid(tuple))
	{
		all = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
		ReleaseSysCache(tuple);
	}
	return n >= MANY_GROUPS && all >= 0 && n >= LARGE_PART * all;
}

/*
 * Fold the pending groups; returns their number.  is_asked: no other session changes kept groups meanwhile,
 * so that all may be folded if that is cheaper, and progress is reported.
 */
static uint64
fold_waiting(Kept *kept, bool is_asked)
{
	/* Changes are committed with their row in this table, and folding takes a later snapshot. */
	uint64		n = kept_query(kept, KEPT_TAKE_WAITING, NULL, 0);
	SPITupleTable *groups = SPI_tuptable;
	bool		is_all = false;

	if (n == 0)
		return 0;
	/* NULL, which sorts last, means all groups. */
	(void) heap_getattr(groups->vals[n - 1], 1, groups->tupdesc, &is_all);
	if (is_all)
		return fold_all(kept, is_asked);
	if (is_asked && !IsolationUsesXactSnapshot() && are_most(kept, n))
		fold_all(kept, is_asked);
	else
	{
		LongWork	work;

		begin_long_work(&work, "folded", "groups", kept_source(kept), "", n);
		fold_these(kept, groups, false, is_asked ? &work : NULL);
	}
	return n;
}

/* ----------
 * On request
 * ----------
 */

typedef struct Request
{
	bool		everything;
	uint64		n;
} Request;

static void
fold_as_asked(Kept *kept, void *argument)
{
	Request    *request = argument;

	/* One session at a time; readers are not blocked. */
	LockRelationOid(kept->folded, ShareRowExclusiveLock);
	if (request->everything && OidIsValid(kept->changed))
		kept_execute(kept, KEPT_TAKE_WAITING, NULL, 0);
	if (request->everything)
		request->n = fold_all(kept, true);
	else
	{
		uint64		n_left;

		if (OidIsValid(kept->changed))
			request->n = fold_waiting(kept, true);
		n_left = keep_digests_left(kept);
		request->n = Max(request->n, n_left);
	}
}

/* fold_groups(attachment regclass, everything boolean): folds the pending groups, or all; returns their number. */
Datum
stepadv_fold_groups(PG_FUNCTION_ARGS)
{
	Oid			attachment = PG_GETARG_OID(0);
	Request		request = {.everything = PG_GETARG_BOOL(1)};

	require_owner(attachment);
	with_kept(attachment, fold_as_asked, &request);
	PG_RETURN_INT64(request.n);
}
