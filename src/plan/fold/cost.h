/*
 * cost.h
 *		Cost estimates of GroupFold.
 */
#ifndef STEPADV_GROUP_FOLD_COST_H
#define STEPADV_GROUP_FOLD_COST_H

#include "nodes/pathnodes.h"

/* A query that a GroupFold can compute, and what it needs. */
typedef struct Fold
{
	List	   *keys;			/* expressions */
	List	   *clauses;		/* SortGroupClauses of the keys */
	Aggref	   *aggref;
	int			n_args;
	bool		lenient;		/* the aggregate is the lenient one */
	List	   *inputs;			/* keys, arguments, and the filter if there is one */
	PathTarget *alone;			/* the inputs as the target of a path */
	double		n_groups;
	double		scattered;		/* how scattered the rows of a group are in the table, from 0 to 1 */
} Fold;

/* Sets fold->scattered.  Requires keys and inputs. */
extern void estimate_scatter(PlannerInfo *root, Fold *fold);

/* Adds the cost of scattered page accesses to PostgreSQL's own paths that walk an index in key order. */
extern void charge_revisits(PlannerInfo *root, RelOptInfo *rel, const Fold *fold);

/* Sets the rows and costs of a path that folds an input. */
extern void cost_group_fold(PlannerInfo *root, Path *path, const Path *input, const Fold *fold, AggStrategy strategy);

#endif							/* STEPADV_GROUP_FOLD_COST_H */
