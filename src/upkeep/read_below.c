/*
 * read_below.c
 *		read_below(views): what kept groups are folded from, and what of it must not be kept.
 *
 * Finds tables, views, functions, and enums that become texts, by reading the stored queries, without locks.
 * Unread columns of views are skipped.  Functions of the server and of this extension are identified by name
 * and not listed.
 *
 * As in an index on an expression, the kept value must be the same whoever folds it, and whenever.  Of
 * functions that are not IMMUTABLE, only these are accepted: functions of the server that are STABLE only
 * because of types other than those they get (such as conversions of any type to text), STABLE functions of
 * this extension, and functions whose parsed body (BEGIN ATOMIC) has nothing else.  The declared volatility
 * of a function is trusted.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/xlog.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_class.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_rewrite.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "checked_arguments.h"
#include "attach/tables_read.h"
#include "attach/view_query.h"
#include "compat.h"
#include "hash.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_read_below);
PG_FUNCTION_INFO_V1(stepadv_mark_below);

/* An object that was listed. */
typedef struct Seen
{
	const char *kind;
	Oid			object;
	Bitmapset  *columns;		/* of a view: those that are read; NULL: all */
} Seen;

typedef struct Walk
{
	Tuplestorestate *rows;
	TupleDesc	desc;
	List	   *seen;
	Oid			place;			/* the view whose query this is, or that calls the function */
	Oid			function;		/* whose body this is part of */
	Query	   *query;			/* the innermost */
	Node	   *node;			/* whose functions are examined */
	Oid			own;			/* this extension, whose functions do not depend on settings */
} Walk;

static bool walk_node(Node *node, void *context);

/* List a table, view, function or enum; with a name, something in this table or view that must not be kept. */
static void
give(Walk *walk, const char *kind, Oid object, const char *name)
{
	Datum		values[] = {CStringGetTextDatum(kind), ObjectIdGetDatum(object), name ? CStringGetTextDatum(name) : (Datum) 0};
	bool		nulls[] = {false, false, name == NULL};

	tuplestore_putvalues(walk->rows, walk->desc, values, nulls);
}

static Seen *
find_seen(const Walk *walk, const char *kind, Oid object)
{
	ListCell   *cell;

	foreach(cell, walk->seen)
	{
		Seen	   *seen = lfirst(cell);

		if (seen->object == object && strcmp(seen->kind, kind) == 0)
			return seen;
	}
	return NULL;
}

/* List an object unless it was listed before; returns true if it is new. */
static bool
give_once(Walk *walk, const char *kind, Oid object)
{
	Seen	   *seen;

	if (find_seen(walk, kind, object) != NULL)
		return false;
	seen = palloc(sizeof(Seen));
	*seen = (Seen) {kind, object, NULL};
	walk->seen = lappend(walk->seen, seen);
	give(walk, kind, object, NULL);
	return true;
}

/* ----------
 * Tables
 * ----------
 */

/*
 * Triggers do not get the values of virtual generated columns (since 18), so changes of what these read would
 * not be seen.
 */
static void
refuse_virtual(Walk *walk, Oid table, const Bitmapset *columns)
{
	bool		whole_row = bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, columns);
	int			number = 0;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table), Int16GetDatum(++number))))
	{
		Form_pg_attribute column = (Form_pg_attribute) GETSTRUCT(tuple);

		if (column->attgenerated == 'v' &&
			(whole_row || bms_is_member(number - FirstLowInvalidHeapAttributeNumber, columns)))
			give(walk, "virtual", table, NameStr(column->attname));
		ReleaseSysCache(tuple);
	}
}

static void
walk_table(Walk *walk, Oid table, const Bitmapset *columns)
{
	if (OidIsValid(walk->function))
		give(walk, "unwatched", table, psprintf("%s()", get_func_name(walk->function)));
	(void) give_once(walk, "table", table);
	refuse_virtual(walk, table, columns);
}

/* ----------
 * Functions and types
 * ----------
 */

