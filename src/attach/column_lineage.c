/*
 * column_lineage.c
 *		Which tables are below views, and which of their columns correspond to the views' keys.
 *
 * Queries are processed from the innermost out.  For each table below a query and each result column o, we look
 * for a column k of the table such that a change of a row affects only result rows in which o equals k.  This
 * is so if o comes from k, or if the conditions that hold for all rows affected by the change equate the two.
 * Columns of outer queries that a LATERAL or correlated subquery mentions are constant while it runs.  They are
 * treated in the same way, and the outer query continues from there.
 *
 * Which conditions hold depends on the joins.  Those of WHERE and of inner joins hold in all rows.  Those of
 * an outer join, and those within its nullable side, hold only where it found a match.  It found one where
 * that side is not null-extended: because a condition that holds compares something of it (all conditions
 * considered are strict), or because it is a row of that side whose change is examined.  That row can also
 * remove or add null-extended rows beside the rows it matches, for which therefore the same holds.  It does
 * not hold for those NULLs themselves, so a column that can be null-extended has no lineage as a result.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "attach/column_equality.h"
#include "attach/column_lineage.h"
#include "attach/view_query.h"
#include "compat.h"

/*
 * The tables below a query.  Their keys are for the query's result columns, followed by the columns of outer
 * queries.
 */
typedef struct Lineage
{
	int			n_outputs;
	int			n_outer;
	Column	   *outer;			/* as seen from the query: levels > 0 */
	List	   *tables;			/* of TableRead */
} Lineage;

/* A view, with the columns that are read, or a WITH query that has been examined; lineage is NULL during that. */
typedef struct Known
{
	Oid			view;
	Bitmapset  *columns;
	const Query *with;
	Lineage    *lineage;
} Known;

/* One source of a query. */
typedef struct Child
{
	int			entry;			/* of the range table; 0: a subquery in an expression */
	bool		is_table;		/* then column i is key i */
	int			shift;			/* levels from the query out to the one that contains the child */
	Lineage    *lineage;
} Child;

typedef struct Equality
{
	int			left;			/* numbers of columns of the scope */
	int			right;
	Bitmapset  *sides[2];		/* it holds where neither is null-extended; empty: not nullable */
} Equality;

/* A query that is being examined. */
typedef struct Scope
{
	List	  **known;			/* of Known, for the whole run */
	const Level *level;
	Bitmapset **mentioned;		/* see columns_mentioned */
	Column	   *columns;		/* that conditions or results mention */
	int			n_columns;
	int			max_columns;
	List	   *equalities;
	Bitmapset  *nullable;		/* entries on the nullable side of an outer join */
	List	   *children;
} Scope;

static Lineage *query_lineage(List **known, Query *query, const Level *outer, const Bitmapset *columns);

/* ----------
 * Columns and conditions
 * ----------
 */

static int
column_number(Scope *scope, const Column *column)
{
	for (int c = 0; c < scope->n_columns; c++)
		if (scope->columns[c].levels == column->levels && scope->columns[c].entry == column->entry &&
			scope->columns[c].column == column->column)
			return c;
	if (scope->n_columns == scope->max_columns)
	{
		scope->max_columns = Max(16, 2 * scope->max_columns);
		scope->columns = scope->columns == NULL ? palloc(scope->max_columns * sizeof(Column)) :
			repalloc(scope->columns, scope->max_columns * sizeof(Column));
	}
	scope->columns[scope->n_columns] = *column;
	return scope->n_columns++;
}

/* An outer column of a child, as seen from the query. */
static Column
outer_column(const Child *child, int o)
{
	Column		column = child->lineage->outer[o];

	column.levels += child->shift - 1;
	return column;
}

static void
add_conditions(Scope *scope, Node *condition, Bitmapset *side, Bitmapset *other_side)
{
	ListCell   *cell;
	Column		left;
	Column		right;

	if (condition == NULL)
		return;
	check_stack_depth();
	if (is_andclause(condition))
		foreach(cell, ((BoolExpr *) condition)->args)
			add_conditions(scope, lfirst(cell), side, other_side);
	else if (equated_columns(condition, scope->level, &left, &right))
	{
		Equality   *equality = palloc(sizeof(Equality));

		equality->left = column_number(scope, &left);
		equality->right = column_number(scope, &right);
		equality->sides[0] = side;
		equality->sides[1] = other_side;
		scope->equalities = lappend(scope->equalities, equality);
	}
}

