/*
 * kept_text.c
 *		The statements that keep groups: templates with placeholders for names from the catalog.
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
 * The templates.  Placeholders:
 *
 *	{C}		name of the relation with alias c
 *	{c*}	its group columns; {c.*}: with the alias
 *	{d+}	the columns after these, with the alias
 *	{c|g}	those of one alias or, where NULL, of the other
 *	{c:g}	the same with their names before them: arguments of jsonb_build_object
 *	{c=g}	the condition that two aliases have the same group
 *	{value}, {at}, {fresh}, {digest}	the columns rollouts and refreshed_at of c, rollouts of f, digest of d
 *
 * Aliases: c the kept groups (e their previous versions), f the same folded on demand, d their digests, p the view
 * that computes these, w pending groups, s rows seen of each group, g groups of a statement (columns k1, k2, ...),
 * r rows of p, $ parameters.
 */
static const char *const texts[N_KEPT_STATEMENTS] = {
	/* Locks the row of a known group.  Only this detects a row that is visible to an older snapshot but gone. */
	[KEPT_LOOK] = "SELECT FROM {C} c WHERE {c=$} FOR UPDATE",
	/* Locks the row of a new group, or one that another session has just inserted. */
	[KEPT_CLAIM] = "INSERT INTO {C} AS c ({c*}) VALUES ({$*}) ON CONFLICT ({c*}) DO UPDATE SET {value} = c.{value} WHERE false",
	/*
	 * The row is always written: a transaction with an older snapshot that changes the same group must fail,
	 * and this is how it is detected.
	 */
	[KEPT_FOLD_ONE] = "UPDATE {C} c SET {at} = pg_catalog.clock_timestamp(), {value} = (SELECT f.{fresh} FROM {F} f WHERE {f=$}) "
	"WHERE {c=$} RETURNING c.{value} IS NULL",
	/* The same, with the current and the previous value: the statement's snapshot is older than its row. */
	[KEPT_FOLD_GROWN] = "UPDATE {C} c SET {at} = pg_catalog.clock_timestamp(), {value} = (SELECT f.{fresh} FROM {F} f WHERE {f=$}) "
	"WHERE {c=$} RETURNING c.{value} IS NULL, c.{value}, (SELECT e.{value} FROM {E} e WHERE {e=$})",
	[KEPT_FOLD_SET] = "UPDATE {C} c SET {at} = pg_catalog.clock_timestamp(), {value} = f.{fresh} "
	"FROM " GROUPS_NAME " g LEFT JOIN {F} f ON {f=g} WHERE {c=g}",
	[KEPT_FORGET_ONE] = "DELETE FROM {C} c WHERE {c=$}",
	[KEPT_FORGET_SET] = "DELETE FROM {C} c USING " GROUPS_NAME " g WHERE {c=g} AND c.{value} IS NULL",
	[KEPT_TAKE_WAITING] = "WITH gone ({g*}) AS (DELETE FROM {W} w RETURNING {w.*}) SELECT DISTINCT {g*} FROM gone ORDER BY {g*}",
	[KEPT_ALL_WAIT] = "INSERT INTO {W} DEFAULT VALUES",
	[KEPT_CLEAR_ALL] = "DELETE FROM {C}",
	[KEPT_FOLD_ALL] = "INSERT INTO {C} ({c*}, {value}, {at}) SELECT {f.*}, f.{fresh}, pg_catalog.clock_timestamp() FROM {F} f",
	[KEPT_ANALYZE] = "ANALYZE {C}",
	[KEPT_ALL_KEYS] = "SELECT {c.*} FROM {C} c",
	[KEPT_MAKE_DIGESTS_ONE] = "SELECT p.* FROM {P} p WHERE {p=$}",
	[KEPT_MAKE_DIGESTS_SET] = "SELECT p.* FROM {P} p JOIN " GROUPS_NAME " g ON {p=g}",
	[KEPT_MAKE_ALL_DIGESTS] = "SELECT p.* FROM {P} p",
	/* By index, group by group, one of several parts: processes that share the work read nothing twice. */
	[KEPT_MAKE_PART_OF_DIGESTS] = "SELECT p.* FROM {C} c CROSS JOIN LATERAL (SELECT p.* FROM {P} p WHERE {p=c} OFFSET 0) p "
	"WHERE abs(hashtid(c.ctid) % $1) = $2",
	[KEPT_ANALYZE_DIGESTS] = "ANALYZE {D}",
	[KEPT_CLEAR_DIGESTS_ONE] = "DELETE FROM {D} d WHERE {d=$}",
	[KEPT_CLEAR_DIGESTS_SET] = "DELETE FROM {D} d USING " GROUPS_NAME " g WHERE {d=g}",
	[KEPT_CLEAR_ALL_DIGESTS] = "DELETE FROM {D}",
	[KEPT_ADD_DIGESTS] = "INSERT INTO {D} SELECT r.* FROM " DIGESTS_NAME " r",
	[KEPT_MARK_DIGEST] = "INSERT INTO {D} ({d*}) VALUES ({$*})",
	[KEPT_LEFT_TO_READERS] = "SELECT DISTINCT {d.*} FROM {D} d WHERE d.{digest} IS NULL ORDER BY {d.*}",
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
		case 'd':
			return kept->digests;
		case 'p':
			return kept->made_digests;
		case 'w':
			return kept->changed;
		case 's':
			return kept->seen;
	}
	return InvalidOid;
}

