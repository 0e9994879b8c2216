/*
 * kept.c
 *		What a session knows of an attachment whose groups are kept, and the
 *		statements that keep them.
 *
 * Everything is known by number and by OID; names are written into the statements
 * from the catalog, exactly, when they are prepared.  What is known is forgotten
 * when anything that it depends on changes: a plan that reads all of it (the
 * views, what they read, the kept tables, the attachment) and is never run tells.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "catalog/lineage.h"
#include "compat.h"
#include "upkeep/kept.h"
#include "upkeep/rights.h"
#include "upkeep/watched.h"

/*
 * The texts.  In braces:
 *
 *	{C}		name of the relation with alias c
 *	{c*}	its group columns; {c.*}: with the alias
 *	{c=g}	the condition that two aliases have the same group
 *	{value}, {at}, {fresh}	the columns rollouts and refreshed_at of c, rollouts of f
 *	{sums}	what O has, of p; {only}: and the condition that a row of p is of O
 *	{r->O}, {r->B}, {r->S}	what each of these has, of r
 *
 * Aliases: c the kept groups (e as they were), f the same folded when asked, o what the views over time
 * add up of them, s the signs of their steps, b their distributions, p what all of these are
 * computed by, r rows of it, q the problems of their rows and i these when asked, a the attachment, w groups that wait, u those whose signs wait, g groups of
 * a statement (columns k1, k2, ...), $ parameters.
 */
