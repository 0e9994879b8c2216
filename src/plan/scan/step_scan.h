#ifndef STEPADV_STEP_SCAN_H
#define STEPADV_STEP_SCAN_H

#include "nodes/extensible.h"

/* Called by _PG_init: registers the node and its planner hook. */
extern void install_step_scan(void);

/* The same for joins of groups with the functions that take them. */
extern void install_step_scan_join(void);

/* step_scan.c */
extern Node *create_step_scan_state(CustomScan *plan);

#endif							/* STEPADV_STEP_SCAN_H */
