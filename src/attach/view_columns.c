/*
 * view_columns.c
 *		view_columns(view): the columns of relations from which a view's columns are computed.
 *
 * attach asks this of the views that it creates.  A column's expression is followed through the subqueries,
 * WITH queries and joins of the view's own query, down to the relations named there, which can be views
 * again.  Clauses that only select or order rows, arguments of functions in FROM, and subqueries in
 * expressions are ignored.
 *
 * The results of the last few views are kept, since attach asks the same of its adapters a hundred times.
 */
#include "postgres.h"

#include "catalog/pg_rewrite.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pg_list.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "attach/view_query.h"
#include "compat.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_view_columns);

typedef struct SourceColumn
{
	Oid			relation;
	AttrNumber	column;			/* 0: the whole row */
	bool		plain;
} SourceColumn;

typedef struct ViewColumn
{
	int			number;
	char	   *name;
	List	   *sources;		/* of SourceColumn */
	bool		alone;
} ViewColumn;

/* A view that has been examined. */
typedef struct KnownView
{
	Oid			view;			/* InvalidOid: none */
	int64		mark;			/* of its rows in pg_rewrite */
	MemoryContext context;
	List	   *columns;		/* of ViewColumn */
} KnownView;

#define N_KNOWN 16

static KnownView known_views[N_KNOWN];
static int	n_looked_at = 0;

/* Where an expression is examined, and what was found for the column of the view. */
typedef struct Search
{
	List	   *found;			/* of SourceColumn */
	const Level *level;
	bool		plain;			/* so far, nothing but the column */
	bool		elsewhere;		/* something else was found, also in an arm of a UNION */
} Search;

static bool search_expression(Node *node, void *context);

static void
add_source(Search *search, Oid relation, AttrNumber column)
{
	SourceColumn *source;
	ListCell   *cell;

	foreach(cell, search->found)
	{
		source = lfirst(cell);
		if (source->relation == relation && source->column == column)
		{
			source->plain &= search->plain;
			return;
		}
	}
	source = palloc(sizeof(SourceColumn));
	*source = (SourceColumn) {relation, column, search->plain};
	search->found = lappend(search->found, source);
}

/* Search a column of a query; of a UNION, in all its arms. */
static void
search_query(Search *search, Query *query, const Level *outer, AttrNumber column)
{
	Level		level = {query, outer};
	const Level *caller = search->level;
	TargetEntry *target = get_tle_by_resno(query->targetList, column);
	Bitmapset  *arms = query->setOperations != NULL ? from_entries(query) : NULL;
	int			arm = -1;

	search->level = &level;
	while ((arm = bms_next_member(arms, arm)) >= 0)
		search_query(search, rt_fetch(arm, query->rtable)->subquery, &level, column);
	if (arms == NULL && target != NULL)
		(void) search_expression((Node *) target->expr, search);
	search->level = caller;
}

static void
search_var(Search *search, const Var *var)
{
	const Level *caller = search->level;
	const Level *level = level_up(caller, var->varlevelsup);
	RangeTblEntry *entry = rt_fetch(var->varno, level->query->rtable);
	CommonTableExpr *with;

	search->level = level;
	if (entry->rtekind == RTE_RELATION)
		add_source(search, entry->relid, var->varattno);
	else if (entry->rtekind == RTE_SUBQUERY)
		search_query(search, entry->subquery, level, var->varattno);
	else if (entry->rtekind == RTE_CTE && !entry->self_reference)
	{
		with = with_query(entry, level, &level);
		search_query(search, castNode(Query, with->ctequery), level, var->varattno);
	}
	else
		(void) search_expression(entry_expression(entry, var->varattno), search);
	search->level = caller;
}

static bool
search_expression(Node *node, void *context)
{
	Search	   *search = context;
	bool		plain = search->plain;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (node == NULL || IsA(node, Query))
		return false;
	node = without_relabel(node);
	if (IsA(node, Var))
	{
		search_var(search, (Var *) node);
		return false;
	}
	search->elsewhere |= plain;
	search->plain = false;
	(void) expression_tree_walker(node, search_expression, search);
	search->plain = plain;
	return false;
}

static void
give_column(ReturnSetInfo *result, Tuplestorestate *rows, const ViewColumn *of, const SourceColumn *source)
{
	Datum		values[7];
	bool		nulls[7] = {false};
	char	   *column = NULL;

	if (source != NULL && source->column != 0)
		column = get_attname(source->relation, source->column, true);
	values[0] = Int32GetDatum(of->number);
	values[1] = CStringGetTextDatum(of->name);
	values[2] = ObjectIdGetDatum(source != NULL ? source->relation : InvalidOid);
	values[3] = Int32GetDatum(source != NULL ? source->column : 0);
	values[4] = column != NULL ? CStringGetTextDatum(column) : (Datum) 0;
	values[5] = BoolGetDatum(source != NULL && source->plain);
	values[6] = BoolGetDatum(of->alone);
	nulls[2] = nulls[3] = source == NULL;
	nulls[4] = column == NULL;
	tuplestore_putvalues(rows, result->expectedDesc, values, nulls);
}

static ViewColumn *
look_at_column(Query *query, const TargetEntry *target)
{
	Search		search = {NIL, NULL, true, false};
	ViewColumn *column = palloc(sizeof(ViewColumn));

	search_query(&search, query, NULL, target->resno);
	*column = (ViewColumn) {
		target->resno, pstrdup(target->resname), search.found, search.found != NIL && !search.elsewhere
	};
	return column;
}

/* The columns of a view, by its current query; NIL if it is no view. */
static List *
columns_of(Oid view)
{
	int64		mark = mark_rows(0, RewriteRelationId, RewriteRelRulenameIndexId, Anum_pg_rewrite_ev_class, view);
	KnownView  *known = &known_views[n_looked_at % N_KNOWN];
	Query	   *query;
	MemoryContext old;
	ListCell   *cell;

	for (int i = 0; i < N_KNOWN; i++)
		if (known_views[i].view == view && known_views[i].mark == mark)
			return known_views[i].columns;
	query = view_query(view);
	if (query == NULL)
		return NIL;
	n_looked_at++;
	known->view = InvalidOid;
	known->columns = NIL;
	if (known->context == NULL)
		known->context = AllocSetContextCreate(CacheMemoryContext, "stepadv view columns", ALLOCSET_SMALL_SIZES);
	MemoryContextReset(known->context);
	old = MemoryContextSwitchTo(known->context);
	foreach(cell, query->targetList)
		if (!lfirst_node(TargetEntry, cell)->resjunk)
			known->columns = lappend(known->columns, look_at_column(query, lfirst(cell)));
	MemoryContextSwitchTo(old);
	known->view = view;
	known->mark = mark;
	return known->columns;
}

/* Returns a row for each source of each column, or one without a relation if a column has no source. */
Datum
stepadv_view_columns(PG_FUNCTION_ARGS)
{
	Tuplestorestate *rows = begin_rows(fcinfo, 7);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ListCell   *cell;
	ListCell   *source;

	foreach(cell, columns_of(PG_GETARG_OID(0)))
	{
		const ViewColumn *column = lfirst(cell);

		foreach(source, column->sources)
			give_column(result, rows, column, lfirst(source));
		if (column->sources == NIL)
			give_column(result, rows, column, NULL);
	}
	return (Datum) 0;
}
