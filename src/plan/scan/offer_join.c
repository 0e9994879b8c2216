/*
 * offer_join.c
 *		Offers the planner a StepScan that reads its groups itself.
 *
 * For a join of groups with the functions that take them,
 *
 *		FROM (SELECT task, rollout_agg(…) AS rollouts FROM steps GROUP BY task) g, rtmc(g.rollouts) a
 *
 * the planner can choose between a Nested Loop over a StepScan and a StepScan with the groups as its outer
 * plan, which does not pass each step through the join.  Outer joins, and groups that take a parameter from
 * a third table, are left to the Nested Loop.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"

#include "compat.h"
#include "plan/scan/plan.h"
#include "plan/scan/step_scan.h"

static set_join_pathlist_hook_type previous_hook = NULL;

static Plan *plan_step_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
							List *tlist, List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = "StepScan",
	.PlanCustomPath = plan_step_join,
};

/* What makes up such a path. */
typedef struct StepJoin
{
	RelOptInfo *rel;
	RelOptInfo *outer;
	RelOptInfo *functions;
	List	   *clauses;		/* of the join and of the functions' rows */
	QualCost	clauses_cost;
	QualCost	calls_cost;
} StepJoin;

/* Expressions that are computed below the join must be columns of its input; otherwise this node is not offered. */
static bool
outer_rows_have(const StepJoin *join, List *exprs)
{
	ListCell   *lc;

	foreach(lc, pull_var_clause((Node *) exprs, PVC_INCLUDE_PLACEHOLDERS))
	{
		Node	   *expr = lfirst(lc);

		if (IsA(expr, Var) && ((Var *) expr)->varno == join->functions->relid)
			continue;
		if (!list_member(join->outer->reltarget->exprs, expr))
			return false;
	}
	return true;
}

static bool
has_pseudoconstant(const List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
		if (lfirst_node(RestrictInfo, lc)->pseudoconstant)
			return true;
	return false;
}

static bool
can_join(PlannerInfo *root, StepJoin *join, JoinType jointype, List *restrictlist)
{
	List	   *calls;
	List	   *clauses;

	if (jointype != JOIN_INNER || root->qual_security_level > 0 ||
		!bms_is_empty(join->rel->lateral_relids) || bms_is_empty(join->functions->lateral_relids) ||
		!bms_is_subset(join->functions->lateral_relids, join->outer->relids) ||
		!can_scan_steps(root, join->functions))
		return false;
	clauses = list_concat_copy(join->functions->baserestrictinfo, restrictlist);
	if (has_pseudoconstant(clauses))
		return false;
	calls = calls_of(planner_rt_fetch(join->functions->relid, root));
	join->clauses = extract_actual_clauses(clauses, false);
	cost_qual_eval(&join->clauses_cost, clauses, root);
	cost_qual_eval_node(&join->calls_cost, (Node *) calls, root);
	return outer_rows_have(join, list_make3(join->rel->reltarget->exprs, join->clauses, calls));
}

/* A partial path of a subquery may be counted as all its rows; the subquery's own path has a better estimate. */
static double
count_outer_rows(const Path *outer)
{
	const RelOptInfo *rel = outer->parent;

	if (!part_counts_as_all(outer) || rel->tuples <= 0)
		return outer->rows;
	return clamp_row_est(((const SubqueryScanPath *) outer)->subpath->rows * rel->rows / rel->tuples);
}

/* Costs as in cost_step_scan, once per outer row.  A row of the join costs no more than a row of a function. */
static void
cost_step_join(const StepJoin *join, const Path *outer, Path *path)
{
	double		n_outer = count_outer_rows(outer);
	double		n_steps = n_outer * join->functions->tuples;

	path->rows = clamp_row_est(join->rel->rows * n_outer / join->outer->rows);
	copy_disabled_nodes(path, outer);
	path->startup_cost = outer->startup_cost + join->calls_cost.startup + join->calls_cost.per_tuple +
		join->clauses_cost.startup + path->pathtarget->cost.startup;
	path->total_cost = path->startup_cost + outer->total_cost - outer->startup_cost +
		join->calls_cost.per_tuple * n_outer +
		(cpu_tuple_cost / 2 + join->clauses_cost.per_tuple) * n_steps + path->pathtarget->cost.per_tuple * path->rows;
}

/*
 * Below a plan node other than a join, a plan returns only the columns that are needed.  For a subquery that
 * would add a node that only drops columns, so request all its columns.
 */
static Path *
whole_subquery(PlannerInfo *root, Path *path)
{
	PathTarget *target = create_empty_pathtarget();
	ListCell   *lc;

	if (path->pathtype != T_SubqueryScan || !IS_SIMPLE_REL(path->parent))
		return path;
	foreach(lc, build_physical_tlist(root, path->parent))
		add_column_to_pathtarget(target, lfirst_node(TargetEntry, lc)->expr, 0);
	if (list_difference(path->pathtarget->exprs, target->exprs) != NIL)
		return path;
	return (Path *) create_projection_path(root, path->parent, path, set_pathtarget_cost_width(root, target));
}

static Path *
make_step_join(PlannerInfo *root, const StepJoin *join, Path *outer)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = join->rel;
	path->path.pathtarget = join->rel->reltarget;
	path->path.parallel_safe = join->rel->consider_parallel && outer->parallel_safe;
	path->path.parallel_workers = outer->parallel_workers;
	path->path.pathkeys = build_join_pathkeys(root, join->rel, JOIN_INNER, outer->pathkeys);
	path->flags = CUSTOM_PATH_FLAGS;
	path->methods = &path_methods;
	path->custom_paths = list_make1(whole_subquery(root, outer));
	path->custom_private = list_make2(makeInteger((int) join->functions->relid), join->clauses);
	cost_step_join(join, outer, &path->path);
	return &path->path;
}

static void
offer_step_join(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outer, RelOptInfo *inner,
				JoinType jointype, JoinPathExtraData *extra)
{
	StepJoin	join = {.rel = rel, .outer = outer, .functions = inner};
	ListCell   *lc;

	if (previous_hook)
		previous_hook(root, rel, outer, inner, jointype, extra);
	/* From version 19 on, the join may be one of aggregates computed below it. */
	if (contain_agg_clause((Node *) rel->reltarget->exprs) || !can_join(root, &join, jointype, extra->restrictlist))
		return;
	foreach(lc, outer->pathlist)
		if (((Path *) lfirst(lc))->param_info == NULL)
			add_path(rel, make_step_join(root, &join, lfirst(lc)));
	if (!rel->consider_parallel)
		return;
	foreach(lc, outer->partial_pathlist)
		add_partial_path(rel, make_step_join(root, &join, lfirst(lc)));
}

static Plan *
plan_step_join(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
			   List *tlist, List *clauses, List *custom_plans)
{
	Assert(clauses == NIL);
	return &make_step_scan(root, (Index) intVal(linitial(path->custom_private)), path, tlist,
						   (List *) copyObject(lsecond(path->custom_private)), linitial(custom_plans))->scan.plan;
}

void
install_step_scan_join(void)
{
	previous_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = offer_step_join;
}