/* Add the conditions of a FROM item; `side` is the innermost nullable side it is in, NULL if none. */
static void
add_join(Scope *scope, Node *node, Bitmapset *side)
{
	ListCell   *cell;
	JoinExpr   *join;
	Bitmapset  *left;
	Bitmapset  *right;

	check_stack_depth();
	if (IsA(node, RangeTblRef))
		return;
	if (IsA(node, FromExpr))
	{
		foreach(cell, ((FromExpr *) node)->fromlist)
			add_join(scope, lfirst(cell), side);
		add_conditions(scope, ((FromExpr *) node)->quals, side, NULL);
		return;
	}

	join = castNode(JoinExpr, node);
	left = join->jointype == JOIN_RIGHT || join->jointype == JOIN_FULL ? item_entries(join->larg) : NULL;
	right = join->jointype == JOIN_LEFT || join->jointype == JOIN_FULL ? item_entries(join->rarg) : NULL;
	scope->nullable = bms_union(scope->nullable, bms_union(left, right));
	add_join(scope, join->larg, left != NULL ? left : side);
	add_join(scope, join->rarg, right != NULL ? right : side);
	if (join->jointype == JOIN_INNER)
		add_conditions(scope, join->quals, side, NULL);
	else
		add_conditions(scope, join->quals, left, right);
}

/* ----------
 * What equals what
 * ----------
 */

/* For all rows that a change in an entry can affect; with entry 0, for all result rows. */
typedef struct Facts
{
	int		   *classes;		/* for each column of the scope, one that represents all equal ones */
	Bitmapset  *present;		/* entries that are not null-extended */
} Facts;

static bool
is_present(const Facts *facts, const Bitmapset *side)
{
	return bms_is_empty(side) || bms_overlap(side, facts->present);
}

static void
equate(const Scope *scope, Facts *facts, const Equality *equality)
{
	const int	sides[2] = {equality->left, equality->right};
	int			from = facts->classes[equality->left];
	int			to = facts->classes[equality->right];

	for (int c = 0; c < scope->n_columns; c++)
		if (facts->classes[c] == from)
			facts->classes[c] = to;
	for (int s = 0; s < 2; s++)
		if (scope->columns[sides[s]].levels == 0)
			facts->present = bms_add_member(facts->present, scope->columns[sides[s]].entry);
}

static Facts
facts_for(const Scope *scope, int entry)
{
	Facts		facts = {palloc(Max(scope->n_columns, 1) * sizeof(int)), NULL};
	List	   *open = list_copy(scope->equalities);
	bool		is_changed = true;
	ListCell   *cell;

	for (int c = 0; c < scope->n_columns; c++)
		facts.classes[c] = c;
	if (entry != 0)
		facts.present = bms_make_singleton(entry);
	while (is_changed)
	{
		is_changed = false;
		foreach(cell, open)
		{
			const Equality *equality = lfirst(cell);

			if (!is_present(&facts, equality->sides[0]) || !is_present(&facts, equality->sides[1]))
				continue;
			equate(scope, &facts, equality);
			open = foreach_delete_current(open, cell);
			is_changed = true;
		}
	}
	return facts;
}

/* ----------
 * Children
 * ----------
 */

static Lineage *
empty_lineage(void)
{
	return palloc0(sizeof(Lineage));
}

static Known *
find_known(List *known, Oid view, const Bitmapset *columns, const Query *with)
{
	ListCell   *cell;

	foreach(cell, known)
	{
		Known	   *one = lfirst(cell);

		if (one->view == view && one->with == with && (one->lineage == NULL || bms_equal(one->columns, columns)))
			return one;
	}
	return NULL;
}

static Known *
add_known(List **known, Oid view, const Bitmapset *columns, const Query *with)
{
	Known	   *one = palloc0(sizeof(Known));

	one->view = view;
	one->columns = bms_copy(columns);
	one->with = with;
	*known = lappend(*known, one);
	return one;
}

/* Views can refer to each other in a circle, which is an error only when they are read: they have no tables. */
static Lineage *
view_lineage(List **known, Oid view, const Bitmapset *columns)
{
	Known	   *one = find_known(*known, view, columns, NULL);
	Query	   *query;

	if (one == NULL)
	{
		one = add_known(known, view, columns, NULL);
		query = view_query(view);
		one->lineage = query == NULL ? empty_lineage() : query_lineage(known, query, NULL, columns);
	}
	return one->lineage == NULL ? empty_lineage() : one->lineage;
}

