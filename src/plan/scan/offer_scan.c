/*
 * offer_scan.c
 *		Offers the planner a StepScan for functions in FROM: the planner half of step_scan.c.
 *
 * For
 *
 *		FROM rtmc(g.rollouts) a
 *		FROM ROWS FROM (rtmc(g.rollouts), grpo(g.rollouts)) a
 *
 * the planner can choose between a FunctionScan and a custom scan that leaves the functions' columns where
 * they are.  A function takes part if it is declared with SUPPORT row_support, which also makes the planner
 * load this library before it looks for paths.  WITH ORDINALITY and references to whole rows are left to
 * FunctionScan.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/scan/plan.h"
#include "plan/scan/step_scan.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_row_support);

static bool enable_step_scan = true;
static set_rel_pathlist_hook_type previous_hook = NULL;

/* Planner support function of the functions that use return_rows.  It answers no request: it marks the functions. */
Datum
stepadv_row_support(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(NULL);
}

static Plan *plan_step_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
							List *tlist, List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = "StepScan",
	.PlanCustomPath = plan_step_scan,
};

const CustomScanMethods step_scan_methods = {
	.CustomName = "StepScan",
	.CreateCustomScanState = create_step_scan_state,
};

static bool
returns_columns(const RangeTblFunction *function)
{
	const FuncExpr *call = (const FuncExpr *) function->funcexpr;
	Oid			support;
	FmgrInfo	info;

	if (!IsA(call, FuncExpr) || !call->funcretset ||
		function->funccolcount > MAX_ROW_COLUMNS || call->args == NIL ||
		get_typlen(exprType(linitial(call->args))) != -1)
		return false;
	support = get_func_support(call->funcid);
	if (!OidIsValid(support))
		return false;
	fmgr_info(support, &info);
	return info.fn_addr == stepadv_row_support;
}

/*
 * A reference to a whole row needs a row type, which only FunctionScan has.  Such a reference can be above the
 * scan, in its own conditions, or in those of a join.
 */
static bool
needs_whole_row(RelOptInfo *rel, Index rti)
{
	Bitmapset  *attributes = NULL;

	pull_varattnos((Node *) rel->reltarget->exprs, rti, &attributes);
	pull_varattnos((Node *) extract_actual_clauses(rel->baserestrictinfo, false), rti, &attributes);
	pull_varattnos((Node *) extract_actual_clauses(rel->joininfo, false), rti, &attributes);
	return bms_is_member(0 - FirstLowInvalidHeapAttributeNumber, attributes);
}

static List *
column_counts_of(const RangeTblEntry *rte)
{
	List	   *counts = NIL;
	ListCell   *lc;

	foreach(lc, rte->functions)
		counts = lappend_int(counts, lfirst_node(RangeTblFunction, lc)->funccolcount);
	return counts;
}

List *
calls_of(const RangeTblEntry *rte)
{
	List	   *calls = NIL;
	ListCell   *lc;

	foreach(lc, rte->functions)
		calls = lappend(calls, lfirst_node(RangeTblFunction, lc)->funcexpr);
	return calls;
}

bool
can_scan_steps(PlannerInfo *root, RelOptInfo *rel)
{
	const RangeTblEntry *rte;
	ListCell   *lc;

	if (!enable_step_scan || rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_FUNCTION)
		return false;
	rte = planner_rt_fetch(rel->relid, root);
	if (rte->funcordinality)
		return false;
	foreach(lc, rte->functions)
		if (!returns_columns(lfirst_node(RangeTblFunction, lc)))
			return false;
	return !needs_whole_row(rel, rel->relid);
}

/* Costs as in cost_functionscan, but half as much per row. */
static void
cost_step_scan(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte, Path *path)
{
	QualCost	calls;

	cost_qual_eval_node(&calls, (Node *) calls_of(rte), root);
	path->rows = path->param_info ? path->param_info->ppi_rows : rel->rows;
	path->startup_cost = calls.startup + calls.per_tuple +
		rel->baserestrictcost.startup + path->pathtarget->cost.startup;
	path->total_cost = path->startup_cost +
		(cpu_tuple_cost / 2 + rel->baserestrictcost.per_tuple) * rel->tuples +
		path->pathtarget->cost.per_tuple * path->rows;
}

