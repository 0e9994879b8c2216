/*
 * read_below.c
 *		read_below(views): what kept groups were folded from, so that it can be
 *		compared later: the tables below views with their partitions or children, the
 *		definitions of views, functions and enums, and what must not be kept.
 *
 * Changes of rows are seen by triggers; this is for what fires none: DROP, DETACH and
 * ATTACH of a partition, CREATE OR REPLACE of a view or a function.  Like lineage.c it
 * reads the stored queries, without a lock on anything.  A column of a view that
 * nobody reads is passed over, but the view's definition is one, with all its columns.
 *
 * What is kept must be what anybody would fold at any time, as in an index on an
 * expression: of functions that are not IMMUTABLE only those of the server are
 * taken that are STABLE for the sake of other types than they are given (what makes a
 * text of anything), and functions whose parsed body (BEGIN ATOMIC) has nothing but
 * that.  What a function says it is is believed.  Functions of the server and of
 * extensions are known by their names alone.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xlog.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/tuplestore.h"
#include "utils/typcache.h"

#include "checked_arguments.h"
#include "attach/view_query.h"
#include "compat.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_read_below);

/* Columns of the result. */
enum
{
	R_KIND,						/* place, table, part, view, function, label; and what must not be kept: */
	/* unknown, unwatched, virtual, changing, setting */
	R_OBJECT,					/* its OID; of what must not be kept that of the table or view where it is */
	R_DEFINITION,				/* hash, of this database alone */
	R_NAME,						/* of a label, and of what must not be kept */
	N_COLUMNS
};

/* Something that was looked at. */
typedef struct Seen
{
	Oid			class;
	Oid			object;
	Bitmapset  *columns;		/* of a view: those that are read; NULL: all */
} Seen;

typedef struct Walk
{
	Tuplestorestate *rows;
	TupleDesc	desc;
	List	   *seen;
	Oid			place;			/* the view whose query this is, or calls this */
	Oid			function;		/* whose body this is part of */
	Query	   *query;			/* the innermost */
	Node	   *node;			/* whose functions are looked at */
	Oid			own;			/* this extension, whose functions do not depend on settings */
} Walk;

static bool walk_node(Node *node, void *context);

/* ----------
 * Rows
 * ----------
 */

static void
give(Walk *walk, const char *kind, Oid object, uint64 definition, const char *name)
{
	Datum		values[N_COLUMNS] = {CStringGetTextDatum(kind), ObjectIdGetDatum(object), Int64GetDatum((int64) definition)};
	bool		nulls[N_COLUMNS] = {false, false, definition == 0, name == NULL};

	if (name != NULL)
		values[R_NAME] = CStringGetTextDatum(name);
	tuplestore_putvalues(walk->rows, walk->desc, values, nulls);
}

/* Whether it was looked at before; and if not notes that it is. */
static Seen *
first_sight(Walk *walk, Oid class, Oid object)
{
	ListCell   *cell;
	Seen	   *seen;

	foreach(cell, walk->seen)
	{
		seen = lfirst(cell);
		if (seen->class == class && seen->object == object)
			return NULL;
	}
	seen = palloc0(sizeof(Seen));
	seen->class = class;
	seen->object = object;
	walk->seen = lappend(walk->seen, seen);
	return seen;
}

/* ----------
 * Hashes
 * ----------
 */

static uint64
hash_text(uint64 before, const char *text)
{
	return hash_bytes_extended((const unsigned char *) text, strlen(text), before);
}

static uint64
hash_number(uint64 before, int64 number)
{
	return hash_bytes_extended((const unsigned char *) &number, sizeof(number), before);
}

/* The number of bytes of a field that says where in the command's text a node was; 0: it is another field. */
static int
length_of_place(const char *tree)
{
	static const char *const fields[] = {":location ", ":stmt_location ", ":stmt_len "};

	for (int i = 0; i < lengthof(fields); i++)
	{
		int			n = strlen(fields[i]);

		if (strncmp(tree, fields[i], n) == 0)
			return n + strspn(tree + n, "-0123456789");
	}
	return 0;
}

