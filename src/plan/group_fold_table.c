/*
 * group_fold_table.c
 *		The hash table of a GroupFold whose rows come in no order.
 *
 * When it has grown to what work_mem and hash_mem_multiplier allow, the groups in it
 * go out as values, to be sorted and merged at the end, and an empty table takes the
 * rows that follow: values are smaller than rows, and where groups are stored
 * together hardly one is met a second time.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "compat.h"
#include "plan/group_fold_group.h"
#include "plan/group_fold_spilled.h"
#include "plan/group_fold_table.h"

static void
begin_table(GroupFoldState *fold)
{
	/* Without groups the table shall take but a part of the memory. */
	long		n_buckets = Min(fold->expected_groups, hash_memory_limit() / (8 * sizeof(TupleHashEntryData)));
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

	/* An empty table must have room for something. */
	fold->limit = Max(hash_memory_limit(), 2 * MemoryContextMemAllocated(fold->table_memory, false));
}

/* Make an entry of the table the current group. */
static void
enter_group(GroupFoldState *fold, TupleHashEntry entry)
{
	fold->builder = *tuple_hash_place(fold->table, entry);
	ExecStoreMinimalTuple(tuple_hash_first(entry), fold->group_keys, false);
	slot_getallattrs(fold->group_keys);
}

void
begin_giving_table(GroupFoldState *fold)
{
	InitTupleHashIterator(fold->table, &fold->iterator);
}

/* The next one that has not been sent; NULL after the last. */
static TupleHashEntry
next_entry(GroupFoldState *fold)
{
	TupleHashEntry entry;

	CHECK_FOR_INTERRUPTS();
	do
		entry = ScanTupleHashTable(fold->table, &fold->iterator);
	while (entry != NULL && *tuple_hash_place(fold->table, entry) == NULL);
	return entry;
}

TupleTableSlot *
next_of_table(GroupFoldState *fold)
{
	TupleHashEntry entry = next_entry(fold);

	if (entry == NULL)
		return NULL;
	enter_group(fold, entry);
	return give_group(fold);
}

static void
send_current_group(GroupFoldState *fold, uint32 hash)
{
	send_group(fold->exchange, hash, give_group(fold));
	fold->usage.n_exchanged++;
}

/* All groups of the table go out as values. */
static void
spill_table(GroupFoldState *fold)
{
	TupleHashEntry entry;

	begin_giving_table(fold);
	while ((entry = next_entry(fold)) != NULL)
	{
		enter_group(fold, entry);
		if (fold->sends)
		{
			mark_group(fold->exchange, entry->hash, true);
			send_current_group(fold, entry->hash);
		}
		else
			spill_value(fold, give_group(fold));
		ResetExprContext(fold->css.ss.ps.ps_ExprContext);
	}
	ExecClearTuple(fold->css.ss.ss_ScanTupleSlot);
	ExecClearTuple(fold->group_keys);
	fold->builder = NULL;
	begin_table(fold);
}

/* Make the group of a row the current one. */
static pg_noinline void
find_group(GroupFoldState *fold, const TupleTableSlot *row)
{
	Size		used = MemoryContextMemAllocated(fold->table_memory, false);
	TupleHashEntry entry;
	bool		is_new;

	fold->usage.peak_memory = Max(fold->usage.peak_memory, used);
	if (used > fold->limit)
		spill_table(fold);
	show_keys(fold, fold->positions, row);
	entry = LookupTupleHashEntry(fold->table, fold->keys, &is_new, NULL);
	ResetExprContext(fold->comparing);
	if (is_new)
		*tuple_hash_place(fold->table, entry) = create_builder(fold, fold->table_memory);
	enter_group(fold, entry);
}

static void
hash_rows(GroupFoldState *fold)
{
	TupleTableSlot *row;

	begin_table(fold);
	while ((row = next_input(&fold->input)) != NULL)
	{
		if (fold->builder == NULL || !has_same_keys(fold, fold->positions, row))
			find_group(fold, row);
		add_row(fold, row);
	}
	fold->usage.peak_memory = Max(fold->usage.peak_memory, MemoryContextMemAllocated(fold->table_memory, false));
}

void
fold_unsorted(GroupFoldState *fold)
{
	hash_rows(fold);
	if (fold->spilled == NULL)
	{
		begin_giving_table(fold);
		fold->phase = FROM_TABLE;
	}
	else
	{
		spill_table(fold);
		sort_spilled(fold);
		fold->phase = FROM_SPILLED;
	}
}

/* ----------
 * With others
 * ----------
 */

/* What is left in the table is of no other process. */
static void
send_shared_groups(GroupFoldState *fold)
{
	TupleHashEntry entry;

	begin_giving_table(fold);
	while ((entry = next_entry(fold)) != NULL)
		mark_group(fold->exchange, entry->hash, false);
	await_marks(fold->exchange);
	begin_giving_table(fold);
	while ((entry = next_entry(fold)) != NULL)
		if (others_have_group(fold->exchange, entry->hash))
		{
			enter_group(fold, entry);
			send_current_group(fold, entry->hash);
			*tuple_hash_place(fold->table, entry) = NULL;
			ResetExprContext(fold->css.ss.ps.ps_ExprContext);
		}
	ExecClearTuple(fold->css.ss.ss_ScanTupleSlot);
	ExecClearTuple(fold->group_keys);
	fold->builder = NULL;
}

void
fold_with_others(GroupFoldState *fold)
{
	fold->phase = FROM_PARTS;
	fold->usage.took_part = true;
	if (!join_exchange(fold->exchange))
		return;
	fold->sends = true;
	hash_rows(fold);
	fold->sends = false;
	send_shared_groups(fold);
	await_values(fold->exchange);
	tell_usage(fold->exchange, &fold->usage);
	begin_giving_table(fold);
	fold->phase = FROM_TABLE;
}

bool
take_merged_part(GroupFoldState *fold)
{
	MinimalTuple tuple;

	forget_spilled(fold);
	do
	{
		if (!take_part(fold->exchange))
		{
			fold->phase = FINISHED;
			return false;
		}
		while ((tuple = receive_value(fold->exchange)) != NULL)
			spill_value(fold, ExecStoreMinimalTuple(tuple, fold->spilled_rows[0], false));
	} while (fold->spilled == NULL);
	ExecClearTuple(fold->spilled_rows[0]);
	sort_spilled(fold);
	tell_usage(fold->exchange, &fold->usage);
	fold->phase = FROM_SPILLED;
	return true;
}
