/*
 * kept_text.c
 *		The statements that keep groups, as templates, and names from the catalog
 *		in their holes.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "upkeep/kept.h"

/*
 * The texts.  In braces:
 *
 *	{C}		name of the relation with alias c
 *	{c*}	its group columns; {c.*}: with the alias
 *	{c=g}	the condition that two aliases have the same group
 *	{value}, {at}, {fresh}	the columns rollouts and refreshed_at of c, rollouts of f
 *	{sums}	what O has, of p; {only}: and the condition that a row of p is of O
 *	{r->O}, {r->B}, {r->S}, {r->H}	what each of these has, of r
 *
 * Aliases: c the kept groups (e as they were), f the same folded when asked, o what the views over time
 * add up of them, s the signs of their steps, b their distributions, h their behaviour, p what all of these are
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
	[KEPT_ANY_UNSIGNED] = "SELECT FROM {U} u LIMIT 1",
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
	[KEPT_CLEAR_BEHAVIOUR_ONE] = "DELETE FROM {H} h WHERE {h=$}",
	[KEPT_CLEAR_BEHAVIOUR_SET] = "DELETE FROM {H} h USING " GROUPS_NAME " g WHERE {h=g}",
	[KEPT_ADD_BEHAVIOUR] = "INSERT INTO {H} SELECT {r->H} FROM " PARTS_NAME " r CROSS JOIN LATERAL pg_catalog.unnest(r.stepadv_behaviour) t WHERE r.is_division",
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
	[KEPT_FORGET_ALL_DIVISIONS] = "SELECT stepadv_internal.forget_all_sums(a.tableoid::pg_catalog.regclass) FROM ONLY {A} a",
	[KEPT_SUMS_STATEMENTS] = "SELECT s.forget, s.add FROM ONLY {A} a CROSS JOIN LATERAL stepadv_internal.sums_statements(a.tableoid::pg_catalog.regclass) s",
	[KEPT_ADD_ANSWERS] = "SELECT stepadv_internal.keep_answers(a.tableoid::pg_catalog.regclass, false) FROM ONLY {A} a",
	[KEPT_ALL_ANSWERS] = "SELECT stepadv_internal.keep_answers(a.tableoid::pg_catalog.regclass, true) FROM ONLY {A} a",
};

const char *
kept_statement_text(KeptStatement statement)
{
	return texts[statement];
}

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
		case 'h':
			return kept->folded_behaviour;
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

char *
kept_relation_name(Oid relation)
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
 * o1, ... those over time, b1, ... the bins after the divisions, and of an entry t of the signs r1, ...
 * by its place.  Behaviour has the divisions of the bins, and its entries t after them.
 */
static void
append_parts(StringInfo text, const Kept *kept, char alias, char table)
{
	/* Those of each entry t, which stand last. */
	const char *const of_entry = table == 's' ? ", t.patterns, t.counts, t.apart" : table == 'h' ? ", t.part, t.name, t.calls, t.outcomes, t.numbers, t.distances, t.excesses" : "";
	int			n = number_of_columns(relation_of(kept, table)) - kept->n_keys;

	for (const char *c = of_entry; *c != '\0'; c++)
		n -= *c == ',';
	for (int i = 1; i <= kept->n_keys; i++)
		appendStringInfo(text, "%s%c.k%d", i > 1 ? ", " : "", alias, i);
	for (int i = 1; i <= n; i++)
		appendStringInfo(text, table == 's' ? ", (%c.%c%d)[t.place]" : ", %c.%c%d", alias, table == 's' ? 'r' : table == 'h' ? 'b' : table, i);
	appendStringInfoString(text, of_entry);
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
		appendStringInfoString(text, kept_relation_name(relation_of(kept, pg_tolower(hole[0]))));
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
