/*
 * kept_digests.c
 *		The digests of kept groups, computed again with their values.
 *
 * A group has one digest per division of its rollouts.  A view computes them from the kept value; the group's
 * previous digests are deleted, and no other group's are touched.
 *
 * A method that fails on a group must not prevent anybody from writing it.  Such a group gets a row with its
 * key and no digest: the views compute it when they are read, and report the error.  If groups are read
 * together, the one that fails is found by bisection.  Groups to which a statement adds rollouts without steps
 * are treated in the same way, since inserting a rollout and then its steps changes the group twice.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "utils/builtins.h"
#include "utils/queryenvironment.h"
#include "utils/resowner.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "upkeep/kept_digests.h"

/* The number of groups from which on starting processes pays off. */
#define MANY_DIGESTS 500
#define N_PARTS "8"

/* ----------
 * Sets of groups as relations
 * ----------
 */

/* Run a statement that reads rows by a name; desc NULL: the columns of made_digests. */
static void
execute_with(Kept *kept, KeptStatement statement, const char *name, Tuplestorestate *rows, TupleDesc desc)
{
	EphemeralNamedRelationData relation = {0};
	int			result;

	relation.md.name = pstrdup(name);
	relation.md.tupdesc = desc;
	relation.md.reliddesc = desc ? InvalidOid : kept->made_digests;
	relation.md.enrtype = ENR_NAMED_TUPLESTORE;
	relation.md.enrtuples = tuplestore_tuple_count(rows);
	relation.reldata = rows;
	result = SPI_register_relation(&relation);
	if (result < 0)
		elog(ERROR, "SPI_register_relation failed: %s", SPI_result_code_string(result));
	kept_query(kept, statement, NULL, 0);
	SPI_unregister_relation(name);
}

void
kept_execute_set(Kept *kept, KeptStatement statement, SPITupleTable *groups, uint64 from, uint64 to)
{
	Tuplestorestate *rows = tuplestore_begin_heap(false, false, work_mem);

	for (uint64 i = from; i < to; i++)
		tuplestore_puttuple(rows, groups->vals[i]);
	execute_with(kept, statement, GROUPS_NAME, rows, kept->groups);
	tuplestore_end(rows);
}

/* Move the rows of the last query into a store. */
static void
take_rows(Tuplestorestate *rows)
{
	for (uint64 i = 0; i < SPI_processed; i++)
		tuplestore_puttuple(rows, SPI_tuptable->vals[i]);
	SPI_freetuptable(SPI_tuptable);
}

/* ----------
 * Some groups
 * ----------
 */

typedef struct Attempt
{
	Kept	   *kept;
	SPITupleTable *groups;
	uint64		from;			/* after a failure: the first group that was not done */
	uint64		to;
	Tuplestorestate *rows;
	LongWork   *work;
} Attempt;

void
group_done(const Kept *kept, LongWork *work)
{
	if (work != NULL)
		advance_long_work(work, OidIsValid(kept->digests) ? 0.5 : 1, 1);
}

static void
make_digests(void *argument)
{
	Attempt    *attempt = argument;

	if (!attempt->kept->by_index)
	{
		kept_execute_set(attempt->kept, KEPT_MAKE_DIGESTS_SET, attempt->groups, attempt->from, attempt->to);
		take_rows(attempt->rows);
		attempt->from = attempt->to;
	}
	for (; attempt->from < attempt->to; attempt->from++)
	{
		CHECK_FOR_INTERRUPTS();
		kept_query(attempt->kept, KEPT_MAKE_DIGESTS_ONE, attempt->groups, attempt->from);
		take_rows(attempt->rows);
		group_done(attempt->kept, attempt->work);
	}
}

/*
 * Do what may fail because of the data, in a subtransaction; false if it failed.  If it only reads, the
 * rollback costs nothing.
 */
static bool
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
clear_digests(Kept *kept, SPITupleTable *groups, uint64 from, uint64 to)
{
	if (!kept->by_index)
	{
		kept_execute_set(kept, KEPT_CLEAR_DIGESTS_SET, groups, from, to);
		return;
	}
	for (uint64 i = from; i < to; i++)
		kept_execute(kept, KEPT_CLEAR_DIGESTS_ONE, groups, i);
}

/* Leave the digest of this group to readers. */
static void
leave_to_readers(Kept *kept, SPITupleTable *groups, uint64 group)
{
	clear_digests(kept, groups, group, group + 1);
	kept_execute(kept, KEPT_MARK_DIGEST, groups, group);
}

static void
keep_some(Kept *kept, SPITupleTable *groups, uint64 from, uint64 to, LongWork *work)
{
	uint64		end = to;

	while (from < to)
	{
		Attempt		attempt = {.kept = kept, .groups = groups, .from = from, .to = end, .work = work};
		bool		is_one = kept->by_index || end == from + 1;

		attempt.rows = tuplestore_begin_heap(false, false, work_mem);
		if (succeeds(make_digests, &attempt) || is_one)
			end = to;
		else
			end = from + (end - from) / 2;
		clear_digests(kept, groups, from, attempt.from);
		if (tuplestore_tuple_count(attempt.rows) > 0)
			execute_with(kept, KEPT_ADD_DIGESTS, DIGESTS_NAME, attempt.rows, NULL);
		tuplestore_end(attempt.rows);
		from = attempt.from;
		if (from < attempt.to && is_one)
			leave_to_readers(kept, groups, from++);
	}
}

