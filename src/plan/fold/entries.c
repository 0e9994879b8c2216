#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "plan/fold/entries.h"

/* Number of places in the cache of groups by image. */
#define MIN_IMAGES	256
#define MAX_IMAGES	8192

void
note_memory(GroupFoldState *fold)
{
	Size		used = MemoryContextMemAllocated(fold->table_memory, false);

	if (fold->parts != NULL)
	{
		fold->usage.n_on_disk = fold->parts->n_on_disk;
		fold->usage.disk_kb = parts_on_disk(fold->parts) / 1024;
		fold->usage.peak_memory = Max(fold->usage.peak_memory, fold->parts->peak);
		used += fold->parts->used;
	}
	if (fold->spill != NULL)
	{
		used += MemoryContextMemAllocated(fold->spill_memory, false);
		fold->usage.disk_kb = ((fold->parts ? parts_on_disk(fold->parts) : 0) + spill_size(fold->spill)) / 1024;
	}
	fold->usage.peak_memory = Max(fold->usage.peak_memory, used);
}

void
begin_table(GroupFoldState *fold, long n_groups)
{
	/* An empty table must use only part of the memory. */
	long		n_buckets = Min(n_groups, hash_memory_limit() / (8 * sizeof(TupleHashEntryData)));
	Size		most_images;
	Oid		   *functions;
	FmgrInfo   *hash;
	MemoryContext old;

	MemoryContextReset(fold->table_memory);
	old = MemoryContextSwitchTo(fold->table_memory);
	execTuplesHashPrepare(fold->n_keys, fold->equal, &functions, &hash);
	fold->table = build_tuple_hash_table(&fold->css.ss.ps, fold->keys, fold->n_keys, fold->key_positions,
										 functions, hash, fold->collations,
										 n_buckets, fold->table_memory,
										 fold->comparing->ecxt_per_tuple_memory);
	MemoryContextSwitchTo(old);

	most_images = Max(Min(hash_memory_limit() / 32 / sizeof(TableGroup *), MAX_IMAGES), MIN_IMAGES);
	fold->image_bits = pg_leftmost_one_pos32(Min(Max(n_groups * 2, MIN_IMAGES), most_images));
	fold->images = MemoryContextAllocZero(fold->table_memory, sizeof(TableGroup *) << fold->image_bits);

	/* Even then an empty table must have room for something. */
	fold->limit = Max(hash_memory_limit(), 2 * MemoryContextMemAllocated(fold->table_memory, false));
	begin_row_memory(&fold->table_rows, fold->table_memory, fold->limit / 8);
}

/* The next entry that has a group. */
static TupleHashEntry
scan_table(GroupFoldState *fold)
{
	TupleHashEntry entry;

	do
		entry = ScanTupleHashTable(fold->table, &fold->iterator);
	while (entry != NULL && *tuple_hash_place(fold->table, entry) == NULL);
	return entry;
}

void
begin_giving_table(GroupFoldState *fold)
{
	InitTupleHashIterator(fold->table, &fold->iterator);
	fold->ahead = scan_table(fold);
}

TupleHashEntry
next_entry(GroupFoldState *fold)
{
	TupleHashEntry entry = fold->ahead;

	CHECK_FOR_INTERRUPTS();
	if (entry != NULL)
		fold->ahead = scan_table(fold);
	return entry;
}

TableGroup *
look_group_up(GroupFoldState *fold, const Record *record, bool may_be_new)
{
	bool		is_new = false;
	TupleHashEntry entry = LookupTupleHashEntry(fold->table, fold->keys, may_be_new ? &is_new : NULL, NULL);
	TableGroup *group;

	if (entry == NULL || !is_new)
		return entry ? group_of_entry(fold, entry) : NULL;
	/* Allocated just before its builder, since both are used together. */
	group = memset(take_row_memory(&fold->table_rows, offsetof(TableGroup, image) + record->image_size), 0, offsetof(TableGroup, image));
	group->keys = tuple_hash_first(entry);
	group->image_size = record->image_size;
	group->has_nulls = record->kind & RECORD_HAS_NULLS;
	memcpy(group->image, record->image, record->image_size);
	*tuple_hash_place(fold->table, entry) = group;
	return group;
}

GroupBuilder *
builder_of(GroupFoldState *fold, TableGroup *group)
{
	if (group->builder == NULL)
	{
		group->builder = create_builder(fold);
		if (group->value != NULL)
		{
			group_builder_add_group(group->builder, (RolloutGroup *) group->value);
			pfree(group->value);
			group->value = NULL;
		}
	}
	return group->builder;
}

void
enter_group(GroupFoldState *fold, const TableGroup *group)
{
	fold->builder = group->builder;
	ExecStoreMinimalTuple(group->keys, fold->group_keys, false);
	slot_getallattrs(fold->group_keys);
}

TupleTableSlot *
give_table_group(GroupFoldState *fold, const TableGroup *group)
{
	enter_group(fold, group);
	if (group->builder != NULL)
		return give_group(fold);
	return give_value(fold, PointerGetDatum(group->value), group->value == NULL);
}
