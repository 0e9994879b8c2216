/*
 * plan.h
 *		Declarations that the planner files of StepScan share, and the layout of custom_private.
 */
#ifndef STEPADV_STEP_SCAN_PLAN_H
#define STEPADV_STEP_SCAN_PLAN_H

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

/*
 * Members of the plan's custom_private.  STEP_COLUMN_COUNTS: the number of result columns of each function.
 * STEP_ORIGINS: two numbers for each column of custom_scan_tlist, the function and its column, or OF_OUTER_ROW
 * and the column of the outer row.  All numbers start at 0.
 */
enum
{
	STEP_COLUMN_COUNTS,
	STEP_ORIGINS
};
#define OF_OUTER_ROW (-1)

extern const CustomScanMethods step_scan_methods;

/* offer_scan.c */

/* Can a StepScan produce the rows of this relation?  All its functions must support it. */
extern bool can_scan_steps(PlannerInfo *root, RelOptInfo *rel);
extern List *calls_of(const RangeTblEntry *rte);

/* The plan for the functions of a relation. outer: the plan whose rows supply their arguments, or NULL. */
extern CustomScan *make_step_scan(PlannerInfo *root, Index functions, const CustomPath *path,
								  List *tlist, List *clauses, Plan *outer);

#endif							/* STEPADV_STEP_SCAN_PLAN_H */