/* The rows of a recursive query come from its earlier rows: its result columns have no lineage. */
static Lineage *
with_lineage(List **known, CommonTableExpr *with, const Level *defined)
{
	Query	   *query = castNode(Query, with->ctequery);
	Known	   *one = find_known(*known, InvalidOid, NULL, query);
	ListCell   *cell;

	if (one != NULL)
		return one->lineage == NULL ? empty_lineage() : one->lineage;
	one = add_known(known, InvalidOid, NULL, query);
	one->lineage = query_lineage(known, query, defined, NULL);
	if (with->cterecursive)
		foreach(cell, one->lineage->tables)
			memset(((TableRead *) lfirst(cell))->keys, 0, one->lineage->n_outputs * sizeof(AttrNumber));
	return one->lineage;
}

/* A table, as a query that returns all of its columns. */
static Lineage *
table_lineage(Oid table, Bitmapset *selected)
{
	Lineage    *lineage = empty_lineage();
	TableRead  *read = palloc0(sizeof(TableRead));
	int			member = -1;

	read->relation = table;
	while ((member = bms_next_member(selected, member)) >= 0)
	{
		int			column = member + FirstLowInvalidHeapAttributeNumber;

		if (column > 0)
			read->reads = bms_add_member(read->reads, column);
		else if (column == 0)
			read->whole_row = true;
	}
	lineage->tables = list_make1(read);
	return lineage;
}

static void
add_child(Scope *scope, int entry, bool is_table, int shift, Lineage *lineage)
{
	Child	   *child = palloc(sizeof(Child));

	child->entry = entry;
	child->is_table = is_table;
	child->shift = shift;
	child->lineage = lineage;
	scope->children = lappend(scope->children, child);
	for (int o = 0; o < lineage->n_outer; o++)
	{
		Column		column = outer_column(child, o);

		(void) column_number(scope, &column);
	}
}

/* The rows of a sample depend on all others: its columns have no lineage. */
static void
add_relation(Scope *scope, int number, RangeTblEntry *entry)
{
	if (get_rel_relkind(entry->relid) == RELKIND_VIEW)
		add_child(scope, number, false, 0, view_lineage(scope->known, entry->relid, scope->mentioned[number]));
	else
		add_child(scope, number, entry->tablesample == NULL, 0,
				  table_lineage(entry->relid, scope->mentioned[number]));
}

static void
add_entry(Scope *scope, int number)
{
	RangeTblEntry *entry = rt_fetch(number, scope->level->query->rtable);
	CommonTableExpr *with;
	const Level *defined;

	switch (entry->rtekind)
	{
		case RTE_RELATION:
			add_relation(scope, number, entry);
			break;
		case RTE_SUBQUERY:
			add_child(scope, number, false, 0,
					  query_lineage(scope->known, entry->subquery, scope->level, scope->mentioned[number]));
			break;
		case RTE_CTE:
			if (entry->self_reference)
				break;
			with = with_query(entry, scope->level, &defined);
			add_child(scope, number, false, entry->ctelevelsup, with_lineage(scope->known, with, defined));
			break;
		default:
			break;				/* reads no table */
	}
}

/* Add the subqueries in expressions. */
static bool
add_sublinks(Node *node, void *context)
{
	Scope	   *scope = context;

	if (node == NULL)
		return false;
	if (IsA(node, SubLink))
	{
		SubLink    *link = (SubLink *) node;

		add_child(scope, 0, false, 0,
				  query_lineage(scope->known, castNode(Query, link->subselect), scope->level, NULL));
		return add_sublinks(link->testexpr, context);
	}
	return expression_tree_walker(node, add_sublinks, context);
}

/* ----------
 * Results
 * ----------
 */

static bool
is_sorted_by(List *clause, const TargetEntry *target, List *targets)
{
	ListCell   *cell;

	foreach(cell, clause)
		if (equal(get_sortgroupclause_expr(lfirst_node(SortGroupClause, cell), targets), target->expr))
			return true;
	return false;
}

/*
 * Are result rows with different values of a column independent?  They are not if removing one row can admit
 * another (LIMIT, DISTINCT ON other columns) or if a window function reads both.
 */
static bool
is_apart(const Query *query, const TargetEntry *target)
{
	ListCell   *cell;

	if (query->limitCount != NULL || query->limitOffset != NULL || query->groupingSets != NIL)
		return false;
	if (query->hasDistinctOn && !is_sorted_by(query->distinctClause, target, query->targetList))
		return false;
	foreach(cell, query->windowClause)
		if (!is_sorted_by(lfirst_node(WindowClause, cell)->partitionClause, target, query->targetList))
			return false;
	return true;
}