static const char *const texts[N_KEPT_STATEMENTS] = {
	/* A row that an older snapshot shows, but is gone, is found here alone. */
	[KEPT_LOOK] = "SELECT FROM {C} c WHERE {c=$} FOR UPDATE",
	/* Locks the row, whether it was there or not. */
	[KEPT_CLAIM] = "INSERT INTO {C} AS c ({c*}) VALUES ({$*}) ON CONFLICT ({c*}) DO UPDATE SET {value} = c.{value} WHERE false",
	/*
	 * The row is written in any case: a transaction with an older snapshot that
	 * changes the same group must fail, and this is how it finds out.
	 */
	[KEPT_FOLD_ONE] = "UPDATE {C} c SET {at} = pg_catalog.clock_timestamp(), {value} = (SELECT f.{fresh} FROM {F} f WHERE {f=$}) "
	"WHERE {c=$} RETURNING c.{value} IS NULL",
	/* The same, and the value as it is and was: the statement's snapshot is older than its row. */
	[KEPT_FOLD_GROWN] = "UPDATE {C} c SET {at} = pg_catalog.clock_timestamp(), {value} = (SELECT f.{fresh} FROM {F} f WHERE {f=$}) "
	"WHERE {c=$} RETURNING c.{value} IS NULL, c.{value}, (SELECT e.{value} FROM {E} e WHERE {e=$})",
	[KEPT_FOLD_SET] = "UPDATE {C} c SET {at} = pg_catalog.clock_timestamp(), {value} = f.{fresh} "
	"FROM " GROUPS_NAME " g LEFT JOIN {F} f ON {f=g} WHERE {c=g}",
	[KEPT_FORGET_ONE] = "DELETE FROM {C} c WHERE {c=$}",
	[KEPT_FORGET_SET] = "DELETE FROM {C} c USING " GROUPS_NAME " g WHERE {c=g} AND c.{value} IS NULL",
	[KEPT_PARTS_ONE] = "SELECT {sums} FROM {P} p WHERE {p=$}{only}",
	[KEPT_PARTS_SET] = "SELECT {sums} FROM {P} p JOIN " GROUPS_NAME " g ON {p=g}{only}",
	[KEPT_CLEAR_PARTS_ONE] = "DELETE FROM {O} o WHERE {o=$}",
	[KEPT_CLEAR_PARTS_SET] = "DELETE FROM {O} o USING " GROUPS_NAME " g WHERE {o=g}",
	[KEPT_ADD_PARTS] = "INSERT INTO {O} SELECT r.* FROM " PARTS_NAME " r",
	[KEPT_MARK_PARTS] = "INSERT INTO {O} ({o*}) VALUES ({$*})",
	[KEPT_ANY_MARKED] = "SELECT FROM {O} o WHERE o.n_rollouts IS NULL LIMIT 1",
	[KEPT_TAKE_WAITING] = "WITH gone ({g*}) AS (DELETE FROM {W} w RETURNING {w.*}) SELECT DISTINCT {g*} FROM gone ORDER BY {g*}",
	[KEPT_ANY_WAITING] = "SELECT FROM {W} w LIMIT 1",
	[KEPT_SHARE] = "WITH kept AS (SELECT pg_catalog.pg_column_size(c.{value})::pg_catalog.float8 AS size, g.k1 IS DISTINCT FROM NULL AS waits "
	"FROM {C} c LEFT JOIN " GROUPS_NAME " g ON {c=g}) "
	"SELECT pg_catalog.sum(size) FILTER (WHERE waits) OPERATOR(pg_catalog./) pg_catalog.sum(size) FROM kept",
	[KEPT_ALL_WAIT] = "INSERT INTO {W} DEFAULT VALUES",
	[KEPT_CLEAR_ALL] = "DELETE FROM {C}",
	[KEPT_FOLD_ALL] = "INSERT INTO {C} ({c*}, {value}, {at}) SELECT {f.*}, f.{fresh}, pg_catalog.clock_timestamp() FROM {F} f",
	[KEPT_CLEAR_ALL_PARTS] = "DELETE FROM {O}",
	[KEPT_ALL_PARTS] = "INSERT INTO {O} SELECT p.* FROM {P} p",
	[KEPT_ALL_KEYS] = "SELECT {c.*} FROM {C} c",
	[KEPT_LET_WAIT] = "INSERT INTO {U} ({u*}) VALUES ({$*})",
	[KEPT_ALL_LET_WAIT] = "INSERT INTO {U} ({u*}) SELECT {c.*} FROM {C} c",
	[KEPT_TAKE_UNSIGNED] = "WITH gone ({g*}) AS (DELETE FROM {U} u RETURNING {u.*}) SELECT DISTINCT {g*} FROM gone ORDER BY {g*}",
	[KEPT_CLEAR_UNSIGNED] = "DELETE FROM {U}",
	[KEPT_EVERYTHING_ONE] = "SELECT p.* FROM {P} p WHERE {p=$}",
	[KEPT_EVERYTHING_SET] = "SELECT p.* FROM {P} p JOIN " GROUPS_NAME " g ON {p=g}",
	[KEPT_EVERYTHING] = "SELECT p.* FROM {P} p",
	[KEPT_ADD_SUMS] = "INSERT INTO {O} SELECT {r->O} FROM " PARTS_NAME " r WHERE r.is_division",
	[KEPT_CLEAR_SIGNS_ONE] = "DELETE FROM {S} s WHERE {s=$}",
	[KEPT_CLEAR_SIGNS_SET] = "DELETE FROM {S} s USING " GROUPS_NAME " g WHERE {s=g}",
	[KEPT_CLEAR_ALL_SIGNS] = "DELETE FROM {S}",
	[KEPT_ADD_SIGNS] = "INSERT INTO {S} SELECT {r->S} FROM " PARTS_NAME " r CROSS JOIN LATERAL pg_catalog.unnest(r.signs) t",
	[KEPT_CLEAR_BINS_ONE] = "DELETE FROM {B} b WHERE {b=$}",
	[KEPT_CLEAR_BINS_SET] = "DELETE FROM {B} b USING " GROUPS_NAME " g WHERE {b=g}",
	[KEPT_CLEAR_ALL_BINS] = "DELETE FROM {B}",
	[KEPT_ADD_BINS] = "INSERT INTO {B} SELECT {r->B} FROM " PARTS_NAME " r WHERE r.is_division",
	[KEPT_CLEAR_PROBLEMS_ONE] = "DELETE FROM {Q} q WHERE {q=$}",
	[KEPT_CLEAR_PROBLEMS_SET] = "DELETE FROM {Q} q USING " GROUPS_NAME " g WHERE {q=g}",
	[KEPT_CLEAR_ALL_PROBLEMS] = "DELETE FROM {Q}",
	[KEPT_ADD_PROBLEMS_ONE] = "INSERT INTO {Q} SELECT i.* FROM {I} i WHERE {i=$}",
	[KEPT_ADD_PROBLEMS_SET] = "INSERT INTO {Q} SELECT i.* FROM {I} i JOIN " GROUPS_NAME " g ON {i=g}",
	[KEPT_ADD_ALL_PROBLEMS] = "INSERT INTO {Q} SELECT i.* FROM {I} i",
	[KEPT_STILL_WAIT] = "SELECT {u.*} FROM {U} u JOIN " GROUPS_NAME " g ON {u=g}",
	[KEPT_LET_SET_WAIT] = "INSERT INTO {U} ({u*}) SELECT {g.*} FROM " GROUPS_NAME " g",
	[KEPT_END_WAIT_SET] = "DELETE FROM {U} u USING " GROUPS_NAME " g WHERE {u=g}",
	/* An attachment's table has one row. */
	[KEPT_FORGET_DIVISIONS] = "SELECT stepadv_internal.forget_sums(a.tableoid::pg_catalog.regclass, false) FROM ONLY {A} a",
	[KEPT_FORGET_ALL_DIVISIONS] = "SELECT stepadv_internal.forget_sums(a.tableoid::pg_catalog.regclass, true) FROM ONLY {A} a",
	[KEPT_ADD_DIVISIONS] = "SELECT stepadv_internal.add_sums(a.tableoid::pg_catalog.regclass) FROM ONLY {A} a",
	[KEPT_ADD_ANSWERS] = "SELECT stepadv_internal.keep_answers(a.tableoid::pg_catalog.regclass, false) FROM ONLY {A} a",
	[KEPT_ALL_ANSWERS] = "SELECT stepadv_internal.keep_answers(a.tableoid::pg_catalog.regclass, true) FROM ONLY {A} a",
};

