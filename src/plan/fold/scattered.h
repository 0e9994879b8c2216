#ifndef STEPADV_GROUP_FOLD_SCATTERED_H
#define STEPADV_GROUP_FOLD_SCATTERED_H

#include "plan/fold/group_fold_state.h"

/* Estimated size of this process's rows as records. */
extern double expected_bytes(const GroupFoldState *fold);

/* Create fold->parts: local ones, or those of an exchange. */
extern void begin_parts(GroupFoldState *fold, ExchangeAccess *exchange);

/* Write the current row to the part of its group. */
extern void scatter_row(GroupFoldState *fold);

/* Write the value of the current group, or this one (may be NULL), to its part, or send it to the group's owner. */
extern void scatter_group(GroupFoldState *fold, uint32 hash);
extern void scatter_value(GroupFoldState *fold, uint32 hash, const struct varlena *value);

/* Add the groups that others sent to this process to the table. */
extern void receive_groups(GroupFoldState *fold);

/* All records are written: start FROM_PARTS; then the next group, NULL after the last. */
extern void begin_giving_parts(GroupFoldState *fold);
extern TupleTableSlot *next_of_parts(GroupFoldState *fold);

/* Free all parts. */
extern void forget_parts(GroupFoldState *fold);

#endif							/* STEPADV_GROUP_FOLD_SCATTERED_H */
