/*
 * view_query.c
 *		The query of a view, from the catalog.
 *
 * It is read from pg_rewrite and not from the relation cache, because that would need a lock on the view: by
 * locking a view of their own, any user could make all others wait.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_rewrite.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pg_list.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteSupport.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "attach/view_query.h"
#include "compat.h"
#include "hash.h"

/* Other users' views are read only up to this size (of the stored tree's text). */
#define LARGEST_STRANGER (16 * 1024 * 1024)

/* The text of a view's query tree; NULL if there is none, or it is longer than `limit`. */
static char *
stored_tree(Oid view, Size limit)
{
	char	   *tree = NULL;
	Relation	rules;
	SysScanDesc scan;
	ScanKeyData keys[2];
	HeapTuple	rule;

	if (get_rel_relkind(view) != RELKIND_VIEW)
		return NULL;
	rules = table_open(RewriteRelationId, AccessShareLock);
	ScanKeyInit(&keys[0], Anum_pg_rewrite_ev_class, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(view));
	ScanKeyInit(&keys[1], Anum_pg_rewrite_rulename, BTEqualStrategyNumber, F_NAMEEQ,
				CStringGetDatum(ViewSelectRuleName));
	scan = systable_beginscan(rules, RewriteRelRulenameIndexId, true, NULL, 2, keys);
	rule = systable_getnext(scan);
	if (HeapTupleIsValid(rule))
	{
		bool		isnull;
		Datum		action = heap_getattr(rule, Anum_pg_rewrite_ev_action, RelationGetDescr(rules), &isnull);

		if (!isnull && toast_raw_datum_size(action) <= limit)
			tree = TextDatumGetCString(action);
	}
	systable_endscan(scan);
	table_close(rules, AccessShareLock);
	return tree;
}

static Query *
parse_tree(char *tree)
{
	List	   *actions = (List *) stringToNode(tree);

	return linitial_node(Query, actions);
}

int64
mark_rows(int64 mark, Oid catalog, Oid index, AttrNumber column, Oid object)
{
	Relation	relation = table_open(catalog, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	mark = hash_int64_onto(object, mark);
	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(object));
	scan = systable_beginscan(relation, index, true, NULL, 1, &key);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
	{
		mark = hash_int64_onto(HeapTupleHeaderGetRawXmin(row->t_data), mark);
		mark = hash_int64_onto((int64) ItemPointerGetBlockNumber(&row->t_self) << 16 | ItemPointerGetOffsetNumber(&row->t_self), mark);
	}
	systable_endscan(scan);
	table_close(relation, AccessShareLock);
	return mark;
}

static uint64 n_changes = 0;

static void
count_relation(Datum argument, Oid relation)
{
	n_changes++;
}

static void
count_object(Datum argument, int cache, uint32 hash)
{
	n_changes++;
}

uint64
catalog_changes(void)
{
	if (n_changes == 0)
	{
		CacheRegisterRelcacheCallback(count_relation, (Datum) 0);
		CacheRegisterSyscacheCallback(PROCOID, count_object, (Datum) 0);
		CacheRegisterSyscacheCallback(ENUMOID, count_object, (Datum) 0);
		n_changes = 1;
	}
	AcceptInvalidationMessages();
	return n_changes;
}

Query *
view_query(Oid view)
{
	char	   *tree = stored_tree(view, MaxAllocSize);

	return tree == NULL ? NULL : parse_tree(tree);
}

static void
add_from(Node *node, Bitmapset **entries)
{
	if (node == NULL)
		return;
	check_stack_depth();
	switch (nodeTag(node))
	{
		case T_RangeTblRef:
			*entries = bms_add_member(*entries, ((RangeTblRef *) node)->rtindex);
			break;
		case T_JoinExpr:
			add_from(((JoinExpr *) node)->larg, entries);
			add_from(((JoinExpr *) node)->rarg, entries);
			break;
		case T_FromExpr:
			{
				ListCell   *cell;

				foreach(cell, ((FromExpr *) node)->fromlist)
					add_from((Node *) lfirst(cell), entries);
				break;
			}
		case T_SetOperationStmt:
			add_from(((SetOperationStmt *) node)->larg, entries);
			add_from(((SetOperationStmt *) node)->rarg, entries);
			break;
		default:
			elog(ERROR, "unexpected node type in FROM: %d", (int) nodeTag(node));
	}
}

Bitmapset *
from_entries(Query *query)
{
	Bitmapset  *entries = NULL;

	add_from((Node *) query->jointree, &entries);
	add_from(query->setOperations, &entries);
	return entries;
}

Node *
entry_expression(RangeTblEntry *entry, AttrNumber column)
{
	List	   *expressions = entry->rtekind == RTE_JOIN ? entry->joinaliasvars : group_expressions(entry);

	return column > 0 && column <= list_length(expressions) ? list_nth(expressions, column - 1) : NULL;
}