void
keep_digests(Kept *kept, SPITupleTable *groups, const bool *await_steps, LongWork *work)
{
	uint64		from = 0;

	if (!OidIsValid(kept->digests))
		return;
	for (uint64 i = 0; i < groups->numvals; i++)
	{
		if (!await_steps[i])
			continue;
		keep_some(kept, groups, from, i, work);
		leave_to_readers(kept, groups, i);
		from = i + 1;
	}
	keep_some(kept, groups, from, groups->numvals, work);
}

uint64
keep_digests_left(Kept *kept)
{
	SPITupleTable *groups;

	if (!OidIsValid(kept->digests) || kept_query(kept, KEPT_LEFT_TO_READERS, NULL, 0) == 0)
		return 0;
	groups = SPI_tuptable;
	keep_some(kept, groups, 0, groups->numvals, NULL);
	return groups->numvals;
}

/* ----------
 * All of them
 * ----------
 */

/* Receives all rows of a query, which can use parallel workers, unlike INSERT … SELECT. */
typedef struct AllDigests
{
	DestReceiver receiver;
	const char *text;
	LongWork   *work;			/* or NULL */
	Tuplestorestate *rows;
} AllDigests;

static void
start_rows(DestReceiver *receiver, int operation, TupleDesc desc)
{
}

static bool
take_row(TupleTableSlot *slot, DestReceiver *receiver)
{
	AllDigests *all = (AllDigests *) receiver;

	tuplestore_puttupleslot(all->rows, slot);
	if (all->work != NULL)
		advance_long_work(all->work, 1, 0);
	return true;
}

static void
end_rows(DestReceiver *receiver)
{
}

static void
make_all_digests(void *argument)
{
	AllDigests *all = argument;
	SPIExecuteOptions options = {.dest = &all->receiver};

	all->receiver = (DestReceiver) {take_row, start_rows, end_rows, end_rows, DestTuplestore};
	if (SPI_execute_extended(all->text, &options) != SPI_OK_SELECT)
		elog(ERROR, "the digests of groups cannot be read");
}

/*
 * Several processes compute the digests of many groups, each those of a part, if what they read and call is
 * safe there.  The leader computes none, since meanwhile it could not receive the rows of the others.
 */
static const char *
text_of_all_digests(const Kept *kept, uint64 n_groups)
{
	static const char shared[] =
	"SELECT string_agg(format('SELECT r.* FROM stepadv_internal.digests_of_part(NULL::%s, %L, " N_PARTS ", %s) r', $2, $3, i),"
	" ' UNION ALL ') FROM generate_series(0, " N_PARTS " - 1) i"
	" WHERE NOT EXISTS (SELECT FROM stepadv_internal.read_below(ARRAY[$1]) b"
	" LEFT JOIN pg_proc f ON b.kind = 'function' AND f.oid = b.object"
	" LEFT JOIN pg_class t ON b.kind = 'table' AND t.oid = b.object"
	" WHERE f.proparallel <> 's' OR t.relkind = 'f' OR t.relpersistence = 't'"
	" OR (stepadv_internal.engine_table(t.oid)).kind IS NOT NULL)";
	Oid			types[] = {REGCLASSOID, REGCLASSOID, TEXTOID};
	Datum		values[] = {ObjectIdGetDatum(kept->made_digests), ObjectIdGetDatum(kept->digests),
	CStringGetTextDatum(kept_text(kept, kept_statement_text(KEPT_MAKE_PART_OF_DIGESTS)))};
	const char *text = NULL;

	if (kept->by_index && n_groups >= MANY_DIGESTS && max_parallel_workers_per_gather > 1 &&
		SPI_execute_with_args(shared, 3, types, values, NULL, true, 0) == SPI_OK_SELECT)
		text = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	if (text == NULL)
		return kept_text(kept, kept_statement_text(KEPT_MAKE_ALL_DIGESTS));
	kept_set("parallel_leader_participation", "off");
	return text;
}

void
keep_all_digests(Kept *kept, bool is_asked, uint64 n_groups)
{
	LongWork	work;
	AllDigests	all = {.work = is_asked ? &work : NULL};
	SPITupleTable *groups;
	bool		done;

	if (!OidIsValid(kept->digests))
		return;
	kept_execute_once(kept, KEPT_CLEAR_ALL_DIGESTS);
	/* A group with several divisions is counted more than once. */
	begin_long_work(&work, "summed up", "groups", kept_source(kept), "about ", n_groups);
	all.rows = tuplestore_begin_heap(false, false, work_mem);
	all.text = text_of_all_digests(kept, n_groups);
	done = succeeds(make_all_digests, &all);
	if (done)
		execute_with(kept, KEPT_ADD_DIGESTS, DIGESTS_NAME, all.rows, NULL);
	tuplestore_end(all.rows);
	if (done)
		return;
	kept_execute_once(kept, KEPT_ALL_KEYS);
	groups = SPI_tuptable;
	allow_sequential_scans(kept, false);
	keep_some(kept, groups, 0, groups->numvals, NULL);
}