/* The scope's column that a result column is; -1 if it has no lineage. */
static int
output_column(Scope *scope, const Facts *facts, const TargetEntry *target)
{
	Column		column;

	if (!column_of((Node *) target->expr, scope->level, &column))
		return -1;
	if (column.levels == 0 &&
		((bms_is_member(column.entry, scope->nullable) && !bms_is_member(column.entry, facts->present)) ||
		 !is_apart(scope->level->query, target)))
		return -1;
	return column_number(scope, &column);
}

/* The places of a scope's column in a child: result columns are numbered from 1, outer columns after them. */
static List *
places_in(const Scope *scope, const Child *child, const Column *column)
{
	List	   *places = NIL;

	/* WITH queries have columns (of SEARCH and CYCLE) beyond those that they compute. */
	if (child->entry != 0 && column->levels == 0 && column->entry == child->entry &&
		(child->is_table || column->column <= child->lineage->n_outputs))
		places = lappend_int(places, column->column);
	for (int o = 0; o < child->lineage->n_outer; o++)
	{
		Column		outer = outer_column(child, o);

		if (outer.levels == column->levels && outer.entry == column->entry && outer.column == column->column)
			places = lappend_int(places, child->lineage->n_outputs + o + 1);
	}
	return places;
}

/* The same for all columns that equal this one, itself first. */
static List *
places_equal_to(const Scope *scope, const Child *child, const int *classes, int column)
{
	List	   *places;

	if (column < 0)
		return NIL;
	places = places_in(scope, child, &scope->columns[column]);
	for (int c = 0; c < scope->n_columns; c++)
		if (c != column && classes[c] == classes[column])
			places = list_concat(places, places_in(scope, child, &scope->columns[c]));
	return places;
}

/* The table's key at the first of the places that has one; 0 if there is none. */
static AttrNumber
key_at(const Child *child, const TableRead *table, List *places)
{
	ListCell   *cell;

	foreach(cell, places)
	{
		int			place = lfirst_int(cell);
		AttrNumber	key = child->is_table ? place : table->keys[place - 1];

		if (key != 0)
			return key;
	}
	return 0;
}

/* Add what is read of a table in another place. */
static void
merge_table(List **tables, const TableRead *other, int n_keys)
{
	ListCell   *cell;
	TableRead  *table;

	foreach(cell, *tables)
	{
		table = lfirst(cell);
		if (table->relation != other->relation)
			continue;
		table->reads = bms_add_members(table->reads, other->reads);
		table->whole_row |= other->whole_row;
		for (int k = 0; k < n_keys; k++)
			if (table->keys[k] != other->keys[k])
				table->keys[k] = 0;
		return;
	}
	table = palloc(sizeof(TableRead));
	*table = *other;
	table->reads = bms_copy(other->reads);
	*tables = lappend(*tables, table);
}

/* An arm of a UNION has the result's columns by position, if their types have the same equality. */
static List *
places_in_arm(const Scope *scope, const Child *child, int output)
{
	SetOperationStmt *operation = castNode(SetOperationStmt, scope->level->query->setOperations);
	Query	   *arm = rt_fetch(child->entry, scope->level->query->rtable)->subquery;
	TargetEntry *target = get_tle_by_resno(arm->targetList, output);

	if (target == NULL || scope->level->query->limitCount != NULL || scope->level->query->limitOffset != NULL ||
		!same_equality(exprType((Node *) target->expr), list_nth_oid(operation->colTypes, output - 1)))
		return NIL;
	return list_make1_int(output);
}

/* Add the tables of a child, with their keys for the query around it. */
static void
lift_tables(Scope *scope, const Child *child, Lineage *to, const int *outputs, const int *outer)
{
	Facts		facts = facts_for(scope, child->entry);
	int			n_keys = to->n_outputs + to->n_outer;
	List	  **places = palloc0(Max(n_keys, 1) * sizeof(List *));
	ListCell   *cell;

	for (int k = 0; k < to->n_outputs; k++)
		places[k] = scope->level->query->setOperations == NULL ?
			places_equal_to(scope, child, facts.classes, outputs[k]) :
			child->entry != 0 ? places_in_arm(scope, child, k + 1) : NIL;
	for (int k = 0; k < to->n_outer; k++)
		places[to->n_outputs + k] = places_equal_to(scope, child, facts.classes, outer[k]);
	foreach(cell, child->lineage->tables)
	{
		TableRead	table = *(TableRead *) lfirst(cell);
		AttrNumber *keys = palloc(Max(n_keys, 1) * sizeof(AttrNumber));

		for (int k = 0; k < n_keys; k++)
			keys[k] = key_at(child, &table, places[k]);
		table.keys = keys;
		merge_table(&to->tables, &table, n_keys);
	}
}

