/*
 * cost.h
 *		What it costs to fold.
 */
#ifndef STEPADV_GROUP_FOLD_COST_H
#define STEPADV_GROUP_FOLD_COST_H

#include "nodes/pathnodes.h"

/* What a query needs, if a fold can compute it. */
typedef struct Fold
{
	List	   *keys;			/* expressions */
	List	   *clauses;		/* their SortGroupClauses */
	Aggref	   *aggref;
	int			n_args;
	bool		forgiving;		/* the aggregate is */
	List	   *inputs;			/* keys, arguments, the filter if there is one */
	PathTarget *alone;			/* the inputs as what a path gives */
	double		n_groups;
	double		scattered;		/* how far rows of one group lie apart, from 0 to 1 */
} Fold;

/* When keys and inputs are known: how their rows are ordered: sets fold->scattered. */
extern void estimate_scatter(PlannerInfo *root, Fold *fold);

/* Paths of PostgreSQL's own that fold by walking an index get the cost of that, too. */
extern void charge_revisits(PlannerInfo *root, RelOptInfo *rel, const Fold *fold);

/* Rows and costs of a path that folds an input. */
extern void cost_group_fold(PlannerInfo *root, Path *path, const Path *input, const Fold *fold, AggStrategy strategy);

#endif							/* STEPADV_GROUP_FOLD_COST_H */