CommonTableExpr *
with_query(const RangeTblEntry *entry, const Level *level, const Level **defined)
{
	ListCell   *cell;

	*defined = level_up(level, entry->ctelevelsup);
	foreach(cell, (*defined)->query->cteList)
	{
		CommonTableExpr *with = lfirst_node(CommonTableExpr, cell);

		if (strcmp(with->ctename, entry->ctename) == 0)
			return with;
	}
	elog(ERROR, "a view's query mentions a WITH query \"%s\" that it does not have", entry->ctename);
	return NULL;				/* keep compiler quiet */
}

Bitmapset *
item_entries(Node *item)
{
	Bitmapset  *entries = NULL;

	add_from(item, &entries);
	return entries;
}

static bool
is_read(const TargetEntry *target, const Bitmapset *columns)
{
	return target->resjunk || target->ressortgroupref != 0 ||
		bms_is_member(target->resno - FirstLowInvalidHeapAttributeNumber, columns) ||
		bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, columns);
}

void
leave_out_unread(Query *query, const Bitmapset *columns)
{
	ListCell   *cell;

	if (bms_is_empty(columns) || query->setOperations != NULL || query->hasTargetSRFs)
		return;
	foreach(cell, query->targetList)
	{
		TargetEntry *target = lfirst_node(TargetEntry, cell);

		if (!is_read(target, columns))
			target->expr = (Expr *) makeNullConst(exprType((Node *) target->expr), -1, InvalidOid);
	}
}

typedef struct Mentioned
{
	Query	   *query;
	int			depth;			/* query levels from it to the node */
	Bitmapset **columns;
} Mentioned;

/* Columns of joins and of GROUP BY are resolved to those that they refer to. */
static bool
add_mentioned(Node *node, void *context)
{
	Mentioned  *mentioned = context;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Mentioned	within = *mentioned;

		within.depth++;
		return query_tree_walker((Query *) node, add_mentioned, &within, QTW_IGNORE_JOINALIASES);
	}
	if (IsA(node, Var) && ((Var *) node)->varlevelsup == mentioned->depth)
	{
		const Var  *var = (const Var *) node;
		RangeTblEntry *entry = rt_fetch(var->varno, mentioned->query->rtable);
		Node	   *expression = entry_expression(entry, var->varattno);
		Mentioned	beside = *mentioned;

		beside.depth = 0;
		if (expression != NULL)
			return add_mentioned(expression, &beside);
		if (entry->rtekind == RTE_JOIN)
			return expression_tree_walker((Node *) entry->joinaliasvars, add_mentioned, &beside);
		mentioned->columns[var->varno] = bms_add_member(mentioned->columns[var->varno],
														var->varattno - FirstLowInvalidHeapAttributeNumber);
		return false;
	}
	return expression_tree_walker(node, add_mentioned, context);
}

Bitmapset **
columns_mentioned(Query *query)
{
	Mentioned	mentioned = {query, 0, palloc0((list_length(query->rtable) + 1) * sizeof(Bitmapset *))};

	(void) query_tree_walker(query, add_mentioned, &mentioned, QTW_IGNORE_JOINALIASES);
	return mentioned.columns;
}

/* Add the relations that a query reads in FROM, until there are two. */
static void
add_relations(Query *query, List **relations)
{
	Bitmapset  *entries = from_entries(query);
	ListCell   *cell;
	int			entry = -1;

	check_stack_depth();
	while ((entry = bms_next_member(entries, entry)) >= 0 && list_length(*relations) < 2)
	{
		RangeTblEntry *rte = rt_fetch(entry, query->rtable);

		if (rte->rtekind == RTE_RELATION)
			*relations = list_append_unique_oid(*relations, rte->relid);
		else if (rte->rtekind == RTE_SUBQUERY)
			add_relations(rte->subquery, relations);
	}
	foreach(cell, query->cteList)
		if (list_length(*relations) < 2)
			add_relations(castNode(Query, lfirst_node(CommonTableExpr, cell)->ctequery), relations);
}

Oid
view_source(Oid view)
{
	static Remembered sources[16];
	Remembered *known = &sources[view % lengthof(sources)];
	uint64		now = catalog_changes();
	char	   *tree;
	List	   *volatile relations = NIL;
	MemoryContext context = CurrentMemoryContext;

	if (known->of == view && known->as_of == now)
		return known->value;
	tree = stored_tree(view, LARGEST_STRANGER);
	if (tree == NULL)
		return InvalidOid;

	/*
	 * A tree that was stored when the stack was empty can be too deep to be read further down in a function.
	 * Reading it only allocates memory, so this error can be ignored without a subtransaction.
	 */
	PG_TRY();
	{
		List	   *found = NIL;

		add_relations(parse_tree(tree), &found);
		relations = found;
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_STATEMENT_TOO_COMPLEX)
			PG_RE_THROW();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		return InvalidOid;
	}
	PG_END_TRY();
	*known = (Remembered) {view, list_length(relations) == 1 ? linitial_oid(relations) : InvalidOid, now};
	return known->value;
}