static void
offer_step_scan(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	CustomPath *path;

	if (previous_hook)
		previous_hook(root, rel, rti, rte);
	if (!can_scan_steps(root, rel))
		return;

	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.param_info = get_baserel_parampathinfo(root, rel, rel->lateral_relids);
	path->path.parallel_safe = rel->consider_parallel;
	path->flags = CUSTOM_PATH_FLAGS;
	path->methods = &path_methods;
	cost_step_scan(root, rel, rte, &path->path);
	add_path(rel, &path->path);
}

/* The function that a column belongs to, and its number there. */
static List *
origin_in_functions(const RangeTblEntry *rte, const Var *var)
{
	int			column = var->varattno - 1;
	int			function = 0;

	for (;; function++)
	{
		int			n_columns = list_nth_node(RangeTblFunction, rte->functions, function)->funccolcount;

		if (column < n_columns)
			return list_make2_int(function, column);
		column -= n_columns;
	}
}

static List *
origin_in_outer_row(const Plan *outer, Node *expr)
{
	const TargetEntry *entry = tlist_member((Expr *) expr, outer->targetlist);

	if (entry == NULL)
		elog(ERROR, "a column that a StepScan needs is not in the rows below it");
	return list_make2_int(OF_OUTER_ROW, entry->resno - 1);
}

/*
 * The calls are in custom_exprs, where the planner replaces references by parameters or by columns of the
 * outer row.  There is no relation for the executor to open, so custom_scan_tlist describes the rows.  It has
 * only the columns that are used, in the order of the target list, so that usually no projection is needed.
 */
CustomScan *
make_step_scan(PlannerInfo *root, Index functions, const CustomPath *path, List *tlist, List *clauses, Plan *outer)
{
	CustomScan *scan = makeNode(CustomScan);
	const RangeTblEntry *rte = planner_rt_fetch(functions, root);
	List	   *calls = calls_of(rte);
	/* The target list may be empty now and be set later, from the columns of reltarget. */
	List	   *exprs = list_make4(tlist, path->path.parent->reltarget->exprs, clauses, outer ? calls : NIL);
	List	   *asked = NIL;
	List	   *origins = NIL;
	ListCell   *lc;

	foreach(lc, pull_var_clause((Node *) exprs, outer ? PVC_INCLUDE_PLACEHOLDERS : PVC_RECURSE_PLACEHOLDERS))
	{
		Node	   *expr = lfirst(lc);
		bool		of_functions = IsA(expr, Var) && ((Var *) expr)->varno == functions;

		if ((!of_functions && outer == NULL) || tlist_member((Expr *) expr, asked) != NULL)
			continue;
		asked = lappend(asked, makeTargetEntry((Expr *) copyObject(expr), list_length(asked) + 1, NULL, false));
		origins = list_concat(origins, of_functions ? origin_in_functions(rte, (Var *) expr) : origin_in_outer_row(outer, expr));
	}

	scan->scan.scanrelid = 0;
	scan->scan.plan.targetlist = tlist;
	scan->scan.plan.qual = clauses;
	/* The outer plan, not in custom_plans, so that the executor passes changed parameters to it. */
	outerPlan(scan) = outer;
	scan->flags = path->flags;
	scan->methods = &step_scan_methods;
	scan->custom_exprs = calls;
	scan->custom_private = list_make2(column_counts_of(rte), origins);
	scan->custom_scan_tlist = asked;
	return scan;
}

static Plan *
plan_step_scan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
			   List *tlist, List *clauses, List *custom_plans)
{
	return &make_step_scan(root, rel->relid, path, tlist, extract_actual_clauses(clauses, false), NULL)->scan.plan;
}

void
install_step_scan(void)
{
	DefineCustomBoolVariable("stepadv.enable_step_scan",
							 "Enables the planner's use of scans that read the columns of stepadv's functions in place.",
							 NULL, &enable_step_scan, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	RegisterCustomScanMethods(&step_scan_methods);
	previous_hook = set_rel_pathlist_hook;
	set_rel_pathlist_hook = offer_step_scan;
}
