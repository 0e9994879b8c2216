#ifndef STEPADV_STEP_SCAN_H
#define STEPADV_STEP_SCAN_H

#include "nodes/extensible.h"

/* For _PG_init: makes the planner know the node. */
extern void install_step_scan(void);

/* The same above a join with the rows that hold the groups. */
extern void install_step_scan_join(void);

/* step_scan.c */
extern Node *create_step_scan_state(CustomScan *plan);

#endif							/* STEPADV_STEP_SCAN_H */
