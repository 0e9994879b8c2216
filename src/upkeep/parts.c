/*
 * parts.c
 *		What is kept of kept groups beside their values.
 *
 * All of it is computed of the kept values by one view, <prefix>_kept_parts, in
 * one look at the steps of a group.  (What stepadv 0.2.0 keeps is folded of the rows,
 * until upgrade_attachments.)  Signs and distributions are read by panels about all groups
 * alone.  So who changes a group does no more about them than to say so: its key is
 * written into a list, and what is kept of it is not believed any more; readers
 * have them computed.  A refresh keeps them.
 *
 * A group's key is written by whoever has its row locked, in the same transaction
 * as its value, and a refresh locks the table of groups against writers: what is
 * taken out of the list is what all of them have committed.
 *
 * A method that does not know what to do with a group (gae, of one where only
 * some of the steps have a value yet) must not keep anybody from writing it: over
 * time such a group gets a row with nothing but its key, for which the views compute
 * what they are asked for, and its signs go on waiting.  Which of many it is, is found by
 * halves.  A group to which a statement adds rollouts without steps gets such a row, too:
 * see keep_or_mark.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/queryenvironment.h"
#include "utils/resowner.h"
#include "utils/tuplestore.h"

#include "compat.h"
#include "upkeep/parts.h"
#include "upkeep/whole.h"

/* What of groups is to be kept. */
#define OVER_TIME	0x1
#define SIGNS		0x2			/* and distributions, and problems of rows */

/* Rows that are computed before they are written, where it is about all groups. */
#define BATCH 1000

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

void
kept_execute_set(Kept *kept, KeptStatement statement, SPITupleTable *groups, uint64 from, uint64 to)
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
		kept_execute_set(kept, set, groups, from, to);
		return;
	}
	for (uint64 i = from; i < to; i++)
	{
		CHECK_FOR_INTERRUPTS();
		kept_execute(kept, one, groups, i);
	}
}

/* ----------
 * Some groups
 * ----------
 */

typedef struct Attempt
{
	Kept	   *kept;
	int			what;
	SPITupleTable *groups;
	uint64		from;
	uint64		to;
	Tuplestorestate *rows;
	TupleDesc	desc;
	MemoryContext context;
	LongWork   *work;
} Attempt;

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

/* What there are tables for, of what is asked for. */
static int
kept_of(const Kept *kept, int what)
{
	if (!OidIsValid(kept->folded_over_time))
		what &= ~OVER_TIME;
	if (!OidIsValid(kept->waiting) || (!OidIsValid(kept->parts) && (OidIsValid(kept->folded_signs) || OidIsValid(kept->folded_bins))))
		what &= ~SIGNS;
	return what;
}

void
group_done(const Kept *kept, LongWork *work)
{
	if (work != NULL)
		advance_long_work(work, kept_of(kept, OVER_TIME | SIGNS) != 0 ? 0.5 : 1, 1);
}

/* Whether what is kept of the methods is to be computed, all of it, by one view. */
static bool
is_everything(const Kept *kept, int what)
{
	return (what & SIGNS) != 0 && OidIsValid(kept->parts);
}

static void
attempt_parts(void *argument)
{
	Attempt    *attempt = argument;
	bool		everything = is_everything(attempt->kept, attempt->what);

	if (!everything && (attempt->what & OVER_TIME) == 0)
		return;
	if (!attempt->kept->by_index)
	{
		kept_execute_set(attempt->kept, everything ? KEPT_EVERYTHING_SET : KEPT_PARTS_SET, attempt->groups, attempt->from, attempt->to);
		take_rows(attempt->rows, &attempt->desc, attempt->context);
		return;
	}
	for (uint64 i = attempt->from; i < attempt->to; i++)
	{
		CHECK_FOR_INTERRUPTS();
		kept_query(attempt->kept, everything ? KEPT_EVERYTHING_ONE : KEPT_PARTS_ONE, attempt->groups, i);
		take_rows(attempt->rows, &attempt->desc, attempt->context);
		group_done(attempt->kept, attempt->work);
	}
}

