/*
 * entries.h
 *		The hash table of groups, for unsorted rows or for one part.
 */
#ifndef STEPADV_GROUP_FOLD_ENTRIES_H
#define STEPADV_GROUP_FOLD_ENTRIES_H

#include "common/hashfn.h"
#include "executor/executor.h"

#include "compat.h"
#include "plan/fold/current_group.h"
#include "plan/fold/records.h"

/* Create a hash table for about n_groups groups. */
extern void begin_table(GroupFoldState *fold, long n_groups);

/* Start iterating; then the next group that has not been sent, NULL after the last. */
extern void begin_giving_table(GroupFoldState *fold);
extern TupleHashEntry next_entry(GroupFoldState *fold);

/* Record the current memory use, for EXPLAIN. */
extern void note_memory(GroupFoldState *fold);

/*
 * A group of the table.  Equal keys mostly have the same image, so groups are first looked up by image, in a
 * direct-mapped cache.  Only misses are looked up with the operators of the keys.
 */
typedef struct TableGroup
{
	MinimalTuple keys;
	GroupBuilder *builder;		/* NULL: there was no row, */
	struct varlena *value;		/* but one value, unless this is NULL too */
	Size		image_size;
	uint8		has_nulls;
	char		image[FLEXIBLE_ARRAY_MEMBER];	/* image of its keys, as first seen */
} TableGroup;

/* The cache place of groups with this image. */
static inline TableGroup **
place_of_image(const GroupFoldState *fold, const Record *record)
{
	uint64		bits = 0;

	if (record->image_size > sizeof(bits))
		bits = hash_bytes((const unsigned char *) record->image, record->image_size);
	else
		memcpy(&bits, record->image, record->image_size);
	return &fold->images[(bits * UINT64CONST(0x9E3779B97F4A7C15)) >> (64 - fold->image_bits)];
}

static inline bool
is_image_of(const TableGroup *group, const Record *record)
{
	if (group == NULL || group->image_size != record->image_size || group->has_nulls != (record->kind & RECORD_HAS_NULLS))
		return false;
	/* With a constant size, memcmp compiles to one comparison. */
	if (record->image_size == sizeof(int64))
		return memcmp(group->image, record->image, sizeof(int64)) == 0;
	return memcmp(group->image, record->image, record->image_size) == 0;
}

/* Look up the keys in fold->keys by their operators.  A missing group is created if may_be_new, or else NULL. */
extern TableGroup *look_group_up(GroupFoldState *fold, const Record *record, bool may_be_new);

/* The builder of a group.  If the group is a value so far, the value is unpacked into a new builder. */
extern GroupBuilder *builder_of(GroupFoldState *fold, TableGroup *group);

/* Make a group the current one; the same, returning its result row. */
extern void enter_group(GroupFoldState *fold, const TableGroup *group);
extern TupleTableSlot *give_table_group(GroupFoldState *fold, const TableGroup *group);

static inline TableGroup *
group_of_entry(const GroupFoldState *fold, TupleHashEntry entry)
{
	return *tuple_hash_place(fold->table, entry);
}

#endif							/* STEPADV_GROUP_FOLD_ENTRIES_H */
