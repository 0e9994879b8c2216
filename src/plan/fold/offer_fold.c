/*
 * offer_fold.c
 *		Offers the planner a GroupFold: the planner half of group_fold.c.
 *
 * For a query whose only aggregate is one rollout_agg, with GROUP BY:
 *
 *		SELECT task, rollout_agg(…) FROM steps GROUP BY task
 *
 * and for each partition in partitionwise aggregation.  Left to PostgreSQL's Agg: grouping sets, HAVING,
 * DISTINCT and ORDER BY in the aggregate, a FILTER with arguments that must be computed, other aggregates,
 * partial aggregation, and keys that cannot be both hashed and sorted.
 */
#include "postgres.h"

#include <limits.h>

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/syscache.h"

#include "aggregate.h"
#include "compat.h"
#include "plan/fold/cost.h"
#include "plan/fold/foreign.h"
#include "plan/fold/group_fold.h"
#include "plan/fold/input.h"

PG_FUNCTION_INFO_V1(stepadv_fold_support);

static bool enable_group_fold = true;
static create_upper_paths_hook_type previous_hook = NULL;

/*
 * Planner support function of rollout_agg's transition functions.  It answers no request, but the planner's
 * request for their cost, before it makes paths, loads this library.
 */
Datum
stepadv_fold_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(NULL);
}

static Plan *plan_group_fold(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
							 List *tlist, List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = "GroupFold",
	.PlanCustomPath = plan_group_fold,
};

static const CustomScanMethods scan_methods = {
	.CustomName = "GroupFold",
	.CreateCustomScanState = create_group_fold_state,
};

/* Is it our library's function of this name? */
static bool
is_own_function(Oid function, const char *name, PGFunction address)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool		has_name = false;
	FmgrInfo	info;

	if (!HeapTupleIsValid(tuple))
		return false;

	/* Compare the name first: looking up the address loads the function's library. */
	if (((Form_pg_proc) GETSTRUCT(tuple))->prolang == ClanguageId)
	{
		bool		isnull;
		Datum		source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);

		has_name = !isnull && strcmp(TextDatumGetCString(source), name) == 0;
	}
	ReleaseSysCache(tuple);
	if (!has_name)
		return false;
	fmgr_info(function, &info);
	return info.fn_addr == address;
}

static bool
is_rollout_agg(Oid aggregate, bool *lenient)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;
	bool		is_ours;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	*lenient = is_own_function(form->aggtransfn, "stepadv_lenient_rollout_agg_trans", stepadv_lenient_rollout_agg_trans);
	is_ours = (*lenient || is_own_function(form->aggtransfn, "stepadv_rollout_agg_trans", stepadv_rollout_agg_trans)) &&
		is_own_function(form->aggfinalfn, "stepadv_rollout_agg_final", stepadv_rollout_agg_final);
	ReleaseSysCache(tuple);
	return is_ours;
}

/*
 * Does an expression contain anything besides the keys and one aggregate?  The first aggregate found becomes
 * fold->aggref.
 */
static bool
needs_more(Node *node, Fold *fold)
{
	if (node == NULL || list_member(fold->keys, node))
		return false;
	if (IsA(node, Aggref))
	{
		if (fold->aggref == NULL)
			fold->aggref = (Aggref *) node;
		return !equal(fold->aggref, node);
	}
	if (IsA(node, Var) || IsA(node, GroupingFunc))
		return true;
	return expression_tree_walker(node, needs_more, fold);
}

/* A column, a constant, or a leakproof cast of one, which accepts every value, as from int to bigint. */
static bool
cannot_fail(const Node *node)
{
	while (IsA(node, FuncExpr) && list_length(((const FuncExpr *) node)->args) == 1 &&
		   get_func_leakproof(((const FuncExpr *) node)->funcid))
		node = linitial(((const FuncExpr *) node)->args);
	return IsA(node, Var) || IsA(node, Const) ||
		(IsA(node, Param) && ((const Param *) node)->paramkind == PARAM_EXTERN);
}

/*
 * The plan below computes arguments of all rows, while an Agg computes them only for rows that pass the
 * FILTER.  So an argument that can fail or has side effects would behave differently.
 */
static bool
filter_guards_arguments(const Aggref *aggref)
{
	ListCell   *lc;

	if (aggref->aggfilter == NULL)
		return false;
	foreach(lc, aggref->args)
		if (!cannot_fail((const Node *) lfirst_node(TargetEntry, lc)->expr))
			return true;
	return false;
}

