/*
 * spill.h
 *		Finished values of groups for which there was no room, one behind the other in a file.
 *
 * Where groups are stored together, hardly one of them is met again: what went out is then
 * returned unchanged, in the order in which it was written.  What each is, and how long, is kept in
 * memory, so that those that were met again can be picked out first.
 */
#ifndef STEPADV_GROUP_FOLD_SPILL_H
#define STEPADV_GROUP_FOLD_SPILL_H

#include "access/htup_details.h"

#include "plan/fold/marks.h"

typedef struct GroupSpill GroupSpill;

/* In the current memory context, which it then owns; so much of it for a buffer. */
extern GroupSpill *create_spill(Size buffer_size);
extern void close_spill(GroupSpill *spill);
extern int64 spill_size(const GroupSpill *spill);

/* A value; NULL is one, too. */
extern void spill_value(GroupSpill *spill, uint32 hash, MinimalTuple keys, const struct varlena *value);

/* From the start: those that are divided, or those that are not; what is given lives until the next one. */
extern void begin_spilled(GroupSpill *spill, const GroupMarks *marks, bool divided);
extern bool next_spilled(GroupSpill *spill, uint32 *hash, MinimalTuple *keys, struct varlena **value);

#endif							/* STEPADV_GROUP_FOLD_SPILL_H */