const char *
kept_statement_text(KeptStatement statement)
{
	return texts[statement];
}

static bool
has_parameters(KeptStatement statement)
{
	return strchr(texts[statement], '$') != NULL;
}

static HTAB *all_kept = NULL;
static uint64 generations = 0;
static int	n_at_work = 0;

/* ----------
 * Texts
 * ----------
 */

static Oid
relation_of(const Kept *kept, char alias)
{
	switch (alias)
	{
		case 'c':
		case 'e':
			return kept->folded;
		case 'f':
			return kept->fresh;
		case 'o':
			return kept->folded_over_time;
		case 'p':
			return OidIsValid(kept->parts) ? kept->parts : kept->fresh_over_time;
		case 'w':
			return kept->changed;
		case 's':
			return kept->folded_signs;
		case 'b':
			return kept->folded_bins;
		case 'a':
			return kept->attachment;
		case 'q':
			return kept->folded_problems;
		case 'i':
			return kept->fresh_problems;
		case 'u':
			return kept->waiting;
	}
	return InvalidOid;
}

/* The i-th column of the group: c."name", g.k1, $1. */
static char *
key_of(const Kept *kept, char alias, bool qualified, int i)
{
	Oid			relation = relation_of(kept, alias);
	const char *name;

	if (alias == '$')
		return psprintf("$%d", i + 1);
	name = OidIsValid(relation) ? quote_identifier(get_attname(relation, i + 1, false)) : psprintf("k%d", i + 1);
	return qualified ? psprintf("%c.%s", alias, name) : pstrdup(name);
}

static void
append_keys(StringInfo text, const Kept *kept, char alias, bool qualified)
{
	for (int i = 0; i < kept->n_keys; i++)
		appendStringInfo(text, "%s%s", i > 0 ? ", " : "", key_of(kept, alias, qualified, i));
}

/* Columns of one group have one type everywhere, and its own equality. */
static void
append_match(StringInfo text, const Kept *kept, char one, char other)
{
	for (int i = 0; i < kept->n_keys; i++)
	{
		Oid			type = TupleDescAttr(kept->groups, i)->atttypid;
		Oid			equal = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;

		if (!OidIsValid(equal))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_FUNCTION),
					 errmsg("type %s has no equality operator", format_type_be(type))));
		if (i > 0)
			appendStringInfoString(text, " AND ");
		generate_operator_clause(text, key_of(kept, one, true, i), type, equal, key_of(kept, other, true, i), type);
	}
}