static bool
can_fold(PlannerInfo *root, const PathTarget *target, Fold *fold)
{
	ListCell   *lc;

	fold->clauses = root->parse->groupClause;
	foreach(lc, fold->clauses)
	{
		Index		ref = lfirst_node(SortGroupClause, lc)->tleSortGroupRef;
		ListCell   *expr;
		int			i = 0;

		foreach(expr, target->exprs)
			if (get_pathtarget_sortgroupref(target, i++) == ref)
				break;
		if (expr == NULL)
			return false;
		fold->keys = lappend(fold->keys, lfirst(expr));
	}
	foreach(lc, target->exprs)
		if (needs_more(lfirst(lc), fold))
			return false;
	return fold->aggref != NULL && fold->aggref->agglevelsup == 0 &&
		fold->aggref->aggsplit == AGGSPLIT_SIMPLE &&
		fold->aggref->aggdistinct == NIL && fold->aggref->aggorder == NIL &&
		!filter_guards_arguments(fold->aggref) &&
		is_rollout_agg(fold->aggref->aggfnoid, &fold->lenient);
}

/* Without the sortgrouprefs of GROUP BY, a sort would not find a volatile key. */
static void
collect_inputs(PlannerInfo *root, Fold *fold)
{
	ListCell   *lc;
	ListCell   *clause = list_head(fold->clauses);

	fold->inputs = list_copy(fold->keys);
	foreach(lc, fold->aggref->args)
		fold->inputs = lappend(fold->inputs, lfirst_node(TargetEntry, lc)->expr);
	fold->n_args = list_length(fold->aggref->args);
	if (fold->aggref->aggfilter != NULL)
		fold->inputs = lappend(fold->inputs, fold->aggref->aggfilter);
	fold->alone = create_empty_pathtarget();
	foreach(lc, fold->inputs)
	{
		add_column_to_pathtarget(fold->alone, lfirst(lc), clause ? lfirst_node(SortGroupClause, clause)->tleSortGroupRef : 0);
		clause = clause ? lnext(fold->clauses, clause) : NULL;
	}
	set_pathtarget_cost_width(root, fold->alone);
}

/* The expression below casts that do not change the stored value. */
static Expr *
uncast(Expr *expr)
{
	while (IsA(expr, RelabelType))
		expr = ((RelabelType *) expr)->arg;
	return expr;
}

/* The column whose text is hashed, if input.h can hash it without making the text; otherwise NULL. */
static Expr *
hashed_as_text(Expr *text, ReadAs *read_as)
{
	Expr	   *value = IsA(text, CoerceViaIO) ? uncast(((CoerceViaIO *) text)->arg) : text;
	const FuncExpr *call = (const FuncExpr *) value;

	*read_as = READ_BYTES_HASH;
	if (value == text)
		return text;
	*read_as = READ_ENUM_HASH;
	if (IsA(value, Var) && type_is_enum(getBaseType(exprType((Node *) value))))
		return value;
	*read_as = READ_NUMERIC_HASH;
	return IsA(call, FuncExpr) && call->funcid == F_TRIM_SCALE ? uncast(linitial(call->args)) : NULL;
}

/* Can input.h derive an input from a column?  For a NULL, the column is NULL.  False: it must be computed. */
static bool
can_read(Expr *input, Expr **column, ReadAs *read_as)
{
	const FuncExpr *call;

	*column = NULL;
	*read_as = READ_NULL;
	if (IsA(input, Const) && ((Const *) input)->constisnull)
		return true;
	*read_as = READ_COLUMN;
	*column = uncast(input);
	if (!IsA(*column, FuncExpr))
		return IsA(*column, Var);
	call = (const FuncExpr *) *column;
	if (list_length(call->args) != 1 || sizeof(Datum) < sizeof(int64))
		return false;
	*column = uncast(linitial(call->args));
	if (GetDatabaseEncoding() == PG_UTF8 &&
		is_own_function(call->funcid, "stepadv_signature_hash_text", stepadv_signature_hash_text))
		*column = hashed_as_text(*column, read_as);
	if (*column == NULL || !IsA(*column, Var))
		return false;
	if (*read_as != READ_COLUMN)
		return true;
	if (call->funcid == F_INT8_INT4)
		*read_as = READ_INTEGER;
	else if (call->funcid == F_INT8_INT2 || call->funcid == F_INT4_INT2)
		*read_as = READ_SMALLINT;
	else if (is_own_function(call->funcid, "stepadv_signature_hash_uuid", stepadv_signature_hash_uuid))
		*read_as = READ_UUID_HASH;
	else if (is_own_function(call->funcid, "stepadv_signature_hash_bytea", stepadv_signature_hash_bytea))
		*read_as = READ_BYTES_HASH;
	else
		return false;
	return true;
}