/* Blanks and line breaks of the command make no other definition. */
static uint64
hash_tree(uint64 before, char *tree)
{
	char	   *to = tree;

	for (const char *from = tree; *from != '\0';)
	{
		int			n = *from == ':' ? length_of_place(from) : 0;

		if (n == 0)
			*to++ = *from++;
		from += n;
	}
	*to = '\0';
	return hash_text(before, tree);
}

/* ----------
 * Tables
 * ----------
 */

/* Attached again, a partition has another row here: what it held meanwhile nobody has seen. */
static uint64
hash_parents(uint64 hash, Oid relation)
{
	Relation	inherits = table_open(InheritsRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relation));
	scan = systable_beginscan(inherits, InheritsRelidSeqnoIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		hash = hash_number(hash, ((Form_pg_inherits) GETSTRUCT(tuple))->inhparent);
		hash = hash_number(hash, HeapTupleHeaderGetRawXmin(tuple->t_data));
	}
	systable_endscan(scan);
	table_close(inherits, AccessShareLock);
	return hash;
}

/* A table's partitions or children are looked at where they are read. */
static void
walk_table(Walk *walk, Oid table, bool with_children)
{
	ListCell   *cell;

	if (OidIsValid(walk->function))
		give(walk, "unwatched", table, 0, psprintf("%s()", get_func_name(walk->function)));
	if (first_sight(walk, RelationRelationId, table) != NULL)
		give(walk, "table", table, hash_number(0, table) | 1, NULL);
	if (!with_children || first_sight(walk, InheritsRelationId, table) == NULL)
		return;
	foreach(cell, find_all_inheritors(table, NoLock, NULL))
	{
		Oid			part = lfirst_oid(cell);

		if (part != table)
			give(walk, "part", part, hash_parents(hash_number(0, part), part) | 1, NULL);
	}
}

/*
 * Triggers are not told the values of virtual generated columns, which 18 has: a change of what
 * they are made of would not be seen.
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
			give(walk, "virtual", table, 0, NameStr(column->attname));
		ReleaseSysCache(tuple);
	}
}

/* ----------
 * Functions and types
 * ----------
 */

static char *
text_attribute(HeapTuple proc, AttrNumber number)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(PROCOID, proc, number, &isnull);

	return isnull ? NULL : TextDatumGetCString(value);
}

static uint64
hash_function(HeapTuple proc, const char *body)
{
	Form_pg_proc form = (Form_pg_proc) GETSTRUCT(proc);
	bool		isnull;
	Datum		settings = SysCacheGetAttr(PROCOID, proc, Anum_pg_proc_proconfig, &isnull);
	char	   *source = text_attribute(proc, Anum_pg_proc_prosrc);
	char	   *library = text_attribute(proc, Anum_pg_proc_probin);
	uint64		hash = hash_number(form->oid, form->provolatile + 256 * form->proisstrict + 512 * form->prosecdef);

	hash = hash_number(hash, form->prolang);
	hash = hash_text(hash, source == NULL ? "" : source);
	if (library != NULL)
		hash = hash_text(hash, library);
	if (body != NULL)
		hash = hash_tree(hash, pstrdup(body));
	if (!isnull)
		hash = hash_text(hash, OidOutputFunctionCall(F_ARRAY_OUT, settings));
	return hash;
}

/* The function's own queries, as the view's that calls it. */
static void
walk_body(Walk *walk, Oid function, char *body)
{
	Walk		inner = *walk;

	inner.function = function;
	(void) walk_node((Node *) stringToNode(body), &inner);
	walk->seen = inner.seen;
}

static bool walk_function(Oid function, void *context);

static uint64
hash_aggregate(Walk *walk, Oid function, uint64 hash)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(function));
	Form_pg_aggregate aggregate;
	bool		isnull;
	Datum		initial;

	if (!HeapTupleIsValid(tuple))
		return hash;
	aggregate = (Form_pg_aggregate) GETSTRUCT(tuple);
	initial = SysCacheGetAttr(AGGFNOID, tuple, Anum_pg_aggregate_agginitval, &isnull);
	if (!isnull)
		hash = hash_text(hash, TextDatumGetCString(initial));
	hash = hash_number(hash, aggregate->aggtransfn);
	hash = hash_number(hash, aggregate->aggfinalfn);
	(void) walk_function(aggregate->aggtransfn, walk);
	if (OidIsValid(aggregate->aggfinalfn))
		(void) walk_function(aggregate->aggfinalfn, walk);
	ReleaseSysCache(tuple);
	return hash;
}

