/*
 * blame.h
 *		Which group an error of a GroupFold is about.
 */
#ifndef STEPADV_GROUP_FOLD_BLAME_H
#define STEPADV_GROUP_FOLD_BLAME_H

#include "plan/fold/state.h"

/* When the node starts. */
extern void prepare_blame(GroupFoldState *fold);

/* Between these two an error is about the current group. */
static inline void
begin_blame(GroupFoldState *fold)
{
	fold->blame.previous = error_context_stack;
	error_context_stack = &fold->blame;
}

static inline void
end_blame(GroupFoldState *fold)
{
	error_context_stack = fold->blame.previous;
}

#endif							/* STEPADV_GROUP_FOLD_BLAME_H */
