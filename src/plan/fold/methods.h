/*
 * methods.h
 *		Methods of the node that are not in group_fold.c.
 */
#ifndef STEPADV_GROUP_FOLD_METHODS_H
#define STEPADV_GROUP_FOLD_METHODS_H

#include "access/parallel.h"
#include "nodes/execnodes.h"

#include "compat.h"
#include EXPLAIN_STATE_HEADER

/* explain.c */
extern void explain_group_fold(CustomScanState *node, List *ancestors, ExplainState *es);

/* shared.c */
extern Size estimate_exchange(CustomScanState *node, ParallelContext *context);
extern void begin_exchange(CustomScanState *node, ParallelContext *context, void *shared);
extern void rescan_exchange(CustomScanState *node, ParallelContext *context, void *shared);
extern void begin_exchange_in_worker(CustomScanState *node, shm_toc *toc, void *shared);
extern void end_exchange(CustomScanState *node);

#endif							/* STEPADV_GROUP_FOLD_METHODS_H */
