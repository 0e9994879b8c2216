/*
 * foreign.c
 *		Folds partitions that are foreign tables on their servers.
 *
 * For a single foreign table, postgres_fdw offers to aggregate remotely, and the planner decides by cost.  For
 * a table partitioned by the group into foreign tables, the planner considers this only with
 * enable_partitionwise_aggregate, which is off by default: all rows are then fetched and folded locally.  So
 * offer it here, as create_partitionwise_grouping_paths does, for rollout_agg alone and also by cost.  Local
 * partitions, and those whose server does not aggregate, are folded locally, each by itself.
 */
#include "postgres.h"

#include "foreign/fdwapi.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"

#include "compat.h"
#include "plan/fold/foreign.h"

/* Is a partition key also a key of the group, under the same equality? */
static bool
is_key(const Fold *fold, const List *partexprs, Oid collation)
{
	ListCell   *lc;

	foreach(lc, partexprs)
		if (list_member(fold->keys, lfirst(lc)))
		{
			Oid			key_collation = exprCollation(lfirst(lc));

			return !OidIsValid(collation) || !OidIsValid(key_collation) || collation == key_collation;
		}
	return false;
}

/* Are all partition keys keys of the group, so that no group has rows in two partitions? */
static bool
groups_lie_in_partitions(const RelOptInfo *rel, const Fold *fold)
{
	for (int k = 0; k < rel->part_scheme->partnatts; k++)
		if (!is_key(fold, rel->partexprs[k], rel->part_scheme->partcollation[k]))
			return false;
	return true;
}

/* The grouped relation of a partition, in terms of its columns. */
static RelOptInfo *
groups_of_partition(PlannerInfo *root, RelOptInfo *partition, const RelOptInfo *rel, AppendRelInfo **appinfos, int n_appinfos)
{
	RelOptInfo *grouped = fetch_upper_rel(root, UPPERREL_GROUP_AGG, partition->relids);

	grouped->reloptkind = RELOPT_OTHER_UPPER_REL;
	grouped->reltarget = copy_pathtarget(rel->reltarget);
	grouped->reltarget->exprs = (List *) adjust_appendrel_attrs(root, (Node *) rel->reltarget->exprs, n_appinfos, appinfos);
	grouped->consider_parallel = rel->consider_parallel && partition->consider_parallel;
	grouped->serverid = partition->serverid;
	grouped->userid = partition->userid;
	grouped->useridiscurrent = partition->useridiscurrent;
	grouped->fdwroutine = partition->fdwroutine;
	return grouped;
}

/* The groups of a partition: from its foreign server if possible, or folded locally; NULL if neither works. */
static RelOptInfo *
fold_of_partition(PlannerInfo *root, RelOptInfo *partition, const RelOptInfo *rel, const GroupPathExtraData *extra,
				  FoldHere fold_here, bool *shipped)
{
	GroupPathExtraData of_partition = *extra;
	AppendRelInfo **appinfos;
	int			n_appinfos;
	RelOptInfo *grouped;

	appinfos = find_appinfos_by_relids(root, partition->relids, &n_appinfos);
	grouped = groups_of_partition(root, partition, rel, appinfos, n_appinfos);
	if (partition->fdwroutine != NULL && partition->fdwroutine->GetForeignUpperPaths != NULL)
	{
		of_partition.targetList = (List *) adjust_appendrel_attrs(root, (Node *) extra->targetList, n_appinfos, appinfos);
		of_partition.patype = PARTITIONWISE_AGGREGATE_FULL;
		partition->fdwroutine->GetForeignUpperPaths(root, UPPERREL_GROUP_AGG, partition, grouped, &of_partition);
		*shipped = *shipped || grouped->pathlist != NIL;
	}
	if (grouped->pathlist == NIL)
		fold_here(root, partition, grouped);
	if (grouped->pathlist == NIL)
		return NULL;
	set_cheapest(grouped);
	return grouped;
}

void
offer_foreign_folds(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *rel, const Fold *fold, const GroupPathExtraData *extra,
					FoldHere fold_here)
{
	List	   *folds = NIL;
	bool		any_foreign = false;
	bool		shipped = false;

	if (extra->patype != PARTITIONWISE_AGGREGATE_NONE || !IS_SIMPLE_REL(input_rel) || !IS_PARTITIONED_REL(input_rel) ||
		!groups_lie_in_partitions(input_rel, fold))
		return;
	for (int p = 0; p < input_rel->nparts; p++)
		any_foreign = any_foreign || (input_rel->part_rels[p] != NULL && input_rel->part_rels[p]->fdwroutine != NULL);
	if (!any_foreign)
		return;
	for (int p = 0; p < input_rel->nparts; p++)
	{
		RelOptInfo *partition = input_rel->part_rels[p];
		RelOptInfo *grouped;

		if (partition == NULL || IS_DUMMY_REL(partition))
			continue;
		grouped = fold_of_partition(root, partition, rel, extra, fold_here, &shipped);
		if (grouped == NULL)
			return;
		folds = lappend(folds, grouped);
	}
	if (shipped)
		add_paths_to_append_rel(root, rel, folds);
}
