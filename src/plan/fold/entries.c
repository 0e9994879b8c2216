/*
 * entries.c
 *		The hash table itself, which holds the groups of unsorted rows, or of a part of them.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "compat.h"
#include "plan/fold/entries.h"

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
	/* Without groups the table shall take but a part of the memory. */
	long		n_buckets = Min(n_groups, hash_memory_limit() / (8 * sizeof(TupleHashEntryData)));
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

	fold->recent = NULL;

	/* An empty table must have room for something. */
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