/* Is the step's identity hashed from the rollout and the step number, as attach defines it without a step id? */
static bool
is_step_hash(const Fold *fold, const Expr *input)
{
	const FuncExpr *call = (const FuncExpr *) input;
	int			n_keys = list_length(fold->keys);
	Expr	   *number;
	Expr	   *column;
	Expr	   *same_column;
	ReadAs		read_as;

	if (!IsA(input, FuncExpr) || fold->n_args <= ROW_STEP_NO || input != list_nth(fold->inputs, n_keys + ROW_STEP_ID) ||
		!is_own_function(call->funcid, "stepadv_signature_hash_pair", stepadv_signature_hash_pair) ||
		!equal(linitial(call->args), list_nth(fold->inputs, n_keys + ROW_ROLLOUT_ID)))
		return false;
	/* Compare columns: the number may be cast to the argument's type. */
	number = list_nth(fold->inputs, n_keys + ROW_STEP_NO);
	return can_read(lsecond(call->args), &same_column, &read_as) && can_read(number, &column, &read_as) &&
		equal(column, same_column);
}

/* Position, from 1, of the expression from which an input is read; 0: not found. */
static int
place_among(const List *given, Expr *input, ReadAs *read_as)
{
	Expr	   *column = NULL;
	bool		readable = can_read(input, &column, read_as);
	int			position = 0;
	ListCell   *lc;

	if (readable && column == NULL)
		return 1;
	foreach(lc, given)
	{
		position++;
		if (equal(lfirst(lc), input))
		{
			*read_as = READ_COLUMN;
			return position;
		}
		if (readable && equal(lfirst(lc), column))
			return position;
	}
	return 0;
}

/* How to read the inputs from a path's rows: column numbers and ways. */
typedef struct Places
{
	List	   *positions;
	List	   *reads;
} Places;

static bool
find_inputs(const List *given, const Fold *fold, Places *places)
{
	ListCell   *lc;

	places->positions = places->reads = NIL;
	foreach(lc, fold->inputs)
	{
		ReadAs		read_as;
		int			position = place_among(given, lfirst(lc), &read_as);

		if (position == 0 && is_step_hash(fold, lfirst(lc)))
		{
			read_as = READ_STEP_HASH;
			position = 1;
		}
		/* Keys must be read unchanged. */
		if (position == 0 || (foreach_current_index(lc) < list_length(fold->keys) && read_as != READ_COLUMN))
			return false;
		places->positions = lappend_int(places->positions, position);
		places->reads = lappend_int(places->reads, read_as);
	}
	return true;
}

/*
 * If a table is scanned and all inputs are its columns, or derived from them in a known way, read them from
 * rows as stored, without a projection.  The target is then the whole stored row, or the columns of the inputs
 * if columns were dropped or added later.  NULL: not possible.
 */
static PathTarget *
stored_row(PlannerInfo *root, Path *path, const Fold *fold, Places *places)
{
	RelOptInfo *rel = path->parent;
	PathTarget *target = create_empty_pathtarget();
	List	   *row;
	ListCell   *lc;

	if (!IS_SIMPLE_REL(rel) || rel->rtekind != RTE_RELATION ||
		(path->pathtype != T_SeqScan && path->pathtype != T_IndexScan && path->pathtype != T_BitmapHeapScan))
		return NULL;
	row = build_physical_tlist(root, rel);
	foreach(lc, row)
		add_column_to_pathtarget(target, lfirst_node(TargetEntry, lc)->expr, 0);
	if (row == NIL)
		add_new_columns_to_pathtarget(target, pull_var_clause((Node *) fold->inputs, PVC_RECURSE_PLACEHOLDERS));
	if (!find_inputs(target->exprs, fold, places))
		return NULL;
	return set_pathtarget_cost_width(root, target);
}

/*
 * A path that returns the inputs with as little work as possible: rows as stored, or rows as they come, or
 * exactly the inputs.  A sort needs the last.
 */