/* A column of a kept table, which a user may have changed. */
static const char *
column_name(Oid relation, int number)
{
	char	   *name = get_attname(relation, number, true);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the kept groups are incomplete"),
				 errhint("Call unmaintain and maintain.")));
	return quote_identifier(name);
}

/* The i-th column of the group: c."name", g.k1, $1. */
static char *
key_of(const Kept *kept, char alias, bool qualified, int i)
{
	Oid			relation = relation_of(kept, alias);
	const char *name;

	if (alias == '$')
		return psprintf("$%d", i + 1);
	name = OidIsValid(relation) ? column_name(relation, i + 1) : psprintf("k%d", i + 1);
	return qualified ? psprintf("%c.%s", alias, name) : pstrdup(name);
}

static void
append_keys(StringInfo text, const Kept *kept, char alias, bool qualified)
{
	for (int i = 0; i < kept->n_keys; i++)
		appendStringInfo(text, "%s%s", i > 0 ? ", " : "", key_of(kept, alias, qualified, i));
}

/* The group of one alias or the other; named: with the users' column names. */
static void
append_either_keys(StringInfo text, const Kept *kept, char one, char other, bool named)
{
	for (int i = 0; i < kept->n_keys; i++)
	{
		char	   *name = get_attname(kept->fresh, i + 1, true);

		if (i > 0)
			appendStringInfoString(text, ", ");
		if (named)
			appendStringInfo(text, "%s, ", name == NULL ? "NULL" : quote_literal_cstr(name));
		appendStringInfo(text, "coalesce(%s, %s)", key_of(kept, one, true, i), key_of(kept, other, true, i));
	}
}

/* Columns of a group have the same type everywhere, and the equality of that type. */
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
	if (get_rel_name(relation) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("a table or view of the kept groups does not exist"),
				 errhint("Call unmaintain and maintain.")));
	return quote_qualified_identifier(get_namespace_name(get_rel_namespace(relation)), get_rel_name(relation));
}

static AttrNumber
number_of_columns(Oid relation)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	AttrNumber	n;

	if (!HeapTupleIsValid(tuple))
		return 0;
	n = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
	ReleaseSysCache(tuple);
	return n;
}

static bool
hole_is(const char *hole, int length, const char *name)
{
	return length == strlen(name) && strncmp(hole, name, length) == 0;
}

static void
append_hole(StringInfo text, const Kept *kept, const char *hole, int length)
{
	if (hole_is(hole, length, "value"))
		appendStringInfoString(text, column_name(kept->folded, kept->n_keys + 1));
	else if (hole_is(hole, length, "at"))
		appendStringInfoString(text, column_name(kept->folded, kept->n_keys + 2));
	else if (hole_is(hole, length, "fresh"))
		appendStringInfoString(text, column_name(kept->fresh, kept->n_keys + 1));
	else if (hole_is(hole, length, "digest"))
		appendStringInfoString(text, column_name(kept->digests, number_of_columns(kept->digests)));
	else if (length == 1)
		appendStringInfoString(text, kept_relation_name(relation_of(kept, pg_tolower(hole[0]))));
	else if (length == 3 && hole[1] == '=')
		append_match(text, kept, hole[0], hole[2]);
	else if (length == 3 && (hole[1] == '|' || hole[1] == ':'))
		append_either_keys(text, kept, hole[0], hole[2], hole[1] == ':');
	else if (length == 2 && hole[1] == '+')
	{
		Oid			relation = relation_of(kept, hole[0]);

		for (int i = kept->n_keys + 1; i <= number_of_columns(relation); i++)
			appendStringInfo(text, "%s%c.%s", i > kept->n_keys + 1 ? ", " : "", hole[0], column_name(relation, i));
	}
	else if (length > 1 && hole[length - 1] == '*')
		append_keys(text, kept, hole[0], hole[1] == '.');
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("{%.*s} is no hole of a template about kept groups", length, hole)));
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
