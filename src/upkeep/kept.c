/*
 * kept.c
 *		The session's cache of an attachment whose groups are kept, and the plans of the statements that keep
 *		them.
 *
 * Objects are known by number and by OID.  Their exact names are taken from the catalog when the statements
 * are prepared (kept_text.c).  A cache entry is discarded when anything that it depends on changes (the
 * views, what they read, the kept tables, the attachment): a plan that reads all of it, and never runs,
 * becomes invalid then.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "attach/column_lineage.h"
#include "attach/owner.h"
#include "compat.h"
#include "upkeep/kept.h"
#include "upkeep/rights.h"

PG_FUNCTION_INFO_V1(stepadv_kept_text);

static HTAB *all_kept = NULL;
static uint64 generations = 0;
static int	n_at_work = 0;

/* ----------
 * Plans
 * ----------
 */

SPIPlanPtr
kept_prepare(const Kept *kept, const char *text, int n_parameters)
{
	Oid		   *types = palloc(sizeof(Oid) * kept->n_keys);
	SPIPlanPtr	plan;

	for (int i = 0; i < kept->n_keys; i++)
		types[i] = TupleDescAttr(kept->groups, i)->atttypid;
	/* One plan for all groups: folding takes longer than planning, but not by much. */
	plan = SPI_prepare_cursor(text, n_parameters, types, CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare_cursor failed: %s", SPI_result_code_string(SPI_result));
	SPI_keepplan(plan);
	return plan;
}

/* A trigger that fires within another one of ours must not free a plan that is running. */
void
kept_forget_plan(SPIPlanPtr plan)
{
	if (plan != NULL && n_at_work <= 1)
		SPI_freeplan(plan);
}

uint64
kept_query(Kept *kept, KeptStatement statement, SPITupleTable *groups, uint64 group)
{
	Datum	   *values = NULL;
	char	   *nulls = NULL;
	int			n = strchr(kept_statement_text(statement), '$') != NULL ? kept->n_keys : 0;
	int			result;

	if (kept->plans[statement] == NULL)
		kept->plans[statement] = kept_prepare(kept, kept_text(kept, kept_statement_text(statement)), n);
	if (n > 0)
	{
		values = palloc(sizeof(Datum) * n);
		nulls = palloc(n);
	}
	for (int i = 0; i < n; i++)
	{
		bool		isnull;

		values[i] = heap_getattr(groups->vals[group], i + 1, groups->tupdesc, &isnull);
		nulls[i] = isnull ? 'n' : ' ';
	}
	/* Not read-only: each statement takes a snapshot that sees what was committed before. */
	result = SPI_execute_plan(kept->plans[statement], values, nulls, false, 0);
	if (result < 0)
		elog(ERROR, "SPI_execute_plan failed: %s", SPI_result_code_string(result));
	if (n > 0)
	{
		pfree(values);
		pfree(nulls);
	}
	return SPI_processed;
}

uint64
kept_execute(Kept *kept, KeptStatement statement, SPITupleTable *groups, uint64 group)
{
	uint64		n = kept_query(kept, statement, groups, group);

	SPI_freetuptable(SPI_tuptable);
	return n;
}

uint64
kept_execute_once(Kept *kept, KeptStatement statement)
{
	int			result = SPI_execute(kept_text(kept, kept_statement_text(statement)), false, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	return SPI_processed;
}

/* ----------
 * Cached facts
 * ----------
 */

char *
kept_source(const Kept *kept)
{
	char	   *name = get_rel_name(kept->source);

	if (name == NULL)
		return "";
	return psprintf("\"%s.%s\"", get_namespace_name(get_rel_namespace(kept->source)), name);
}

List *
kept_views(const Kept *kept)
{
	List	   *views = list_make1_oid(kept->fresh);

	if (OidIsValid(kept->digests))
		views = lappend_oid(views, kept->fresh_digests);
	return views;
}

static Oid
oid_column(HeapTuple row, TupleDesc desc, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(row, desc, column, &isnull);

	return isnull ? InvalidOid : DatumGetObjectId(value);
}

/*
 * Read the attachment's row; false if there is none, or nothing is kept.  Waits for sessions that have locked
 * it, since without it the groups would become stale.
 */
static bool
read_attachment(Kept *kept)
{
	Oid			types[] = {REGCLASSOID};
	Datum		values[] = {ObjectIdGetDatum(kept->attachment)};
	HeapTuple	row;
	TupleDesc	desc;
	char	   *how;

	if (SPI_execute_with_args("SELECT a.owner, a.n_group_columns, a.kept, a.fresh, a.folded, a.changed, a.source, a.fresh_digests, a.made_digests, a.digests, a.seen"
							  " FROM stepadv_internal.known($1) a WHERE a.kept IS NOT NULL AND a.fresh IS NOT NULL AND a.folded IS NOT NULL",
							  1, types, values, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "the attachment cannot be read");
	if (SPI_processed == 0)
		return false;
	row = SPI_tuptable->vals[0];
	desc = SPI_tuptable->tupdesc;
	kept->owner = oid_column(row, desc, 1);
	kept->n_keys = (int) oid_column(row, desc, 2);
	how = SPI_getvalue(row, desc, 3);
	kept->how = strcmp(how, "triggers") == 0 ? KEPT_BY_STATEMENT : KEPT_BY_REFRESH;
	kept->fresh = oid_column(row, desc, 4);
	kept->folded = oid_column(row, desc, 5);
	kept->changed = oid_column(row, desc, 6);
	kept->source = oid_column(row, desc, 7);
	kept->fresh_digests = oid_column(row, desc, 8);
	kept->made_digests = oid_column(row, desc, 9);
	kept->digests = OidIsValid(kept->fresh_digests) ? oid_column(row, desc, 10) : InvalidOid;
	kept->seen = oid_column(row, desc, 11);
	SPI_freetuptable(SPI_tuptable);
	return kept->n_keys > 0;
}

/* Pending groups cannot be recorded if their table was dropped. */
static bool
is_complete(const Kept *kept)
{
	return kept->how == KEPT_BY_STATEMENT || OidIsValid(kept->changed);
}

static void
describe_groups(Kept *kept)
{
	kept->groups = CreateTemplateTupleDesc(kept->n_keys);
	for (int i = 1; i <= kept->n_keys; i++)
	{
		Oid			type;
		int32		typmod;
		Oid			collation;

		get_atttypetypmodcoll(kept->folded, i, &type, &typmod, &collation);
		TupleDescInitEntry(kept->groups, i, psprintf("k%d", i), type, typmod, 0);
		TupleDescInitEntryCollation(kept->groups, i, collation);
	}
	finish_tuple_desc(kept->groups);
}

/* Does an index that begins with the group's columns lead to the rows of a group? */
static bool
has_group_index(Oid relation, const AttrNumber *keys, int n_keys)
{
	Relation	rel = table_open(relation, AccessShareLock);
	bool		found = false;
	ListCell   *cell;

	foreach(cell, RelationGetIndexList(rel))
	{
		Relation	index = index_open(lfirst_oid(cell), AccessShareLock);
		Form_pg_index form = index->rd_index;
		Bitmapset  *leading = NULL;
		bool		leads = form->indisvalid && form->indnkeyatts >= n_keys &&
			heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);

		for (int i = 0; leads && i < n_keys; i++)
		{
			if (form->indkey.values[i] > 0)
				leading = bms_add_member(leading, form->indkey.values[i]);
		}
		for (int i = 0; leads && i < n_keys; i++)
			leads = keys[i] > 0 && bms_is_member(keys[i], leading);
		index_close(index, AccessShareLock);
		found |= leads;
	}
	table_close(rel, AccessShareLock);
	return found;
}

/* Look up what follows from the attachment's row. */
static void
look_up_kept(Kept *kept)
{
	StringInfoData watch;
	Oid			relations[] = {kept->attachment, kept->fresh, kept->folded, kept->changed,
	kept->fresh_digests, kept->made_digests, kept->digests};
	MemoryContext old = MemoryContextSwitchTo(kept->context);
	ListCell   *cell;

	describe_groups(kept);
	MemoryContextSwitchTo(old);
	kept->by_index = true;
	foreach(cell, tables_read(kept_views(kept), kept->n_keys))
	{
		const TableRead *read = lfirst(cell);

		/* Foreign rows are indexed on their own server. */
		if (get_rel_relkind(read->relation) != RELKIND_FOREIGN_TABLE)
			kept->by_index &= has_group_index(read->relation, read->keys, kept->n_keys);
		if (!may_read(read, kept->owner))
			kept->unreadable = read->relation;
	}
	initStringInfo(&watch);
	for (int i = 0; i < lengthof(relations); i++)
	{
		if (OidIsValid(relations[i]))
			appendStringInfo(&watch, "%s %s r%d", i > 0 ? "," : "SELECT FROM", kept_relation_name(relations[i]), i);
	}
	kept->watch = kept_prepare(kept, watch.data, 0);
}

static void
forget_kept(Kept *kept)
{
	kept_forget_plan(kept->watch);
	for (int i = 0; i < N_KEPT_STATEMENTS; i++)
		kept_forget_plan(kept->plans[i]);
	/* Callers that use the entry now keep it. */
	if (n_at_work <= 1)
		MemoryContextDelete(kept->context);
}

/*
 * Something below the views may have changed.  From now on, groups are folded from the new state, even if the
 * old one soon returns: a partition that is attached and detached again.
 */
static void
note_changes(const Kept *kept)
{
	Oid			type = REGCLASSOID;
	Datum		attachment = ObjectIdGetDatum(kept->attachment);

	if (kept->how == KEPT_BY_STATEMENT &&
		SPI_execute_with_args("SELECT stepadv_internal.note_changes($1)", 1, &type, &attachment, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "stepadv_internal.note_changes failed");
}

typedef struct KeptEntry
{
	Oid			attachment;		/* hash key */
	Kept	   *kept;
} KeptEntry;

/* NULL if nothing is kept. */
static Kept *
find_kept(Oid attachment)
{
	KeptEntry  *entry;
	MemoryContext context;
	Kept	   *kept;
	bool		found;

	if (all_kept == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(KeptEntry)};

		all_kept = hash_create("stepadv kept groups", 16, &control, HASH_ELEM | HASH_BLOBS);
	}
	entry = hash_search(all_kept, &attachment, HASH_FIND, NULL);
	if (entry != NULL)
	{
		kept = entry->kept;
		if (SPI_plan_is_valid(kept->watch))
			return kept;
		hash_search(all_kept, &attachment, HASH_REMOVE, NULL);
		forget_kept(kept);
	}
	/* So that an error frees it. */
	context = AllocSetContextCreate(CurrentMemoryContext, "stepadv kept groups", ALLOCSET_SMALL_SIZES);
	kept = MemoryContextAllocZero(context, sizeof(Kept));
	kept->context = context;
	kept->attachment = attachment;
	kept->generation = ++generations;
	if (!read_attachment(kept) || !is_complete(kept))
		return NULL;
	look_up_kept(kept);
	note_changes(kept);
	MemoryContextSetParent(context, CacheMemoryContext);
	entry = hash_search(all_kept, &attachment, HASH_ENTER, &found);
	entry->kept = kept;
	return kept;
}

/* ----------
 * Rights and settings
 * ----------
 */

void
kept_set(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

void
allow_sequential_scans(const Kept *kept, bool allow)
{
	kept_set("enable_seqscan", allow || !kept->by_index ? "on" : "off");
}

#define KEEPING_CONTEXT (SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS)

void
with_kept(Oid attachment, KeptWork work, void *argument)
{
	Oid			owner = relation_owner(attachment);
	Oid			user;
	int			context;
	int			nest_level;

	if (!OidIsValid(owner))
		return;
	SPI_connect();

	/*
	 * As for the server's foreign keys, writers need no privilege on the kept tables.  As where the server
	 * runs users' code, operations are restricted: a deferred trigger that the owner left for the end of the
	 * transaction would run with the writer's privileges.
	 */
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(owner, context | KEEPING_CONTEXT | SECURITY_RESTRICTED_OPERATION);
	nest_level = NewGUCNestLevel();
	kept_set("search_path", "pg_catalog, pg_temp");
	kept_set("extra_float_digits", "1");
	kept_set("jit", "off");
	n_at_work++;
	PG_TRY();
	{
		Kept	   *kept = find_kept(attachment);

		if (kept != NULL)
		{
			/*
			 * A session that began with empty tables must not scan all of them for each group when they have
			 * grown.
			 */
			if (kept->by_index)
				allow_sequential_scans(kept, false);
			work(kept, argument);
		}
	}
	PG_FINALLY();
	{
		n_at_work--;
	}
	PG_END_TRY();
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, context);
	SPI_finish();
}

/* ----------
 * Texts for the SQL half
 * ----------
 */

/* kept_text(attachment regclass, template text): see kept_text.c; NULL if the attachment keeps no groups. */
Datum
stepadv_kept_text(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	Kept		kept = {.attachment = PG_GETARG_OID(0)};
	char	   *template = text_to_cstring(PG_GETARG_TEXT_PP(1));
	text	   *result = NULL;

	SPI_connect();
	if (read_attachment(&kept) && kept.n_keys <= MaxHeapAttributeNumber && get_attname(kept.folded, kept.n_keys, true) != NULL)
	{
		char	   *text;

		describe_groups(&kept);
		text = kept_text(&kept, template);
		MemoryContextSwitchTo(context);
		result = cstring_to_text(text);
	}
	SPI_finish();
	if (result == NULL)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(result);
}
