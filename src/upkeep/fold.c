/*
 * fold.c
 *		Folding kept groups again.
 *
 * Whoever changes a group locks its row first and folds it then, in a snapshot
 * that has what the one before committed.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/queryenvironment.h"
#include "utils/resowner.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "upkeep/fold.h"
#include "upkeep/rights.h"
#include "upkeep/signs.h"

PG_FUNCTION_INFO_V1(stepadv_fold_groups);

/*
 * Of so many changed groups, and if they are this part of all, a refresh folds
 * everything: one scan of the tables instead of so many.  To fold a group through
 * the index was measured to take between once and twice as long as its part of
 * a fold of all of them, more where rows came scattered.
 */
#define MANY_GROUPS 100
#define LARGE_PART 0.5

/* ----------
 * Sets of groups as relations
 * ----------
 */

/* Run a statement that reads rows by a name. */
static void
execute_with(Kept *kept, KeptStatement statement, const char *name, Tuplestorestate *rows, TupleDesc desc)
{
	EphemeralNamedRelationData relation = {0};
	int			result;

	relation.md.name = pstrdup(name);
	relation.md.tupdesc = desc;
	relation.md.enrtype = ENR_NAMED_TUPLESTORE;
	relation.md.enrtuples = tuplestore_tuple_count(rows);
	relation.reldata = rows;
	result = SPI_register_relation(&relation);
	if (result < 0)
		elog(ERROR, "SPI_register_relation failed: %s", SPI_result_code_string(result));
	kept_query(kept, statement, NULL, 0);
	SPI_unregister_relation(name);
}

/* A statement about the groups from one to before another, as a whole. */
static void
execute_set(Kept *kept, KeptStatement statement, SPITupleTable *groups, uint64 from, uint64 to)
{
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);

	for (uint64 i = from; i < to; i++)
		tuplestore_puttuple(rows, groups->vals[i]);
	execute_with(kept, statement, GROUPS_NAME, rows, kept->groups);
	tuplestore_end(rows);
}

/* A statement about a group, or each of them where an index leads to it. */
static void
execute_each(Kept *kept, KeptStatement one, KeptStatement set, SPITupleTable *groups, uint64 from, uint64 to)
{
	if (!kept->by_index)
	{
		execute_set(kept, set, groups, from, to);
		return;
	}
	for (uint64 i = from; i < to; i++)
	{
		CHECK_FOR_INTERRUPTS();
		kept_execute(kept, one, groups, i);
	}
}

/* ----------
 * What the views over time add up
 *
 * A method that does not know what to do with a group (gae, of one where only
 * some of the steps have a value yet) must not keep anybody from writing it: such
 * a group gets a row with nothing but its key, for which the views compute what
 * they are asked for.  Which of many it is, is found by halves.
 * ----------
 */

/* Move the rows of the last query into a store. */
static void
take_rows(Tuplestorestate *rows, TupleDesc *desc, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	if (*desc == NULL)
		*desc = CreateTupleDescCopy(SPI_tuptable->tupdesc);
	for (uint64 i = 0; i < SPI_processed; i++)
		tuplestore_puttuple(rows, SPI_tuptable->vals[i]);
	MemoryContextSwitchTo(old);
	SPI_freetuptable(SPI_tuptable);
}

/* Half of the work with a group is what the views over time add up, if there are any. */
static void
part_done(const Kept *kept, LongWork *work)
{
	if (work != NULL)
		advance_long_work(work, OidIsValid(kept->folded_over_time) ? 0.5 : 1, 0);
}

typedef struct Attempt
{
	Kept	   *kept;
	SPITupleTable *groups;
	uint64		from;
	uint64		to;
	uint64		n;				/* groups folded */
	bool		done;
	Tuplestorestate *rows;
	TupleDesc	desc;
	MemoryContext context;
	LongWork   *work;
} Attempt;

