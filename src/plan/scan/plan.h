/*
 * plan.h
 *		What the planner's files of a StepScan share, and the contents of its plan.
 */
#ifndef STEPADV_STEP_SCAN_PLAN_H
#define STEPADV_STEP_SCAN_PLAN_H

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

/*
 * About the columns of custom_scan_tlist, the plan has in custom_private:
 * of each function how many result columns it has; of each column of the scan two
 * numbers, of the function and of its column, or OF_OUTER_ROW and the number of the
 * column in that, all from 0.
 */
enum
{
	STEP_COLUMN_COUNTS,
	STEP_ORIGINS
};
#define OF_OUTER_ROW (-1)

extern const CustomScanMethods step_scan_methods;

/* offer_scan.c */

/* Are the rows of a relation those of functions that a StepScan can call, and enough? */
extern bool can_scan_steps(PlannerInfo *root, RelOptInfo *rel);
extern List *calls_of(const RangeTblEntry *rte);

/* The plan of functions that are a relation of the query; outer: whose rows have what they are called with, or NULL. */
extern CustomScan *make_step_scan(PlannerInfo *root, Index functions, const CustomPath *path,
								  List *tlist, List *clauses, Plan *outer);

#endif							/* STEPADV_STEP_SCAN_PLAN_H */