static char *
relation_name(Oid relation)
{
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), get_rel_name(relation));
}

static int
number_of_columns(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	int			n;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", relation);
	n = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	return n;
}

/*
 * The columns of a kept table, out of rows that have them as parts' view calls them:
 * o1, ... those over time, b1, ... the bins, and of an entry t of the signs r1, ... by its place.
 */
static void
append_parts(StringInfo text, const Kept *kept, char alias, char table)
{
	int			n = number_of_columns(relation_of(kept, table)) - kept->n_keys;

	for (int i = 1; i <= kept->n_keys; i++)
		appendStringInfo(text, "%s%c.k%d", i > 1 ? ", " : "", alias, i);
	for (int i = 1; i <= (table == 's' ? n - 3 : n); i++)
		appendStringInfo(text, table == 's' ? ", (%c.%c%d)[t.place]" : ", %c.%c%d", alias, table == 's' ? 'r' : table, i);
	if (table == 's')
		appendStringInfoString(text, ", t.patterns, t.counts, t.apart");
}

static void
append_hole(StringInfo text, const Kept *kept, const char *hole, int length)
{
	if (strncmp(hole, "value", length) == 0 || strncmp(hole, "at", length) == 0)
		appendStringInfoString(text, quote_identifier(get_attname(kept->folded, kept->n_keys + (hole[0] == 'v' ? 1 : 2), false)));
	else if (strncmp(hole, "fresh", length) == 0 && length > 1)
		appendStringInfoString(text, quote_identifier(get_attname(kept->fresh, kept->n_keys + 1, false)));
	else if (strncmp(hole, "sums", length) == 0 && length > 1)
	{
		if (OidIsValid(kept->parts))
			append_parts(text, kept, 'p', 'o');
		else
			appendStringInfoString(text, "p.*");
	}
	else if (strncmp(hole, "only", length) == 0 && length > 1)
		appendStringInfoString(text, OidIsValid(kept->parts) ? " AND p.is_division" : "");
	else if (length == 4 && hole[1] == '-')
		append_parts(text, kept, hole[0], pg_tolower(hole[3]));
	else if (length == 1)
		appendStringInfoString(text, relation_name(relation_of(kept, pg_tolower(hole[0]))));
	else if (hole[1] == '=')
		append_match(text, kept, hole[0], hole[2]);
	else
		append_keys(text, kept, hole[0], hole[1] == '.');
}

char *
kept_text(const Kept *kept, const char *template)
{
	StringInfoData text;

	initStringInfo(&text);
	for (const char *c = template; *c != '\0'; c++)
	{
		const char *end = *c == '{' ? strchr(c, '}') : NULL;

		if (end == NULL)
			appendStringInfoChar(&text, *c);
		else
		{
			append_hole(&text, kept, c + 1, end - c - 1);
			c = end;
		}
	}
	return text.data;
}

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
	/* One plan for all groups: to fold is dearer than to plan, but not by much. */
	plan = SPI_prepare_cursor(text, n_parameters, types, CURSOR_OPT_GENERIC_PLAN);
	if (plan == NULL)
		elog(ERROR, "SPI_prepare_cursor failed: %s", SPI_result_code_string(SPI_result));
	SPI_keepplan(plan);
	return plan;
}

/* A trigger within what another one of ours does must not free what that one runs. */
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
	int			n = has_parameters(statement) ? kept->n_keys : 0;
	int			result;

	if (kept->plans[statement] == NULL)
		kept->plans[statement] = kept_prepare(kept, kept_text(kept, texts[statement]), n);
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
	/* Not read-only: each takes a snapshot that has what was committed before. */
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
	int			result = SPI_execute(kept_text(kept, texts[statement]), false, 0);

	if (result < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
	return SPI_processed;
}

