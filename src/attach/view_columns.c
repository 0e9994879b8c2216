/*
 * view_columns.c
 *		view_columns(view): from which columns of which relations a view's columns
 *		are computed.
 *
 * It follows a column's expression through the subqueries, WITH queries, joins and
 * windows of the view's own query, down to the relations it names there, which can
 * be views again.  What only chooses or orders rows (WHERE, ON, GROUP BY) is not
 * looked at, except in the queries within an expression.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pg_list.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
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

/*
 * A place where a walk has been: a column of a range table entry of a query, or
 * with entry 0 of the query itself.  Without this a WITH RECURSIVE would not end,
 * nor would twenty levels of x + x within anybody's lifetime.
 */
typedef struct Place
{
	const Query *query;
	int			entry;
	int			column;
	int			plain;
} Place;

/* For one column of the view. */
typedef struct Walk
{
	List	   *found;			/* of SourceColumn */
	HTAB	   *visited;		/* of Place */
} Walk;

/* What expression_tree_walker carries along. */
typedef struct Here
{
	Walk	   *walk;
	const Level *level;
} Here;

static void walk_expression(Walk *walk, Node *expression, const Level *level, bool plain);

static bool
was_visited(Walk *walk, const Query *query, int entry, int column, bool plain)
{
	Place		place;
	bool		found;

	memset(&place, 0, sizeof(place));
	place.query = query;
	place.entry = entry;
	place.column = column;
	place.plain = plain;
	(void) hash_search(walk->visited, &place, HASH_ENTER, &found);
	return found;
}

static void
add_source(Walk *walk, Oid relation, AttrNumber column, bool plain)
{
	SourceColumn *source;
	ListCell   *cell;

	foreach(cell, walk->found)
	{
		source = lfirst(cell);
		if (source->relation == relation && source->column == column)
		{
			source->plain &= plain;
			return;
		}
	}
	source = palloc(sizeof(SourceColumn));
	source->relation = relation;
	source->column = column;
	source->plain = plain;
	walk->found = lappend(walk->found, source);
}

static void walk_query_column(Walk *walk, const Level *level, AttrNumber column, bool plain);

static void
walk_subquery(Walk *walk, Query *query, const Level *outer, AttrNumber column, bool plain)
{
	Level		level = {query, outer};

	if (column == 0)
		for (int c = 1; c <= list_length(query->targetList); c++)
			walk_query_column(walk, &level, c, false);
	else
		walk_query_column(walk, &level, column, plain);
}

static void
walk_var(Walk *walk, const Var *var, const Level *level, bool plain)
{
	RangeTblEntry *entry;
	const Level *defined;
	CommonTableExpr *with;

	level = level_up(level, var->varlevelsup);
	if (was_visited(walk, level->query, var->varno, var->varattno, plain))
		return;
	entry = rt_fetch(var->varno, level->query->rtable);
	switch (entry->rtekind)
	{
		case RTE_RELATION:
			add_source(walk, entry->relid, var->varattno, plain);
			break;
		case RTE_SUBQUERY:
			walk_subquery(walk, entry->subquery, level, var->varattno, plain);
			break;
		case RTE_CTE:
			with = with_query(entry, level, &defined);
			walk_subquery(walk, castNode(Query, with->ctequery), defined, var->varattno, plain);
			break;
		case RTE_FUNCTION:
			walk_expression(walk, (Node *) entry->functions, level, false);
			break;
		case RTE_TABLEFUNC:
			walk_expression(walk, (Node *) entry->tablefunc, level, false);
			break;
		case RTE_VALUES:
			walk_expression(walk, (Node *) entry->values_lists, level, false);
			break;
		default:
			walk_expression(walk, entry_expression(entry, var->varattno), level, plain);
	}
}