/* The server's that say the time, who asks or what is set: stable within a statement, and no longer. */
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

/* Whether settings of the session have no part in a value's text: not times, whose text they shape. */
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

/* A constant text among the arguments; NULL if that is none. */
static char *
constant_text(List *arguments, int number)
{
	Const	   *constant = number < list_length(arguments) ? list_nth(arguments, number) : NULL;

	if (constant == NULL || !IsA(constant, Const) || constant->consttype != TEXTOID || constant->constisnull)
		return NULL;
	return TextDatumGetCString(constant->constvalue);
}

/* Whether a STABLE function of the server depends on settings, given these arguments. */
static bool
depends_on_settings(Node *node, const FormData_pg_proc *proc)
{
	List	   *arguments = arguments_of(node);
	const char *name = NameStr(proc->proname);
	char	   *text;
	ListCell   *cell;

	/* The language of names of days and months, and what stands for a decimal point. */
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

/* As people wrote it. */
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

/* What is kept must not depend on when and by whom it was folded. */
static void
refuse_function(Walk *walk, const FormData_pg_proc *proc, Oid extension, bool has_body)
{
	bool		is_server = proc->oid < FirstNormalObjectId;
	char	   *name = psprintf("%s()", NameStr(proc->proname));

	if (proc->provolatile == PROVOLATILE_IMMUTABLE)
		return;
	if (proc->provolatile == PROVOLATILE_VOLATILE || (is_server && says_what_is_now(proc)))
		give(walk, "changing", walk->place, 0, name);
	else if (is_server && depends_on_settings(walk->node, proc))
		give(walk, "setting", walk->place, 0, description(walk->node, NameStr(proc->proname)));
	else if (!is_server && !has_body && extension != walk->own)
		give(walk, "unknown", walk->place, 0, name);
}

/* For check_functions_in_node: goes on. */
static bool
walk_function(Oid function, void *context)
{
	Walk	   *walk = context;
	Oid			extension = function < FirstNormalObjectId ? InvalidOid : getExtensionOfObject(ProcedureRelationId, function);
	HeapTuple	proc = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	char	   *body;
	uint64		hash;

	if (!HeapTupleIsValid(proc))
		return false;
	body = text_attribute(proc, Anum_pg_proc_prosqlbody);
	refuse_function(walk, (Form_pg_proc) GETSTRUCT(proc), extension, body != NULL);
	if (function >= FirstNormalObjectId && !OidIsValid(extension) && first_sight(walk, ProcedureRelationId, function) != NULL)
	{
		check_stack_depth();
		hash = hash_function(proc, body);
		if (((Form_pg_proc) GETSTRUCT(proc))->prokind == PROKIND_AGGREGATE)
			hash = hash_aggregate(walk, function, hash);
		give(walk, "function", function, hash | 1, NULL);
		if (body != NULL)
			walk_body(walk, function, body);
	}
	ReleaseSysCache(proc);
	return false;
}

/* What a value is known by where it becomes a text: the labels of an enum, each by itself, since one that is added changes nothing. */
static void
walk_type(Walk *walk, Oid type)
{
	Relation	labels;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	type = getBaseType(type);
	if (get_typtype(type) != TYPTYPE_ENUM || first_sight(walk, TypeRelationId, type) == NULL)
		return;
	labels = table_open(EnumRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_enum_enumtypid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(type));
	scan = systable_beginscan(labels, EnumTypIdLabelIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_enum row = (Form_pg_enum) GETSTRUCT(tuple);

		give(walk, "label", type, hash_text(row->oid, NameStr(row->enumlabel)) | 1, NameStr(row->enumlabel));
	}
	systable_endscan(scan);
	table_close(labels, AccessShareLock);
}

/* ----------
 * Queries
 * ----------
 */

/* With other columns than before it is looked at once more, with all of them. */
static void
walk_view(Walk *walk, Oid view, const Bitmapset *columns)
{
	Walk		inner = *walk;
	Seen	   *seen = first_sight(walk, RelationRelationId, view);
	ListCell   *cell;
	Query	   *query;

	if (seen != NULL)
	{
		give(walk, "view", view, hash_tree(view, view_tree(view)) | 1, NULL);
		seen->columns = bms_copy(columns);
	}
	else
	{
		foreach(cell, walk->seen)
			if (((Seen *) lfirst(cell))->class == RelationRelationId && ((Seen *) lfirst(cell))->object == view)
				seen = lfirst(cell);
		if (seen->columns == NULL || (columns != NULL && bms_is_subset(columns, seen->columns)))
			return;
		seen->columns = columns == NULL ? NULL : bms_add_members(seen->columns, columns);
	}
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
		give(walk, "changing", walk->place, 0, "TABLESAMPLE");
	if (get_rel_relkind(entry->relid) == RELKIND_VIEW)
		walk_view(walk, entry->relid, columns_read(walk->query, entry));
	else
	{
		walk_table(walk, entry->relid, entry->inh);
		refuse_virtual(walk, entry->relid, columns_read(walk->query, entry));
	}
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

/* CURRENT_TIMESTAMP and its like: who asks and when. */
static const char *
value_function_name(const SQLValueFunction *function)
{
	switch (function->op)
	{
		case SVFOP_CURRENT_ROLE:
		case SVFOP_CURRENT_USER:
		case SVFOP_USER:
			return "CURRENT_USER";
		case SVFOP_SESSION_USER:
			return "SESSION_USER";
		case SVFOP_CURRENT_CATALOG:
			return NULL;
		case SVFOP_CURRENT_SCHEMA:
			return "CURRENT_SCHEMA";
		case SVFOP_CURRENT_DATE:
			return "CURRENT_DATE";
		case SVFOP_CURRENT_TIME:
		case SVFOP_CURRENT_TIME_N:
		case SVFOP_LOCALTIME:
		case SVFOP_LOCALTIME_N:
			return "CURRENT_TIME";
		default:
			return "CURRENT_TIMESTAMP";
	}
}

static bool
walk_node(Node *node, void *context)
{
	Walk	   *walk = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return walk_query(walk, (Query *) node);
	if (IsA(node, SQLValueFunction) && value_function_name((SQLValueFunction *) node) != NULL)
		give(walk, "changing", walk->place, 0, value_function_name((SQLValueFunction *) node));
	if (IsA(node, XmlExpr))
		give(walk, "setting", walk->place, 0, "XML");
	if (IsA(node, CoerceViaIO))
		walk_type(walk, exprType((Node *) ((CoerceViaIO *) node)->arg));
	walk->node = node;
	(void) check_functions_in_node(node, walk_function, walk);
	return expression_tree_walker(node, walk_node, context);
}

/* read_below(views regclass[]) */
Datum
stepadv_read_below(PG_FUNCTION_ARGS)
{
	int			n;
	const Oid  *views = list_argument(fcinfo, 0, "views", REGCLASSOID, &n);
	Walk		walk = {.rows = begin_rows(fcinfo, N_COLUMNS), .desc = ((ReturnSetInfo *) fcinfo->resultinfo)->expectedDesc,
		.own = getExtensionOfObject(ProcedureRelationId, fcinfo->flinfo->fn_oid)};
	uint64		place = GetSystemIdentifier();

	for (int i = 0; i < n; i++)
	{
		char		kind = get_rel_relkind(views[i]);

		place = hash_number(place, views[i]);
		if (kind == RELKIND_VIEW)
			walk_view(&walk, views[i], NULL);
		else if (kind != '\0')
			walk_table(&walk, views[i], true);
	}
	/* Where these numbers mean what they mean now: in a restored dump the views have others. */
	give(&walk, "place", InvalidOid, place | 1, NULL);
	return (Datum) 0;
}