/* ----------
 * What is known
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

	if (OidIsValid(kept->folded_over_time))
		views = lappend_oid(views, kept->fresh_over_time);
	if (OidIsValid(kept->fresh_behaviour))
		views = lappend_oid(views, kept->fresh_behaviour);
	if (OidIsValid(kept->fresh_lineage))
		views = lappend_oid(views, kept->fresh_lineage);
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
 * The attachment's row; false if there is none, or nothing is kept.  It is asked
 * for by its owner, so that whoever has it locked is waited for: to go on without
 * it would leave the groups stale.
 */
static bool
read_attachment(Kept *kept)
{
	Oid			type = REGCLASSOID;
	Datum		value = ObjectIdGetDatum(kept->attachment);
	HeapTuple	row;
	TupleDesc	desc;
	char	   *how;

	if (SPI_execute_with_args("SELECT a.owner, a.n_group_columns, a.kept, a.fresh, a.folded, a.changed, a.fresh_over_time, a.folded_over_time,"
							  /* 0.2.0 has no such columns, and may not be updated yet. */
							  " (j.j OPERATOR(pg_catalog.->>) 'waiting')::pg_catalog.regclass, (j.j OPERATOR(pg_catalog.->>) 'fresh_signs')::pg_catalog.regclass,"
							  " (j.j OPERATOR(pg_catalog.->>) 'folded_signs')::pg_catalog.regclass, (j.j OPERATOR(pg_catalog.->>) 'fresh_bins')::pg_catalog.regclass,"
							  " (j.j OPERATOR(pg_catalog.->>) 'folded_bins')::pg_catalog.regclass, a.source, (j.j OPERATOR(pg_catalog.->>) 'fresh_problems')::pg_catalog.regclass,"
							  " (j.j OPERATOR(pg_catalog.->>) 'folded_problems')::pg_catalog.regclass, (j.j OPERATOR(pg_catalog.->>) 'kept_parts')::pg_catalog.regclass,"
							  " (j.j OPERATOR(pg_catalog.->>) 'summed_bins')::pg_catalog.regclass, (j.j OPERATOR(pg_catalog.->>) 'fresh_behaviour')::pg_catalog.regclass,"
							  " (j.j OPERATOR(pg_catalog.->>) 'fresh_lineage')::pg_catalog.regclass, CASE WHEN (j.j OPERATOR(pg_catalog.->>) 'answers') IS NOT NULL THEN a.attachment END"
							  " FROM pg_catalog.pg_class c, stepadv_internal.attachments(c.relowner) a, pg_catalog.to_jsonb(a) j(j)"
							  " WHERE c.oid OPERATOR(pg_catalog.=) $1 AND a.attachment OPERATOR(pg_catalog.=) $1"
							  " AND a.kept IS NOT NULL AND a.fresh IS NOT NULL AND a.folded IS NOT NULL",
							  1, &type, &value, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "the attachment cannot be read");
	if (SPI_processed == 0)
		return false;
	row = SPI_tuptable->vals[0];
	desc = SPI_tuptable->tupdesc;
	kept->owner = oid_column(row, desc, 1);
	kept->n_keys = (int) oid_column(row, desc, 2);
	how = SPI_getvalue(row, desc, 3);
	/* 'watermark' and 'compare' are refreshed, too: see sql/77-upkeep-without-triggers.sql. */
	kept->how = strcmp(how, "commit") == 0 ? KEPT_AT_COMMIT : strcmp(how, "triggers") == 0 ? KEPT_BY_STATEMENT : KEPT_BY_REFRESH;
	kept->compares = strcmp(how, "compare") == 0;
	kept->fresh = oid_column(row, desc, 4);
	kept->folded = oid_column(row, desc, 5);
	kept->changed = oid_column(row, desc, 6);
	kept->fresh_over_time = oid_column(row, desc, 7);
	kept->folded_over_time = OidIsValid(kept->fresh_over_time) ? oid_column(row, desc, 8) : InvalidOid;
	kept->waiting = oid_column(row, desc, 9);
	kept->fresh_signs = oid_column(row, desc, 10);
	kept->folded_signs = OidIsValid(kept->fresh_signs) ? oid_column(row, desc, 11) : InvalidOid;
	kept->fresh_bins = oid_column(row, desc, 12);
	kept->folded_bins = OidIsValid(kept->fresh_bins) ? oid_column(row, desc, 13) : InvalidOid;
	kept->source = oid_column(row, desc, 14);
	kept->fresh_problems = oid_column(row, desc, 15);
	kept->folded_problems = OidIsValid(kept->fresh_problems) ? oid_column(row, desc, 16) : InvalidOid;
	kept->parts = oid_column(row, desc, 17);
	kept->is_summed = OidIsValid(oid_column(row, desc, 18));
	kept->fresh_behaviour = oid_column(row, desc, 19);
	kept->fresh_lineage = oid_column(row, desc, 20);
	kept->has_answers = OidIsValid(oid_column(row, desc, 21));
	SPI_freetuptable(SPI_tuptable);
	/* A list of groups that is gone can have nothing added to it. */
	return kept->n_keys > 0 && (kept->how == KEPT_BY_STATEMENT || OidIsValid(kept->changed));
}

/* What follows from the row. */
static void
look_up_kept(Kept *kept)
{
	StringInfoData watch;
	Oid			relations[] = {kept->attachment, kept->fresh, kept->folded, kept->changed, kept->fresh_over_time, kept->folded_over_time,
	kept->waiting, kept->fresh_signs, kept->folded_signs, kept->fresh_bins, kept->folded_bins, kept->fresh_problems, kept->folded_problems, kept->parts, kept->fresh_behaviour, kept->fresh_lineage};
	MemoryContext old = MemoryContextSwitchTo(kept->context);
	ListCell   *cell;

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
	MemoryContextSwitchTo(old);
	kept->by_index = true;
	foreach(cell, tables_read(kept_views(kept), kept->n_keys))
	{
		const TableRead *read = lfirst(cell);

		/* A server that holds foreign rows has its own indexes; to compare, all of it was read anyway. */
		if (get_rel_relkind(read->relation) == RELKIND_FOREIGN_TABLE)
			kept->by_index &= !kept->compares;
		else
			kept->by_index &= has_group_index(read->relation, read->keys, kept->n_keys);
		if (!may_read(read, kept->owner))
			kept->unreadable = read->relation;
	}
	initStringInfo(&watch);
	for (int i = 0; i < lengthof(relations); i++)
	{
		if (OidIsValid(relations[i]))
			appendStringInfo(&watch, "%s %s r%d", i > 0 ? "," : "SELECT FROM", relation_name(relations[i]), i);
	}
	kept->watch = kept_prepare(kept, watch.data, 0);
}

static void
forget_kept(Kept *kept)
{
	kept_forget_plan(kept->watch);
	for (int i = 0; i < N_KEPT_STATEMENTS; i++)
		kept_forget_plan(kept->plans[i]);
	/* Whoever is at work with it goes on with what it has. */
	if (n_at_work <= 1)
		MemoryContextDelete(kept->context);
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
	/* Not to be left behind by an error. */
	context = AllocSetContextCreate(CurrentMemoryContext, "stepadv kept groups", ALLOCSET_SMALL_SIZES);
	kept = MemoryContextAllocZero(context, sizeof(Kept));
	kept->context = context;
	kept->attachment = attachment;
	kept->generation = ++generations;
	if (!read_attachment(kept))
		return NULL;
	look_up_kept(kept);
	MemoryContextSetParent(context, CacheMemoryContext);
	entry = hash_search(all_kept, &attachment, HASH_ENTER, &found);
	entry->kept = kept;
	return kept;
}

/* ----------
 * Rights and settings
 * ----------
 */

static void
set_for_now(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
}

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
	/* As the server does for foreign keys: whoever writes needs no right on what is kept. */
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_NOFORCE_RLS);
	nest_level = NewGUCNestLevel();
	set_for_now("search_path", "pg_catalog, pg_temp");
	set_for_now("extra_float_digits", "1");
	set_for_now("jit", "off");
	n_at_work++;
	PG_TRY();
	{
		Kept	   *kept = find_kept(attachment);

		if (kept != NULL)
		{
			/*
			 * A session that began with empty tables must not read all of them
			 * for each group when they have grown.
			 */
			if (kept->by_index)
				set_for_now("enable_seqscan", "off");
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
