#ifndef STEPADV_FOREIGN_FOLDS_H
#define STEPADV_FOREIGN_FOLDS_H

#include "nodes/pathnodes.h"

#include "plan/fold/cost.h"

/* Adds paths that fold the rows of a partition locally. */
typedef void (*FoldHere) (PlannerInfo *root, RelOptInfo *partition, RelOptInfo *grouped);

/* If no group spans two partitions, add a path that folds foreign partitions remotely and the others locally. */
extern void offer_foreign_folds(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *rel, const Fold *fold,
								const GroupPathExtraData *extra, FoldHere fold_here);

#endif							/* STEPADV_FOREIGN_FOLDS_H */
