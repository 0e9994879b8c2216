/*
 * marks.h
 *		Which groups have been met in more than one place: tables of several processes, or
 *		tables of one that were full.
 *
 * Two bits for a hash: whether there is such a group, and whether there are two.  Two
 * groups may share their bits; they are then taken for one that is divided, which costs
 * time and nothing else.
 */
#ifndef STEPADV_GROUP_FOLD_MARKS_H
#define STEPADV_GROUP_FOLD_MARKS_H

typedef struct GroupMarks GroupMarks;	/* may lie in shared memory */

extern Size marks_size(int expected_groups);
extern void begin_marks(GroupMarks *marks, int expected_groups);

/* Here is a group with this hash; false: there was one before. */
extern bool mark_group(GroupMarks *marks, uint32 hash);

/* As if every group had been marked twice. */
extern void mark_everything(GroupMarks *marks);

/* May there be more of this group elsewhere? */
extern bool is_divided(const GroupMarks *marks, uint32 hash);

#endif							/* STEPADV_GROUP_FOLD_MARKS_H */
