/*
 * spill.h
 *		Finished values of groups that left the table for lack of memory, in one file.
 *
 * If groups are stored together, hardly any of them is met again, so most values are returned unchanged, in
 * the order in which they were written.  Hashes and sizes are kept in memory, so that groups that were met
 * again can be read first.
 */
#ifndef STEPADV_GROUP_FOLD_SPILL_H
#define STEPADV_GROUP_FOLD_SPILL_H

#include "access/htup_details.h"

#include "plan/fold/marks.h"

typedef struct GroupSpill GroupSpill;

/* Create a spill in the current memory context, which it then owns, with a buffer of this size. */
extern GroupSpill *create_spill(Size buffer_size);
extern void close_spill(GroupSpill *spill);
extern int64 spill_size(const GroupSpill *spill);

/* Add a value, which may be NULL. */
extern void spill_value(GroupSpill *spill, uint32 hash, MinimalTuple keys, const struct varlena *value);

/* Read from the start: only divided groups, or only others.  Results are valid until the next call. */
extern void begin_spilled(GroupSpill *spill, const GroupMarks *marks, bool divided);
extern bool next_spilled(GroupSpill *spill, uint32 *hash, MinimalTuple *keys, struct varlena **value);

#endif							/* STEPADV_GROUP_FOLD_SPILL_H */