static Path *
path_of_inputs(PlannerInfo *root, Path *path, const Fold *fold, bool for_sort, Places *places)
{
	Path	   *scan = IsA(path, ProjectionPath) ? ((ProjectionPath *) path)->subpath : path;
	PathTarget *target;

	if (!for_sort)
	{
		target = stored_row(root, scan, fold, places);
		if (target != NULL)
			return (Path *) create_projection_path(root, scan->parent, scan, target);
		/* An Append computes nothing. */
		if (IsA(scan, AppendPath) && find_inputs(scan->pathtarget->exprs, fold, places))
			return scan;
		if ((!IS_SIMPLE_REL(scan->parent) || scan->parent->rtekind != RTE_RELATION) &&
			find_inputs(path->pathtarget->exprs, fold, places))
			return path;
	}
	places->positions = places->reads = NIL;
	for (int i = 1; i <= list_length(fold->inputs); i++)
	{
		places->positions = lappend_int(places->positions, i);
		places->reads = lappend_int(places->reads, READ_COLUMN);
	}
	return (Path *) create_projection_path(root, scan->parent, scan, fold->alone);
}

/* shared: for the processes that share the rows of the input, a partial path. */
static CustomPath *
make_fold(PlannerInfo *root, RelOptInfo *rel, const Fold *fold, Path *input, AggStrategy strategy, bool shared,
		  const Places *places)
{
	CustomPath *path = makeNode(CustomPath);
	List	   *lists[N_FOLD_LISTS] = {NIL};
	List	   *tlist = NIL;
	ListCell   *key;
	ListCell   *clause;

	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.parallel_aware = shared;
	path->path.parallel_safe = rel->consider_parallel && input->parallel_safe;
	path->path.parallel_workers = input->parallel_workers;
	path->path.pathkeys = strategy == AGG_SORTED ? root->group_pathkeys : NIL;
	path->flags = CUSTOM_PATH_FLAGS;
	path->methods = &path_methods;
	path->custom_paths = list_make1(input);
	cost_group_fold(root, &path->path, input, fold, strategy);

	forboth(key, fold->keys, clause, fold->clauses)
	{
		const SortGroupClause *c = lfirst_node(SortGroupClause, clause);

		lists[FOLD_EQUAL] = lappend_oid(lists[FOLD_EQUAL], c->eqop);
		lists[FOLD_LESS] = lappend_oid(lists[FOLD_LESS], c->sortop);
		lists[FOLD_COLLATIONS] = lappend_oid(lists[FOLD_COLLATIONS], exprCollation(lfirst(key)));
		lists[FOLD_NULLS_FIRST] = lappend_int(lists[FOLD_NULLS_FIRST], c->nulls_first);
		tlist = lappend(tlist, makeTargetEntry(lfirst(key), list_length(tlist) + 1, NULL, false));
	}
	tlist = lappend(tlist, makeTargetEntry((Expr *) fold->aggref, list_length(tlist) + 1, NULL, false));
	lists[FOLD_INPUTS] = places->positions;
	lists[FOLD_READS] = places->reads;
	lists[FOLD_COUNTS] = list_make4_int(fold->n_args, strategy == AGG_SORTED, (int) Min(fold->n_groups, (double) INT_MAX),
										fold->lenient);

	path->custom_private = list_make1(tlist);
	for (int l = 0; l < N_FOLD_LISTS; l++)
		path->custom_private = lappend(path->custom_private, lists[l]);
	return path;
}

static void
offer_folds(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *rel, const Fold *fold)
{
	ListCell   *lc;
	Places		places;
	Path	   *input;

	foreach(lc, input_rel->pathlist)
	{
		Path	   *path = lfirst(lc);
		bool		sorted = pathkeys_contained_in(root->group_pathkeys, path->pathkeys);

		if (path->param_info != NULL || (!sorted && path != input_rel->cheapest_total_path))
			continue;
		input = path_of_inputs(root, path, fold, !sorted, &places);
		if (!sorted)
			input = (Path *) create_sort_path(root, input->parent, input, root->group_pathkeys, -1.0);
		add_path(rel, &make_fold(root, rel, fold, input, AGG_SORTED, false, &places)->path);
	}
	if (enable_hashagg)
	{
		input = path_of_inputs(root, input_rel->cheapest_total_path, fold, false, &places);
		add_path(rel, &make_fold(root, rel, fold, input, AGG_HASHED, false, &places)->path);
	}
}

/*
 * Like add_partial_path for a path without order, but does not free the paths that it replaces: a Gather may
 * already refer to them.  Returns true if the path is now the cheapest.
 */