static Lineage *
lift(Scope *scope)
{
	Query	   *query = scope->level->query;
	Lineage    *lineage = empty_lineage();
	int		   *outputs = palloc(Max(list_length(query->targetList), 1) * sizeof(int));
	int		   *outer;
	Facts		facts = facts_for(scope, 0);
	ListCell   *cell;

	foreach(cell, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, cell);

		if (!target->resjunk)
			outputs[lineage->n_outputs++] = query->setOperations != NULL ? -1 : output_column(scope, &facts, target);
	}
	outer = palloc(Max(scope->n_columns, 1) * sizeof(int));
	lineage->outer = palloc(Max(scope->n_columns, 1) * sizeof(Column));
	for (int c = 0; c < scope->n_columns; c++)
		if (scope->columns[c].levels > 0)
		{
			outer[lineage->n_outer] = c;
			lineage->outer[lineage->n_outer++] = scope->columns[c];
		}
	foreach(cell, scope->children)
		lift_tables(scope, lfirst(cell), lineage, outputs, outer);
	return lineage;
}

/* Can unread columns of a UNION be left out of all its arms? */
static bool
is_union_all(const Query *query, Node *operation)
{
	SetOperationStmt *union_of = (SetOperationStmt *) operation;

	if (!IsA(operation, SetOperationStmt))
		return query->sortClause == NIL && query->limitCount == NULL && query->limitOffset == NULL;
	return union_of->op == SETOP_UNION && union_of->all && is_union_all(query, union_of->larg) &&
		is_union_all(query, union_of->rarg);
}

/* columns: see leave_out_unread. */
static Lineage *
query_lineage(List **known, Query *query, const Level *outer, const Bitmapset *columns)
{
	Level		level = {query, outer};
	Scope		scope = {.known = known, .level = &level};
	Bitmapset  *entries = from_entries(query);
	int			entry = -1;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	leave_out_unread(query, columns);
	scope.mentioned = columns_mentioned(query);
	if (query->setOperations != NULL)
		while ((entry = bms_next_member(entries, entry)) >= 0)
			scope.mentioned[entry] = is_union_all(query, query->setOperations) ? bms_copy(columns) : NULL;
	entry = -1;
	while ((entry = bms_next_member(entries, entry)) >= 0)
		add_entry(&scope, entry);
	(void) query_tree_walker(query, add_sublinks, &scope,
							 QTW_IGNORE_RT_SUBQUERIES | QTW_IGNORE_CTE_SUBQUERIES | QTW_IGNORE_JOINALIASES);
	add_join(&scope, (Node *) query->jointree, NULL);
	return lift(&scope);
}

/* ----------
 * All tables
 * ----------
 */

/* Add the tables below a relation, with its first columns, by position, as keys. */
static void
add_given(List **tables, List **known, Oid relation, int n_keys)
{
	char		kind = get_rel_relkind(relation);
	Lineage    *lineage = kind == RELKIND_VIEW ? view_lineage(known, relation, NULL) : table_lineage(relation, NULL);
	ListCell   *cell;

	if (kind == '\0')
		return;
	foreach(cell, lineage->tables)
	{
		TableRead	table = *(TableRead *) lfirst(cell);
		AttrNumber *keys = palloc0(Max(n_keys, 1) * sizeof(AttrNumber));
		int			n = 0;

		if (kind == RELKIND_VIEW)
			memcpy(keys, table.keys, Min(n_keys, lineage->n_outputs) * sizeof(AttrNumber));
		else
			for (AttrNumber c = 1; n < n_keys && c <= MaxHeapAttributeNumber; c++)
				if (get_atttype(relation, c) != InvalidOid)
					keys[n++] = c;
		table.keys = keys;
		merge_table(tables, &table, n_keys);
	}
}

List *
tables_read(List *relations, int n_keys)
{
	List	   *tables = NIL;
	List	   *known = NIL;
	ListCell   *cell;

	foreach(cell, relations)
		add_given(&tables, &known, lfirst_oid(cell), n_keys);
	return tables;
}
