#ifndef STEPADV_FOREIGN_FOLDS_H
#define STEPADV_FOREIGN_FOLDS_H

#include "nodes/pathnodes.h"

#include "plan/fold/cost.h"

/* Adds paths that fold the rows of a partition here. */
typedef void (*FoldHere) (PlannerInfo *root, RelOptInfo *partition, RelOptInfo *grouped);

/* Where partitions are foreign and no group is in two, a path on which each server folds its own, and what is here is folded here. */
extern void offer_foreign_folds(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *rel, const Fold *fold,
								const GroupPathExtraData *extra, FoldHere fold_here);

#endif							/* STEPADV_FOREIGN_FOLDS_H */