/* Does a function of the server return the time, the user or a setting, which are stable only within a statement? */
static bool
says_what_is_now(const FormData_pg_proc *proc)
{
	static const char *const names[] = {"age", "current_", "has_", "pg_", "row_security_active"};
	const char *name = NameStr(proc->proname);

	if (proc->pronargs == 0)
		return strcmp(name, "current_database") != 0 && strncmp(name, "json", strlen("json")) != 0;
	for (int i = 0; i < lengthof(names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Is a value's text independent of settings?  That of dates and times is not. */
static bool
is_plain(Oid type)
{
	TupleDesc	columns;
	char		category;
	bool		is_preferred;
	bool		is = true;
	static const Oid others[] = {MONEYOID, XMLOID, REGCLASSOID, REGTYPEOID, TSVECTOROID, TSQUERYOID};

	type = getBaseType(type);
	if (OidIsValid(get_element_type(type)))
		return is_plain(get_element_type(type));
	if (get_typtype(type) == TYPTYPE_RANGE)
		return is_plain(get_range_subtype(type));
	if (get_typtype(type) == TYPTYPE_COMPOSITE)
	{
		check_stack_depth();
		columns = lookup_rowtype_tupdesc_copy(type, -1);
		for (int i = 0; i < columns->natts; i++)
			is &= TupleDescAttr(columns, i)->attisdropped || is_plain(TupleDescAttr(columns, i)->atttypid);
		return is;
	}
	get_type_category_preferred(type, &category, &is_preferred);
	for (int i = 0; i < lengthof(others); i++)
		is &= type != others[i];
	return is && strchr("DTP", category) == NULL;
}

static List *
arguments_of(Node *node)
{
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			return ((FuncExpr *) node)->args;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			return ((OpExpr *) node)->args;
		case T_ScalarArrayOpExpr:
			return ((ScalarArrayOpExpr *) node)->args;
		case T_WindowFunc:
			return ((WindowFunc *) node)->args;
		case T_Aggref:
			return ((Aggref *) node)->args;
		case T_CoerceViaIO:
			return list_make1(((CoerceViaIO *) node)->arg);
		default:
			return NIL;
	}
}

static Oid
type_of(Node *argument)
{
	return exprType(IsA(argument, TargetEntry) ? (Node *) ((TargetEntry *) argument)->expr : argument);
}

/* A constant text among the arguments; NULL if it is something else. */
static char *
constant_text(List *arguments, int number)
{
	Const	   *constant = number < list_length(arguments) ? list_nth(arguments, number) : NULL;

	if (constant == NULL || !IsA(constant, Const) || constant->consttype != TEXTOID || constant->constisnull)
		return NULL;
	return TextDatumGetCString(constant->constvalue);
}

/* Does a STABLE function of the server depend on settings, given these arguments? */
static bool
depends_on_settings(Node *node, const FormData_pg_proc *proc)
{
	List	   *arguments = arguments_of(node);
	const char *name = NameStr(proc->proname);
	char	   *text;
	ListCell   *cell;

	/* The language of day and month names, and the decimal point. */
	if (strcmp(name, "to_char") == 0 && type_of(linitial(arguments)) != TIMESTAMPTZOID)
	{
		text = constant_text(arguments, 1);
		return text == NULL || strpbrk(text, is_plain(type_of(linitial(arguments))) ? "DGLdgl" : "Tt") != NULL;
	}
	if ((strcmp(name, "extract") == 0 || strcmp(name, "date_part") == 0) && (text = constant_text(arguments, 0)) != NULL)
		return pg_strcasecmp(text, "epoch") != 0;
	if (strcmp(name, "date_trunc") == 0 && list_length(arguments) == 3)
		return false;
	foreach(cell, arguments)
		if (!is_plain(type_of(lfirst(cell))))
			return true;
	return !is_plain(exprType(node));
}

/* The function as users write it. */
static char *
description(Node *node, const char *name)
{
	if (IsA(node, OpExpr))
		return psprintf("operator %s of %s", get_opname(((OpExpr *) node)->opno),
						format_type_be(exprType(linitial(((OpExpr *) node)->args))));
	if (IsA(node, CoerceViaIO) || (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcformat != COERCE_EXPLICIT_CALL &&
								   list_length(((FuncExpr *) node)->args) == 1))
		return psprintf("the cast of %s to %s", format_type_be(type_of(linitial(arguments_of(node)))),
						format_type_be(exprType(node)));
	return psprintf("%s()", name);
}

/* Kept values must not depend on who folded them, and when. */
static void
refuse_function(Walk *walk, const FormData_pg_proc *proc, Oid extension, bool has_body)
{
	bool		is_server = proc->oid < FirstNormalObjectId;
	char	   *name = psprintf("%s()", NameStr(proc->proname));

	/* In 14 interval_out is declared immutable; it depends on IntervalStyle. */
	if (proc->provolatile == PROVOLATILE_IMMUTABLE && proc->oid != F_INTERVAL_OUT)
		return;
	if (proc->provolatile == PROVOLATILE_VOLATILE || (is_server && says_what_is_now(proc)))
		give(walk, "changing", walk->place, name);
	else if (is_server && depends_on_settings(walk->node, proc))
		give(walk, "setting", walk->place, description(walk->node, NameStr(proc->proname)));
	/* Bodies of functions of extensions are not walked. */
	else if (!is_server && extension != walk->own && (!has_body || OidIsValid(extension)))
		give(walk, "unknown", walk->place, name);
}

static bool walk_function(Oid function, void *context);

static void
walk_aggregate(Walk *walk, Oid function)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function));
	Form_pg_aggregate aggregate;

	if (!HeapTupleIsValid(tuple))
		return;
	aggregate = (Form_pg_aggregate) GETSTRUCT(tuple);
	(void) walk_function(aggregate->aggtransfn, walk);
	if (OidIsValid(aggregate->aggfinalfn))
		(void) walk_function(aggregate->aggfinalfn, walk);
	ReleaseSysCache(tuple);
}