/*
 * Do what may fail because of the data in a subtransaction; false if it failed.
 * Where it only reads, to undo it costs nothing.
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
clear_parts(Kept *kept, int what, SPITupleTable *groups, uint64 from, uint64 to)
{
	if (what & OVER_TIME)
		execute_each(kept, KEPT_CLEAR_PARTS_ONE, KEPT_CLEAR_PARTS_SET, groups, from, to);
	if ((what & SIGNS) && OidIsValid(kept->folded_signs))
		execute_each(kept, KEPT_CLEAR_SIGNS_ONE, KEPT_CLEAR_SIGNS_SET, groups, from, to);
	if ((what & SIGNS) && OidIsValid(kept->folded_bins))
		execute_each(kept, KEPT_CLEAR_BINS_ONE, KEPT_CLEAR_BINS_SET, groups, from, to);
	if ((what & SIGNS) && OidIsValid(kept->folded_behaviour))
		execute_each(kept, KEPT_CLEAR_BEHAVIOUR_ONE, KEPT_CLEAR_BEHAVIOUR_SET, groups, from, to);
	if ((what & SIGNS) && OidIsValid(kept->folded_problems))
		execute_each(kept, KEPT_CLEAR_PROBLEMS_ONE, KEPT_CLEAR_PROBLEMS_SET, groups, from, to);
}

static void
add_parts(Kept *kept, int what, Tuplestorestate *rows, TupleDesc desc)
{
	if (tuplestore_tuple_count(rows) == 0)
		return;
	if (!is_everything(kept, what))
	{
		execute_with(kept, KEPT_ADD_PARTS, PARTS_NAME, rows, desc);
		return;
	}
	if (what & OVER_TIME)
		execute_with(kept, KEPT_ADD_SUMS, PARTS_NAME, rows, desc);
	if (OidIsValid(kept->folded_signs))
		execute_with(kept, KEPT_ADD_SIGNS, PARTS_NAME, rows, desc);
	if (OidIsValid(kept->folded_bins))
		execute_with(kept, KEPT_ADD_BINS, PARTS_NAME, rows, desc);
	if (OidIsValid(kept->folded_behaviour))
		execute_with(kept, KEPT_ADD_BEHAVIOUR, PARTS_NAME, rows, desc);
}

static void
keep_some(Kept *kept, int what, SPITupleTable *groups, uint64 from, uint64 to, LongWork *work)
{
	Attempt		attempt = {.kept = kept, .what = what, .groups = groups, .from = from, .to = to, .context = CurrentMemoryContext, .work = work};
	bool		is_known;

	if (from == to || what == 0)
		return;
	attempt.rows = tuplestore_begin_heap(false, false, work_mem);
	is_known = succeeds(attempt_parts, &attempt);
	if (is_known || to - from == 1)
		clear_parts(kept, what, groups, from, to);
	if (is_known)
		add_parts(kept, what, attempt.rows, attempt.desc);
	/* No method is asked for them. */
	if (is_known && (what & SIGNS) && OidIsValid(kept->folded_problems))
		execute_each(kept, KEPT_ADD_PROBLEMS_ONE, KEPT_ADD_PROBLEMS_SET, groups, from, to);
	tuplestore_end(attempt.rows);
	if (is_known)
		return;
	/* Those that failed have been counted. */
	if (to - from > 1)
	{
		uint64		middle = from + (to - from) / 2;

		keep_some(kept, what, groups, from, middle, NULL);
		keep_some(kept, what, groups, middle, to, NULL);
		return;
	}
	if (what & SIGNS)
		kept_execute(kept, KEPT_LET_WAIT, groups, from);
	if (what == OVER_TIME)
		kept_execute(kept, KEPT_MARK_PARTS, groups, from);
	else
		keep_some(kept, what & OVER_TIME, groups, from, to, NULL);
}

/* ----------
 * Sums by division
 * ----------
 */

static List *
statements_of(HeapTuple row, TupleDesc desc, int column)
{
	List	   *statements = NIL;
	bool		isnull;
	Datum		value = SPI_getbinval(row, desc, column, &isnull);
	Datum	   *texts;
	int			n = 0;

	if (!isnull)
		deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL, &n);
	for (int i = 0; i < n; i++)
		statements = lappend(statements, TextDatumGetCString(texts[i]));
	return statements;
}

