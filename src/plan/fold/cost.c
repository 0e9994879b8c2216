#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/prep.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "compat.h"
#include "plan/fold/cost.h"
#include "plan/fold/parts.h"

/* Cost of writing a row to a part and reading it, in operators; and the size that stays in a processor's cache. */
#define SCATTERED_OPERATIONS	4
#define MIN_SCATTERED_BYTES		(1024 * 1024)

/* Cost, in operators, of returning to a page that is in memory but not in the processor's cache. */
#define REVISIT_OPERATIONS		40

/*
 * How closely rows of a group are stored together: the square of the correlation between key order and row
 * order, for the key with the lowest one; 0 if there are no statistics.
 */
static double
togetherness(PlannerInfo *root, const Fold *fold)
{
	double		least = 1;
	ListCell   *lc;

	foreach(lc, fold->keys)
	{
		VariableStatData variable;
		AttStatsSlot slot;
		double		correlation = 0;

		examine_variable(root, lfirst(lc), 0, &variable);
		if (HeapTupleIsValid(variable.statsTuple) &&
			get_attstatsslot(&slot, variable.statsTuple, STATISTIC_KIND_CORRELATION, InvalidOid, ATTSTATSSLOT_NUMBERS))
		{
			if (slot.nnumbers == 1)
				correlation = slot.numbers[0];
			free_attstatsslot(&slot);
		}
		ReleaseVariableStats(variable);
		least = Min(least, correlation * correlation);
	}
	return least;
}

void
estimate_scatter(PlannerInfo *root, Fold *fold)
{
	fold->scattered = 1 - togetherness(root, fold);
}

/*
 * The cost of scattered rows: every row is written to a part and read again, in memory or, beyond its limit,
 * on disk; there once more for each time that a part's groups must be divided to fit into memory.  Processes
 * that share the rows exchange all scattered rows.  If groups are stored together, they exchange only the few
 * groups that span two processes' blocks.
 *
 * Groups that are stored together are spilled as values when the table is full, written and read once.
 */
static Cost
cost_parts(const Path *path, const Path *input, const Fold *fold, Size transition_space)
{
	double		bytes = input->rows * fold->alone->width;
	double		table_size = Max(bytes / 2, fold->n_groups * transition_space);
	bool		fits = table_size <= hash_memory_limit();
	int			n_times = fits ? 1 : times_divided(bytes, table_size, hash_memory_limit());
	double		scattered = fold->scattered;
	Cost		cost = 0;

	if (path->parallel_aware)
		scattered = Max(scattered, 0.1);
	if (scattered * bytes > MIN_SCATTERED_BYTES)
		cost += scattered * SCATTERED_OPERATIONS * cpu_operator_cost * input->rows * n_times;
	if (path->parallel_aware || !fits)
		cost += scattered * 2 * seq_page_cost * bytes / BLCKSZ;
	/* Repeated divisions use smaller blocks, which are not adjacent. */
	cost += (n_times - 1) * scattered * (seq_page_cost + random_page_cost) * bytes / BLCKSZ;
	if (!fits)
		cost += (1 - scattered) * (2 * seq_page_cost * bytes / BLCKSZ + SCATTERED_OPERATIONS * cpu_operator_cost * fold->n_groups);
	return cost;
}

/*
 * The planner undercharges an index walk in key order if the table is not in that order: as long as the table
 * fits into memory, each page is charged once, when it is read.  But each row is then on another page than the
 * row before, which must be looked up, pinned, and loaded into the processor's cache.
 */
static Cost
cost_revisits(PlannerInfo *root, const Path *path, double scattered)
{
	const List *children = IsA(path, AppendPath) ? ((const AppendPath *) path)->subpaths :
		IsA(path, MergeAppendPath) ? ((const MergeAppendPath *) path)->subpaths : NIL;
	const IndexPath *walk = (const IndexPath *) path;
	Cost		cost = 0;
	double		pages;
	ListCell   *lc;

	switch (nodeTag(path))
	{
		case T_ProjectionPath:
			return cost_revisits(root, ((const ProjectionPath *) path)->subpath, scattered);
		case T_AggPath:
			return cost_revisits(root, ((const AggPath *) path)->subpath, scattered);
		case T_GatherPath:
			return cost_revisits(root, ((const GatherPath *) path)->subpath, scattered);
		case T_GatherMergePath:
			return cost_revisits(root, ((const GatherMergePath *) path)->subpath, scattered);
		case T_AppendPath:
		case T_MergeAppendPath:
			foreach(lc, children)
				cost += cost_revisits(root, lfirst(lc), scattered);
			return cost;
		case T_IndexPath:
			if (path->pathtype != T_IndexScan || !pathkeys_contained_in(root->group_pathkeys, path->pathkeys))
				return 0;
			pages = index_pages_fetched(path->rows, path->parent->pages, walk->indexinfo->pages, root);
			return Max(path->rows - pages, 0) * scattered * REVISIT_OPERATIONS * cpu_operator_cost;
		default:
			return 0;
	}
}

void
charge_revisits(PlannerInfo *root, RelOptInfo *rel, const Fold *fold)
{
	List	   *paths = rel->pathlist;
	ListCell   *lc;
	bool		charged = false;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);
		Cost		cost = cost_revisits(root, path, fold->scattered);

		path->total_cost += cost;
		charged |= cost > 0;
	}
	if (!charged)
		return;
	/* Sort them by cost again, as the planner expects. */
	rel->pathlist = NIL;
	foreach(lc, paths)
		add_path(rel, lfirst(lc));
}

/* The number of processes that share the rows of a path, as the planner counts them: the leader has other work. */
static double
n_processes(const Path *path)
{
	double		leader = parallel_leader_participation ? 1.0 - 0.3 * path->parallel_workers : 0;

	return path->parallel_workers + Max(leader, 0);
}

/*
 * Costs as in cost_agg, but half as much per row: no expression is interpreted, and most rows follow one of
 * their group.  (The input already includes the cost of the arguments.)
 */
void
cost_group_fold(PlannerInfo *root, Path *path, const Path *input, const Fold *fold, AggStrategy strategy)
{
	AggClauseCosts costs;
	QualCost	arguments;
	Cost		rows;
	Cost		parts;

	MemSet(&costs, 0, sizeof(costs));
	get_agg_clause_costs(root, AGGSPLIT_SIMPLE, &costs);
	cost_qual_eval_node(&arguments, (Node *) list_make2(fold->aggref->args, fold->aggref->aggfilter), root);
	rows = (costs.transCost.per_tuple - arguments.per_tuple + cpu_operator_cost * list_length(fold->keys)) / 2 * input->rows;
	parts = strategy == AGG_HASHED ? cost_parts(path, input, fold, costs.transitionSpace) : 0;
	/* Few groups of many rows: an Agg keeps all these rows in memory too, and is not charged for that. */
	if (fold->n_groups * costs.transitionSpace <= hash_memory_limit())
		parts = Min(parts, rows / 2);
	rows += cost_revisits(root, input, fold->scattered);

	path->rows = path->parallel_aware ? clamp_row_est(fold->n_groups / n_processes(input)) : fold->n_groups;
	copy_disabled_nodes(path, input);
	path->startup_cost = costs.transCost.startup + costs.finalCost.startup + path->pathtarget->cost.startup +
		(strategy == AGG_HASHED ? input->total_cost + rows + parts : input->startup_cost);
	path->total_cost = path->startup_cost +
		(strategy == AGG_HASHED ? 0 : input->total_cost - input->startup_cost + rows) +
		(costs.finalCost.per_tuple + cpu_tuple_cost + path->pathtarget->cost.per_tuple) * path->rows;
}