static void
attempt_parts(void *argument)
{
	Attempt    *attempt = argument;

	if (!attempt->kept->by_index)
	{
		execute_set(attempt->kept, KEPT_PARTS_SET, attempt->groups, attempt->from, attempt->to);
		take_rows(attempt->rows, &attempt->desc, attempt->context);
		return;
	}
	for (uint64 i = attempt->from; i < attempt->to; i++)
	{
		CHECK_FOR_INTERRUPTS();
		kept_query(attempt->kept, KEPT_PARTS_ONE, attempt->groups, i);
		take_rows(attempt->rows, &attempt->desc, attempt->context);
		part_done(attempt->kept, attempt->work);
	}
}

static void
add_all_parts(void *argument)
{
	kept_execute_once(argument, KEPT_ALL_PARTS);
}

bool
succeeds(void (*work) (void *argument), void *argument)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = true;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		work(argument);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_DATA_EXCEPTION)
			ReThrowError(error);
		FreeErrorData(error);
		done = false;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return done;
}

static void
fold_parts(Kept *kept, SPITupleTable *groups, uint64 from, uint64 to, LongWork *work)
{
	Attempt		attempt = {.kept = kept, .groups = groups, .from = from, .to = to, .context = CurrentMemoryContext, .work = work};
	bool		is_known;

	if (from == to)
		return;
	attempt.rows = tuplestore_begin_heap(false, false, work_mem);
	is_known = succeeds(attempt_parts, &attempt);
	if (!is_known && to - from > 1)
	{
		uint64		middle = from + (to - from) / 2;

		tuplestore_end(attempt.rows);
		/* They have been counted. */
		fold_parts(kept, groups, from, middle, NULL);
		fold_parts(kept, groups, middle, to, NULL);
		return;
	}
	execute_each(kept, KEPT_CLEAR_PARTS_ONE, KEPT_CLEAR_PARTS_SET, groups, from, to);
	if (!is_known)
		kept_execute(kept, KEPT_MARK_PARTS, groups, from);
	else if (tuplestore_tuple_count(attempt.rows) > 0)
		execute_with(kept, KEPT_ADD_PARTS, PARTS_NAME, attempt.rows, attempt.desc);
	tuplestore_end(attempt.rows);
}

/* ----------
 * Groups
 * ----------
 */

void
fold_these(Kept *kept, SPITupleTable *groups, LongWork *work)
{
	uint64		n = groups->numvals;

	/* In order, so that two writers of the same groups do not wait for each other. */
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (IsolationUsesXactSnapshot())
			kept_execute(kept, KEPT_LOOK, groups, i);
		kept_execute(kept, KEPT_CLAIM, groups, i);
	}
	if (!kept->by_index && n > 0)
	{
		execute_set(kept, KEPT_FOLD_SET, groups, 0, n);
		execute_set(kept, KEPT_FORGET_SET, groups, 0, n);
	}
	for (uint64 i = 0; kept->by_index && i < n; i++)
	{
		bool		is_empty = false;
		bool		isnull;

		CHECK_FOR_INTERRUPTS();
		if (kept_query(kept, KEPT_FOLD_ONE, groups, i) > 0)
			is_empty = DatumGetBool(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
		SPI_freetuptable(SPI_tuptable);
		if (is_empty)
			kept_execute(kept, KEPT_FORGET_ONE, groups, i);
		part_done(kept, work);
	}
	/* The groups' rows are ours: so are those of the same groups over time. */
	if (OidIsValid(kept->folded_over_time))
		fold_parts(kept, groups, 0, n, work);
	let_signs_wait(kept, groups);
}