/* The function's queries are treated like those of the view that calls it. */
static void
walk_body(Walk *walk, Oid function, char *body)
{
	Walk		inner = *walk;

	inner.function = function;
	(void) walk_node((Node *) stringToNode(body), &inner);
	walk->seen = inner.seen;
}

/* For check_functions_in_node: returns false to continue. */
static bool
walk_function(Oid function, void *context)
{
	Walk	   *walk = context;
	Oid			extension = function < FirstNormalObjectId ? InvalidOid : getExtensionOfObject(ProcedureRelationId, function);
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc proc;
	Datum		body;
	bool		has_no_body;

	if (!HeapTupleIsValid(tuple))
		return false;
	proc = (Form_pg_proc) GETSTRUCT(tuple);
	body = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosqlbody, &has_no_body);
	refuse_function(walk, proc, extension, !has_no_body);
	if (function >= FirstNormalObjectId && extension != walk->own && give_once(walk, "function", function) &&
		!OidIsValid(extension))
	{
		check_stack_depth();
		if (proc->prokind == PROKIND_AGGREGATE)
			walk_aggregate(walk, function);
		if (!has_no_body)
			walk_body(walk, function, TextDatumGetCString(body));
	}
	ReleaseSysCache(tuple);
	return false;
}

/* The text of an enum value depends on the labels of the enum. */
static void
walk_type(Walk *walk, Oid type)
{
	if (get_typtype(type) == TYPTYPE_ENUM)
		(void) give_once(walk, "enum", type);
}

/* ----------
 * Queries
 * ----------
 */

/* If it is read again with other columns, it is examined again with all of them. */
static void
walk_view(Walk *walk, Oid view, const Bitmapset *columns)
{
	Walk		inner = *walk;
	bool		is_new = give_once(walk, "view", view);
	Seen	   *seen = find_seen(walk, "view", view);
	Query	   *query;

	if (is_new)
		seen->columns = bms_copy(columns);
	else if (seen->columns == NULL || (columns != NULL && bms_is_subset(columns, seen->columns)))
		return;
	else
		seen->columns = columns == NULL ? NULL : bms_add_members(seen->columns, columns);
	query = view_query(view);
	if (query == NULL)
		return;
	leave_out_unread(query, seen->columns);
	inner.seen = walk->seen;
	inner.place = view;
	(void) walk_node((Node *) query, &inner);
	walk->seen = inner.seen;
}

static void
walk_entry(Walk *walk, RangeTblEntry *entry)
{
	if (entry->rtekind != RTE_RELATION)
		return;
	if (entry->tablesample != NULL)
		give(walk, "changing", walk->place, "TABLESAMPLE");
	if (get_rel_relkind(entry->relid) == RELKIND_VIEW)
		walk_view(walk, entry->relid, columns_read(walk->query, entry));
	else
		walk_table(walk, entry->relid, columns_read(walk->query, entry));
}

static bool
walk_query(Walk *walk, Query *query)
{
	Query	   *outer = walk->query;
	Bitmapset  *entries = from_entries(query);
	int			entry = -1;

	CHECK_FOR_INTERRUPTS();
	walk->query = query;
	while ((entry = bms_next_member(entries, entry)) >= 0)
		walk_entry(walk, rt_fetch(entry, query->rtable));
	(void) query_tree_walker(query, walk_node, walk, 0);
	walk->query = outer;
	return false;
}

