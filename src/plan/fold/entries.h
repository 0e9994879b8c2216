/*
 * entries.h
 *		The hash table itself, which holds the groups of unsorted rows, or of a part of them.
 */
#ifndef STEPADV_GROUP_FOLD_ENTRIES_H
#define STEPADV_GROUP_FOLD_ENTRIES_H

#include "common/hashfn.h"
#include "executor/executor.h"

#include "compat.h"
#include "plan/fold/current_group.h"
#include "plan/fold/records.h"

/* A new hash table, for about so many groups. */
extern void begin_table(GroupFoldState *fold, long n_groups);

/* From the first group on, the next one that has not been sent, NULL after the last. */
extern void begin_giving_table(GroupFoldState *fold);
extern TupleHashEntry next_entry(GroupFoldState *fold);

/* For EXPLAIN: what memory is taken now. */
extern void note_memory(GroupFoldState *fold);

/*
 * A group of the table.  Keys are mostly written alike: groups are known by the image of their keys first, as
 * far as there is a place for each, and only what is not known so is looked up as the operators of the keys want it.
 */
typedef struct TableGroup
{
	MinimalTuple keys;
	GroupBuilder *builder;		/* NULL: there was no row, */
	struct varlena *value;		/* but, unless NULL too, one value */
	Size		image_size;
	uint8		has_nulls;
	char		image[FLEXIBLE_ARRAY_MEMBER];	/* of its keys, as it was met first */
} TableGroup;

/* Where a group that has this image may be known. */
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
	/* Such a size as a constant: it is then one comparison. */
	if (record->image_size == sizeof(int64))
		return memcmp(group->image, record->image, sizeof(int64)) == 0;
	return memcmp(group->image, record->image, record->image_size) == 0;
}

/* By the operators of the keys, which are shown: a new one where there is none, or NULL if that may not be. */
extern TableGroup *look_group_up(GroupFoldState *fold, const Record *record, bool may_be_new);

/* Its builder, in which a value that has company becomes rows again. */
extern GroupBuilder *builder_of(GroupFoldState *fold, TableGroup *group);

/* Make a group the current one; its row. */
extern void enter_group(GroupFoldState *fold, const TableGroup *group);
extern TupleTableSlot *give_table_group(GroupFoldState *fold, const TableGroup *group);

static inline TableGroup *
group_of_entry(const GroupFoldState *fold, TupleHashEntry entry)
{
	return *tuple_hash_place(fold->table, entry);
}

#endif							/* STEPADV_GROUP_FOLD_ENTRIES_H */
