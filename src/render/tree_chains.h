/*
 * tree_chains.h
 *		Where one rollout goes on alone: chains of edges of a rollout tree.
 */
#ifndef STEPADV_TREE_CHAINS_H
#define STEPADV_TREE_CHAINS_H

#include "analysis/tree.h"

/* Of an edge that the first of its chain stands for. */
#define HIDDEN_EDGE PG_UINT32_MAX

/*
 * By edge: how many follow it that it stands for, too.  The states between are
 * entered and left by one rollout, once, and are nobody's start.  next_state of
 * a chain's first edge becomes that of its last.
 */
extern uint32 *tree_fold_chains(const RolloutTree *tree, const bool *starts, int32 *next_state);

#endif							/* STEPADV_TREE_CHAINS_H */