void
allow_sequential_scans(Kept *kept, bool allow)
{
	(void) set_config_option("enable_seqscan", allow || !kept->by_index ? "on" : "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

/* A statement that folds all rows; what of them is read is told, if somebody waits for that. */
static void
fold_telling(void (*fold) (Attempt *attempt), Attempt *attempt, const char *units, bool is_asked)
{
	LongWork	work;

	if (!is_asked)
	{
		fold(attempt);
		return;
	}
	begin_long_work(&work, "read", units, kept_source(attempt->kept), "about ", 0);
	rows_read_for = &work;
	PG_TRY();
	{
		fold(attempt);
	}
	PG_FINALLY();
	{
		rows_read_for = NULL;
	}
	PG_END_TRY();
}

static void
attempt_all(Attempt *attempt)
{
	attempt->n = kept_execute_once(attempt->kept, KEPT_FOLD_ALL);
}

static void
attempt_all_parts(Attempt *attempt)
{
	attempt->done = succeeds(add_all_parts, attempt->kept);
}

uint64
fold_all(Kept *kept, bool is_asked)
{
	Attempt		attempt = {.kept = kept};

	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("all groups can be folded only in a transaction of isolation level read committed"),
				 errdetail("Rows that were committed after the transaction's snapshot would be missed."),
				 errhint("TRUNCATE of a table whose groups are maintained folds them all.")));
	LockRelationOid(kept->folded, ShareRowExclusiveLock);
	allow_sequential_scans(kept, true);
	kept_execute_once(kept, KEPT_CLEAR_ALL);
	fold_telling(attempt_all, &attempt, "rows", is_asked);
	if (OidIsValid(kept->folded_over_time))
	{
		kept_execute_once(kept, KEPT_CLEAR_ALL_PARTS);
		fold_telling(attempt_all_parts, &attempt, "rows for the views over time", is_asked);
		if (!attempt.done)
		{
			SPITupleTable *groups;

			kept_execute_once(kept, KEPT_ALL_KEYS);
			groups = SPI_tuptable;
			allow_sequential_scans(kept, false);
			fold_parts(kept, groups, 0, groups->numvals, NULL);
		}
	}
	sign_all(kept);
	allow_sequential_scans(kept, false);
	return attempt.n;
}

/* How many groups are kept, as far as statistics say. */
static double
number_of_groups(const Kept *kept)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(kept->folded));
	double		n = -1;

	if (HeapTupleIsValid(tuple))
	{
		n = ((Form_pg_class) GETSTRUCT(tuple))->reltuples;
		ReleaseSysCache(tuple);
	}
	return n;
}

bool
are_most(const Kept *kept, uint64 n)
{
	return n >= MANY_GROUPS && number_of_groups(kept) >= 0 && n >= LARGE_PART * number_of_groups(kept);
}

uint64
fold_waiting(Kept *kept, bool is_asked)
{
	/* Changes are committed together with their row there, and to fold takes a later snapshot. */
	uint64		n = kept_query(kept, KEPT_TAKE_WAITING, NULL, 0);
	SPITupleTable *groups = SPI_tuptable;
	bool		is_all = false;

	if (n == 0)
		return 0;
	/* NULL, which is the last: all of them. */
	(void) heap_getattr(groups->vals[n - 1], 1, groups->tupdesc, &is_all);
	if (is_all)
		return fold_all(kept, is_asked);
	if (is_asked && !IsolationUsesXactSnapshot() && are_most(kept, n))
		fold_all(kept, is_asked);
	else
	{
		LongWork	work;

		begin_long_work(&work, "folded", "groups", kept_source(kept), "", n);
		fold_these(kept, groups, is_asked ? &work : NULL);
	}
	return n;
}

/* ----------
 * Asked for
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
	uint64		n_signed;

	/* One at a time; readers go on. */
	LockRelationOid(kept->folded, ShareRowExclusiveLock);
	if (request->everything && OidIsValid(kept->changed))
		kept_execute(kept, KEPT_TAKE_WAITING, NULL, 0);
	if (request->everything)
		request->n = fold_all(kept, true);
	else if (OidIsValid(kept->changed))
		request->n = fold_waiting(kept, true);
	n_signed = sign_waiting(kept);
	request->n = Max(request->n, n_signed);
}

/*
 * fold_groups(attachment regclass, everything boolean): those that wait, or all;
 * how many.
 */
Datum
stepadv_fold_groups(PG_FUNCTION_ARGS)
{
	Oid			attachment = PG_GETARG_OID(0);
	Request		request = {.everything = PG_GETARG_BOOL(1)};

	require_owner(attachment);
	with_kept(attachment, fold_as_asked, &request);
	PG_RETURN_INT64(request.n);
}
