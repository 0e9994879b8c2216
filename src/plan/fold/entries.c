/*
 * entries.c
 *		The hash table itself, which holds the groups of unsorted rows, or of a part of them,
 *		and which groups of it rows were of a short while ago.
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

/* ----------
 * Recent groups
 * ----------
 */

/* At most so many have a place, each but one; a query of fewer turns does without. */
#define MAX_BITS		11
#define FIRST_TURNS		256

typedef struct RecentGroups
{
	int			bits;
	RecentGroup group[FLEXIBLE_ARRAY_MEMBER];	/* a power of 2 of them */
} RecentGroups;

/* In the memory of the table, of which it is to take but little: with it they are forgotten. */
static RecentGroups *
create_recent(const GroupFoldState *fold)
{
	Size		size = sizeof(RecentGroup) + fold->n_keys * (sizeof(Datum) + sizeof(bool));
	int			bits = MAX_BITS;
	RecentGroups *recent;
	Datum	   *values;
	bool	   *nulls;

	while (bits > 1 && (size << bits) > fold->limit / 32)
		bits--;
	recent = MemoryContextAllocZero(fold->table_memory, offsetof(RecentGroups, group) + (size << bits));
	values = (Datum *) (recent->group + ((Size) 1 << bits));
	nulls = (bool *) (values + ((Size) fold->n_keys << bits));
	recent->bits = bits;
	for (Size g = 0; g < (Size) 1 << bits; g++)
	{
		recent->group[g].values = values + g * fold->n_keys;
		recent->group[g].nulls = nulls + g * fold->n_keys;
	}
	return recent;
}

RecentGroup *
recent_group(GroupFoldState *fold)
{
	const TupleTableSlot *row = fold->keys;
	TupleDesc	desc = row->tts_tupleDescriptor;
	uint64		bits = 0;

	if (fold->recent == NULL)
	{
		if (fold->n_turns < FIRST_TURNS)
			return NULL;
		fold->recent = create_recent(fold);
	}
	for (int k = 0; k < fold->n_keys; k++)
	{
		Form_pg_attribute key = TupleDescAttr(desc, k);
		Datum		value = row->tts_values[k];

		bits *= UINT64CONST(0x9E3779B97F4A7C15);
		if (!row->tts_isnull[k])
			bits += key->attbyval ? value : datum_image_hash(value, false, key->attlen);
	}
	return &fold->recent->group[(bits * UINT64CONST(0x9E3779B97F4A7C15)) >> (64 - fold->recent->bits)];
}

void
remember_group(const GroupFoldState *fold, RecentGroup *recent)
{
	const TupleTableSlot *keys = fold->group_keys;

	recent->keys = ((MinimalTupleTableSlot *) keys)->mintuple;
	recent->builder = fold->builder;
	memcpy(recent->values, keys->tts_values, fold->n_keys * sizeof(Datum));
	memcpy(recent->nulls, keys->tts_isnull, fold->n_keys * sizeof(bool));
}