/* What a window is partitioned and ordered by is what its functions are computed from, too. */
static void
walk_window(Here *here, Index number)
{
	Query	   *query = here->level->query;
	ListCell   *cell;
	ListCell   *part;

	foreach(cell, query->windowClause)
	{
		WindowClause *window = lfirst_node(WindowClause, cell);
		List	   *parts = list_concat_copy(window->partitionClause, window->orderClause);

		if (window->winref == number)
			foreach(part, parts)
				walk_expression(here->walk,
								get_sortgroupclause_expr(lfirst_node(SortGroupClause, part), query->targetList),
								here->level, false);
	}
}

static bool
walk_node(Node *node, void *context)
{
	Here	   *here = context;

	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		walk_var(here->walk, (Var *) node, here->level, false);
		return false;
	}
	if (IsA(node, Query))
	{
		Level		level = {(Query *) node, here->level};
		Here		inside = {here->walk, &level};

		return query_tree_walker((Query *) node, walk_node, &inside, QTW_IGNORE_JOINALIASES);
	}
	if (IsA(node, WindowFunc))
		walk_window(here, ((WindowFunc *) node)->winref);
	return expression_tree_walker(node, walk_node, context);
}

static void
walk_expression(Walk *walk, Node *expression, const Level *level, bool plain)
{
	Here		here = {walk, level};

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	expression = without_relabel(expression);
	if (expression != NULL && IsA(expression, Var))
		walk_var(walk, (Var *) expression, level, plain);
	else
		(void) walk_node(expression, &here);
}

static void
walk_query_column(Walk *walk, const Level *level, AttrNumber column, bool plain)
{
	Query	   *query = level->query;
	TargetEntry *target = get_tle_by_resno(query->targetList, column);

	if (target == NULL || was_visited(walk, query, 0, column, plain))
		return;
	if (query->setOperations != NULL)
	{
		Bitmapset  *arms = from_entries(query);
		int			arm = -1;

		while ((arm = bms_next_member(arms, arm)) >= 0)
			walk_subquery(walk, rt_fetch(arm, query->rtable)->subquery, level, column, plain);
	}
	else
		walk_expression(walk, (Node *) target->expr, level, plain);
}

static void
give_column(ReturnSetInfo *result, Tuplestorestate *rows, const TargetEntry *target, const SourceColumn *source)
{
	Datum		values[6];
	bool		nulls[6] = {false};
	char	   *column = NULL;

	if (source != NULL && source->column != 0)
		column = get_attname(source->relation, source->column, true);
	values[0] = Int32GetDatum(target->resno);
	values[1] = CStringGetTextDatum(target->resname);
	values[2] = ObjectIdGetDatum(source != NULL ? source->relation : InvalidOid);
	values[3] = Int32GetDatum(source != NULL ? source->column : 0);
	values[4] = column != NULL ? CStringGetTextDatum(column) : (Datum) 0;
	values[5] = BoolGetDatum(source != NULL && source->plain);
	nulls[2] = nulls[3] = source == NULL;
	nulls[4] = column == NULL;
	tuplestore_putvalues(rows, result->expectedDesc, values, nulls);
}

/* The rows of one column of the view; one without a relation if it is computed from none. */
static void
give_sources(ReturnSetInfo *result, Tuplestorestate *rows, const Level *level, const TargetEntry *target)
{
	HASHCTL		control = {.keysize = sizeof(Place), .entrysize = sizeof(Place), .hcxt = CurrentMemoryContext};
	Walk		walk = {NIL, hash_create("stepadv view_columns", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT)};
	ListCell   *cell;

	walk_query_column(&walk, level, target->resno, true);
	foreach(cell, walk.found)
		give_column(result, rows, target, lfirst(cell));
	if (walk.found == NIL)
		give_column(result, rows, target, NULL);
	hash_destroy(walk.visited);
}

Datum
stepadv_view_columns(PG_FUNCTION_ARGS)
{
	Tuplestorestate *rows = begin_rows(fcinfo, 6);
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	Level		level = {view_query(PG_GETARG_OID(0)), NULL};
	ListCell   *cell;

	if (level.query != NULL)
		foreach(cell, level.query->targetList)
		{
			TargetEntry *target = lfirst_node(TargetEntry, cell);

			if (!target->resjunk)
				give_sources(result, rows, &level, target);
		}
	return (Datum) 0;
}