static bool
add_shared_path(RelOptInfo *rel, Path *path)
{
	List	   *kept = list_make1(path);
	ListCell   *lc;

	foreach(lc, rel->partial_pathlist)
	{
		Path	   *other = lfirst(lc);

		if (other->total_cost <= path->total_cost || (other->pathkeys != NIL && other->total_cost <= path->total_cost * 1.01))
			return false;
		if (other->pathkeys != NIL)
			kept = lappend(kept, other);
	}
	rel->partial_pathlist = kept;
	return true;
}

/*
 * Every process returns whole groups, so the plan above can run in all of them too.  The groups of a top-level
 * query are gathered here; those of a subquery as late as possible, by the query above it.
 */
static void
offer_shared_fold(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *rel, const Fold *fold)
{
	Places		places;
	Path	   *input;

	if (!enable_hashagg || !rel->consider_parallel || input_rel->partial_pathlist == NIL)
		return;
	input = path_of_inputs(root, linitial(input_rel->partial_pathlist), fold, false, &places);
	if (add_shared_path(rel, &make_fold(root, rel, fold, input, AGG_HASHED, true, &places)->path) &&
		rel->reloptkind == RELOPT_UPPER_REL)
		generate_gather_paths(root, rel, true);
}

/* Fold a partition locally, where others are folded by foreign servers (foreign.c). */
static void
fold_partition(PlannerInfo *root, RelOptInfo *partition, RelOptInfo *grouped)
{
	Fold		fold = {0};

	if (!can_fold(root, grouped->reltarget, &fold))
		return;
	collect_inputs(root, &fold);
	fold.n_groups = estimate_num_groups(root, fold.keys, partition->rows, NULL, NULL);
	estimate_scatter(root, &fold);
	offer_folds(root, partition, grouped, &fold);
}

/* The planner has statistics for the branches of a UNION ALL, but not for its result. */
static double
count_groups(PlannerInfo *root, const RelOptInfo *input, const Fold *fold, double guessed)
{
	double		n = 0;
	ListCell   *lc;

	foreach(lc, root->append_rel_list)
	{
		AppendRelInfo *child = lfirst(lc);

		if (input->rtekind == RTE_SUBQUERY && child->parent_relid == input->relid)
			n += estimate_num_groups(root, (List *) adjust_appendrel_attrs(root, (Node *) fold->keys, 1, &child),
									 find_base_rel(root, child->child_relid)->rows, NULL, NULL);
	}
	return n > 0 ? Min(n, guessed) : guessed;
}

static void
offer_group_fold(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel, RelOptInfo *rel, void *extra)
{
	const Query *parse = root->parse;
	Fold		fold = {0};

	if (previous_hook)
		previous_hook(root, stage, input_rel, rel, extra);
	if (!enable_group_fold || stage != UPPERREL_GROUP_AGG || extra == NULL || rel->pathlist == NIL ||
		parse->groupClause == NIL || parse->groupingSets != NIL || parse->hasTargetSRFs ||
		((GroupPathExtraData *) extra)->havingQual != NULL ||
		!grouping_is_hashable(parse->groupClause) || !grouping_is_sortable(parse->groupClause))
		return;
	if (!can_fold(root, rel->reltarget, &fold))
		return;
	collect_inputs(root, &fold);
	fold.n_groups = count_groups(root, input_rel, &fold, ((Path *) linitial(rel->pathlist))->rows);
	estimate_scatter(root, &fold);
	charge_revisits(root, rel, &fold);
	offer_folds(root, input_rel, rel, &fold);
	offer_shared_fold(root, input_rel, rel, &fold);
	offer_foreign_folds(root, input_rel, rel, &fold, extra, fold_partition);
}

static Plan *
plan_group_fold(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
				List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *fold = makeNode(CustomScan);

	Assert(clauses == NIL);
	fold->scan.scanrelid = 0;
	fold->scan.plan.targetlist = tlist;
	/* The outer plan, not in custom_plans, so that the executor passes changed parameters to it. */
	outerPlan(fold) = linitial(custom_plans);
	fold->flags = path->flags;
	fold->methods = &scan_methods;
	fold->custom_scan_tlist = copyObject(linitial(path->custom_private));
	fold->custom_private = list_delete_first(list_copy(path->custom_private));
	return &fold->scan.plan;
}

void
install_group_fold(void)
{
	DefineCustomBoolVariable("stepadv.enable_group_fold",
							 "Enables the planner's use of a node of its own for rollout_agg by groups.",
							 NULL, &enable_group_fold, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&scan_methods);
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = offer_group_fold;
}
