/*
 * marks.h
 *		Marks groups that were met in more than one table: of several processes, or of one process that
 *		spilled.
 *
 * Two bits per hash: whether a group has it, and whether it was marked twice.  If two groups share their bits,
 * they are treated as one divided group, which costs time but does no harm.
 */
#ifndef STEPADV_GROUP_FOLD_MARKS_H
#define STEPADV_GROUP_FOLD_MARKS_H

typedef struct GroupMarks GroupMarks;	/* can be in shared memory */

extern Size marks_size(int expected_groups);
extern void begin_marks(GroupMarks *marks, int expected_groups);

/* Mark a group by its hash; false if its bit was set before. */
extern bool mark_group(GroupMarks *marks, uint32 hash);

/* Treat every group as marked twice. */
extern void mark_everything(GroupMarks *marks);

/* May other tables have rows of this group? */
extern bool is_divided(const GroupMarks *marks, uint32 hash);

#endif							/* STEPADV_GROUP_FOLD_MARKS_H */
