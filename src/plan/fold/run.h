/*
 * run.h
 *		Rows of a table that go on where the row before was.
 */
#ifndef STEPADV_FOLD_RUN_H
#define STEPADV_FOLD_RUN_H

#include "plan/fold/state.h"

/*
 * Into the current group, of which the row at hand is, all that follow it on its page and are the next
 * steps of the same rollout; how many.
 */
extern uint32 add_following_rows(GroupFoldState *fold);

#endif							/* STEPADV_FOLD_RUN_H */