static bool
walk_node(Node *node, void *context)
{
	Walk	   *walk = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return walk_query(walk, (Query *) node);
	/* CURRENT_TIMESTAMP, CURRENT_USER and the like. */
	if (IsA(node, SQLValueFunction) && ((SQLValueFunction *) node)->op != SVFOP_CURRENT_CATALOG)
		give(walk, "changing", walk->place, deparse_expression(node, NIL, false, false));
	if (IsA(node, XmlExpr))
		give(walk, "setting", walk->place, "XML");
	if (IsA(node, CoerceViaIO))
		walk_type(walk, getBaseType(exprType((Node *) ((CoerceViaIO *) node)->arg)));
	walk->node = node;
	(void) check_functions_in_node(node, walk_function, walk);
	return expression_tree_walker(node, walk_node, context);
}

/* read_below(views regclass[]) */
Datum
stepadv_read_below(PG_FUNCTION_ARGS)
{
	Walk		walk = {.rows = begin_rows(fcinfo, 3), .desc = ((ReturnSetInfo *) fcinfo->resultinfo)->expectedDesc};
	int			n;
	const Oid  *views = list_argument(fcinfo, 0, "views", REGCLASSOID, &n);

	walk.own = getExtensionOfObject(ProcedureRelationId, fcinfo->flinfo->fn_oid);
	for (int i = 0; i < n; i++)
	{
		char		kind = get_rel_relkind(views[i]);

		if (kind == RELKIND_VIEW)
			walk_view(&walk, views[i], NULL);
		else if (kind != '\0')
			walk_table(&walk, views[i], NULL);
	}
	return (Datum) 0;
}

/* ----------
 * Has anything below changed?
 *
 * Whatever is replaced, attached, detached, enabled or renamed gets another row in the catalog, or its row moves.
 * ----------
 */

/* The catalog rows that describe an object; for a table, those of each member of its family. */
static const struct
{
	const char *kind;
	Oid			catalog;
	Oid			index;
	AttrNumber	column;
}			descriptions[] = {
	{"view", RewriteRelationId, RewriteRelRulenameIndexId, Anum_pg_rewrite_ev_class},
	{"function", ProcedureRelationId, ProcedureOidIndexId, Anum_pg_proc_oid},
	{"function", AggregateRelationId, AggregateFnoidIndexId, Anum_pg_aggregate_aggfnoid},
	{"label", EnumRelationId, EnumTypIdLabelIndexId, Anum_pg_enum_enumtypid},
	{"table", RewriteRelationId, RewriteRelRulenameIndexId, Anum_pg_rewrite_ev_class},
	{"table", InheritsRelationId, InheritsRelidSeqnoIndexId, Anum_pg_inherits_inhrelid},
	{"table", TriggerRelationId, TriggerRelidNameIndexId, Anum_pg_trigger_tgrelid},
};

static int64
mark_object(int64 mark, const char *kind, Oid object)
{
	List	   *objects = *kind == 't' && get_rel_relkind(object) != '\0' ? table_family(object) : list_make1_oid(object);
	ListCell   *cell;

	for (int i = 0; i < lengthof(descriptions); i++)
		if (strcmp(descriptions[i].kind, kind) == 0)
			foreach(cell, objects)
				mark = mark_rows(mark, descriptions[i].catalog, descriptions[i].index, descriptions[i].column, lfirst_oid(cell));
	return mark;
}

/*
 * mark_below(views regclass[], noted jsonb): a mark of what was noted, perhaps in another database; equal if
 * nothing changed.
 */
Datum
stepadv_mark_below(PG_FUNCTION_ARGS)
{
	static Remembered marks[16];
	Remembered *known;
	int64		mark = hash_int64_onto(MyDatabaseId, GetSystemIdentifier());
	uint64		now = catalog_changes();
	int64		asked;
	int			n;
	const Oid  *views = list_argument(fcinfo, 0, "views", REGCLASSOID, &n);
	Jsonb	   *noted = PG_GETARG_JSONB_P(1);
	JsonbIterator *items = JsonbIteratorInit(&noted->root);
	JsonbValue	item;
	JsonbIteratorToken token;
	char		kind[16];
	Oid			object;

	mark = hash_int64_onto(hash_bytes_64(views, n * sizeof(Oid)), mark);
	asked = hash_int64_onto(hash_bytes_64(noted, VARSIZE(noted)), mark);
	known = &marks[(uint64) asked % lengthof(marks)];
	if (known->of == asked && known->as_of == now)
		PG_RETURN_INT64(known->value);
	while ((token = JsonbIteratorNext(&items, &item, false)) != WJB_DONE)
		if (token == WJB_VALUE && item.type == jbvString &&
			sscanf(pnstrdup(item.val.string.val, item.val.string.len), "%15s %u", kind, &object) == 2)
			mark = mark_object(mark, kind, object);
	*known = (Remembered) {asked, mark, now};
	PG_RETURN_INT64(mark);
}