/* Ask for the statements: to write them takes longer than to run them. */
static void
know_sums_statements(Kept *kept)
{
	MemoryContext old;

	if (kept->add_sums != NIL || kept_query(kept, KEPT_SUMS_STATEMENTS, NULL, 0) == 0)
		return;
	old = MemoryContextSwitchTo(kept->context);
	kept->forget_sums = statements_of(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	kept->add_sums = statements_of(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 2);
	MemoryContextSwitchTo(old);
	SPI_freetuptable(SPI_tuptable);
}

/* Each is planned for the tables as they are now. */
static void
execute_all(Kept *kept, List *statements)
{
	bool		allowed = enable_seqscan;
	ListCell   *cell;

	allow_sequential_scans(kept, true);
	foreach(cell, statements)
	{
		int			result = SPI_execute(lfirst(cell), false, 0);

		if (result < 0)
			elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
		SPI_freetuptable(SPI_tuptable);
	}
	allow_sequential_scans(kept, allowed);
}

/* Of the divisions that groups are in that wait, as they are kept now. */
static void
forget_sums(Kept *kept)
{
	know_sums_statements(kept);
	execute_all(kept, kept->forget_sums);
}

static void
answer_waiting(Kept *kept)
{
	kept_execute(kept, KEPT_ADD_ANSWERS, NULL, 0);
}

/*
 * Do something about these groups that knows them by the list of those that wait, in
 * which they stand only meanwhile: who waits for another reason goes on waiting.
 */
static void
as_waiting(Kept *kept, void (*work) (Kept *kept), SPITupleTable *groups)
{
	SPITupleTable *still_wait;

	kept_execute_set(kept, KEPT_STILL_WAIT, groups, 0, groups->numvals);
	still_wait = SPI_tuptable;
	kept_execute_set(kept, KEPT_LET_SET_WAIT, groups, 0, groups->numvals);
	work(kept);
	kept_execute_set(kept, KEPT_END_WAIT_SET, groups, 0, groups->numvals);
	kept_execute_set(kept, KEPT_LET_SET_WAIT, still_wait, 0, still_wait->numvals);
}

/* The sums of the divisions that these groups are in, as they are kept now. */
static void
forget_divisions(Kept *kept, SPITupleTable *groups)
{
	if (!kept->is_summed || groups->numvals == 0)
		return;
	as_waiting(kept, forget_sums, groups);
	kept->lacks_sums = true;
}

/* What is answered of them. */
static void
keep_answers(Kept *kept, SPITupleTable *groups)
{
	if (kept->has_answers && groups->numvals > 0)
		as_waiting(kept, answer_waiting, groups);
}

bool
can_mark_parts(const Kept *kept)
{
	return OidIsValid(kept->parts) && kept_of(kept, OVER_TIME | SIGNS) == (OVER_TIME | SIGNS);
}

/*
 * Over time.  Who inserts a rollout and then its steps changes the group twice: with
 * rollouts alone it is only marked, as a group that cannot be computed is.  Readers
 * compute it, the steps' statement keeps it, and so does a refresh where none come.
 */
static void
keep_or_mark(Kept *kept, int what, SPITupleTable *groups, const bool *await_steps, LongWork *work)
{
	uint64		n = groups->numvals;
	uint64		from = 0;

	for (uint64 i = 0; i < n; i++)
	{
		if (!await_steps[i])
			continue;
		keep_some(kept, what, groups, from, i, work);
		clear_parts(kept, OVER_TIME, groups, i, i + 1);
		kept_execute(kept, KEPT_MARK_PARTS, groups, i);
		from = i + 1;
	}
	keep_some(kept, what, groups, from, n, work);
}

void
keep_parts(Kept *kept, SPITupleTable *groups, bool with_signs, const bool *await_steps, LongWork *work)
{
	int			what = kept_of(kept, with_signs ? OVER_TIME | SIGNS : OVER_TIME);

	/* Where they were, and where they are. */
	if (what & SIGNS)
		forget_divisions(kept, groups);
	keep_or_mark(kept, what, groups, await_steps, work);
	if (what & SIGNS)
	{
		forget_divisions(kept, groups);
		keep_answers(kept, groups);
	}
	if ((what & SIGNS) == 0 && OidIsValid(kept->waiting))
	{
		for (uint64 i = 0; i < groups->numvals; i++)
			kept_execute(kept, KEPT_LET_WAIT, groups, i);
	}
}

/* ----------
 * All of them
 * ----------
 */

typedef struct Whole
{
	Kept	   *kept;
	int			what;
	LongWork   *work;
	bool		done;
} Whole;

/* Written a batch after the other, so that it takes no more room with more groups. */
static void
attempt_whole(void *argument)
{
	Whole	   *whole = argument;
	SPIPlanPtr	plan = SPI_prepare(kept_text(whole->kept, kept_statement_text(KEPT_EVERYTHING)), 0, NULL);
	Portal		portal;

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	portal = SPI_cursor_open(NULL, plan, NULL, NULL, false);
	for (;;)
	{
		Tuplestorestate *rows;
		TupleDesc	desc = NULL;
		uint64		n;

		CHECK_FOR_INTERRUPTS();
		SPI_cursor_fetch(portal, true, BATCH);
		n = SPI_processed;
		if (n == 0)
			break;
		rows = tuplestore_begin_heap(false, false, work_mem);
		take_rows(rows, &desc, CurrentMemoryContext);
		add_parts(whole->kept, whole->what, rows, desc);
		tuplestore_end(rows);
		FreeTupleDesc(desc);
		if (whole->work != NULL)
			advance_long_work(whole->work, n, 0);
	}
	SPI_cursor_close(portal);
	SPI_freeplan(plan);
}

static void
attempt_sums(void *argument)
{
	kept_execute_once(((Whole *) argument)->kept, KEPT_ALL_PARTS);
}

/* As stepadv 0.2.0 kept them. */
static void
attempt_sums_alone(void *argument)
{
	((Whole *) argument)->done = succeeds(attempt_sums, argument);
}

static void
add_divisions(Kept *kept)
{
	if (kept->is_summed)
	{
		know_sums_statements(kept);
		execute_all(kept, kept->add_sums);
	}
	kept->lacks_sums = false;
}

static void
clear_all(Kept *kept, int what)
{
	if (what & OVER_TIME)
		kept_execute_once(kept, KEPT_CLEAR_ALL_PARTS);
	if (!OidIsValid(kept->waiting))
		return;
	kept_execute_once(kept, KEPT_CLEAR_UNSIGNED);
	if (OidIsValid(kept->folded_signs))
		kept_execute_once(kept, KEPT_CLEAR_ALL_SIGNS);
	if (OidIsValid(kept->folded_bins))
		kept_execute_once(kept, KEPT_CLEAR_ALL_BINS);
	if (OidIsValid(kept->folded_problems))
		kept_execute_once(kept, KEPT_CLEAR_ALL_PROBLEMS);
	if (kept->is_summed)
		kept_execute(kept, KEPT_FORGET_ALL_DIVISIONS, NULL, 0);
	if ((what & SIGNS) == 0)
		kept_execute_once(kept, KEPT_ALL_LET_WAIT);
}

void
keep_all_parts(Kept *kept, bool over_time, bool is_asked, uint64 n_groups)
{
	Whole		whole = {.kept = kept, .what = kept_of(kept, over_time ? OVER_TIME | SIGNS : SIGNS)};
	LongWork	work;

	clear_all(kept, whole.what);
	if (whole.what == 0)
		return;
	/* Groups have some that have no value: these are all found at once. */
	if ((whole.what & SIGNS) && OidIsValid(kept->folded_problems))
		kept_execute_once(kept, KEPT_ADD_ALL_PROBLEMS);
	if ((whole.what & SIGNS) && kept->has_answers)
		kept_execute(kept, KEPT_ALL_ANSWERS, NULL, 0);
	if (!is_everything(kept, whole.what) && (whole.what & OVER_TIME) == 0)
		return;
	if (!OidIsValid(kept->parts))
		telling_rows(kept, attempt_sums_alone, &whole, "rows for the views over time", is_asked);
	else
	{
		/* A group that is divided counts more than once. */
		begin_long_work(&work, "summed up", "groups", kept_source(kept), "about ", n_groups);
		whole.work = is_asked ? &work : NULL;
		whole.done = succeeds(attempt_whole, &whole);
	}
	if (!whole.done)
	{
		SPITupleTable *groups;

		kept_execute_once(kept, KEPT_ALL_KEYS);
		groups = SPI_tuptable;
		allow_sequential_scans(kept, false);
		keep_some(kept, whole.what, groups, 0, groups->numvals, NULL);
	}
	add_divisions(kept);
}

/* ----------
 * Those that wait
 * ----------
 */

uint64
sign_waiting(Kept *kept)
{
	uint64		n;
	SPITupleTable *groups;
	bool		any_marked;

	if (kept_of(kept, SIGNS) == 0)
		return 0;
	any_marked = can_mark_parts(kept) && kept_execute(kept, KEPT_ANY_MARKED, NULL, 0) > 0;
	if (kept->is_summed && kept_execute(kept, KEPT_ANY_UNSIGNED, NULL, 0) > 0)
		forget_sums(kept);
	n = kept_query(kept, KEPT_TAKE_UNSIGNED, NULL, 0);
	groups = SPI_tuptable;
	if (are_most(kept, n))
	{
		allow_sequential_scans(kept, true);
		keep_all_parts(kept, any_marked, false, n);
		allow_sequential_scans(kept, false);
		return n;
	}
	keep_some(kept, any_marked ? OVER_TIME | SIGNS : SIGNS, groups, 0, n, NULL);
	keep_answers(kept, groups);
	/* One that was marked was in no division as yet. */
	if (any_marked)
		forget_divisions(kept, groups);
	if (n > 0 || kept->lacks_sums)
		add_divisions(kept);
	return n;
}
