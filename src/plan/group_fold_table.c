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

TupleTableSlot *
next_of_table(GroupFoldState *fold)
{
	TupleHashEntry entry = ScanTupleHashTable(fold->table, &fold->iterator);

	CHECK_FOR_INTERRUPTS();
	if (entry == NULL)
		return NULL;
	enter_group(fold, entry);
	return give_group(fold);
}

/* All groups of the table go out as values. */
static void
spill_table(GroupFoldState *fold)
{
	TupleTableSlot *row;

	begin_giving_table(fold);
	while ((row = next_of_table(fold)) != NULL)
	{
		spill_value(fold, row);
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

	fold->peak_memory = Max(fold->peak_memory, used);
	if (used > fold->limit)
		spill_table(fold);
	show_keys(fold, fold->positions, row);
	entry = LookupTupleHashEntry(fold->table, fold->keys, &is_new, NULL);
	ResetExprContext(fold->comparing);
	if (is_new)
		*tuple_hash_place(fold->table, entry) = create_builder(fold, fold->table_memory);
	enter_group(fold, entry);
}

void
hash_rows(GroupFoldState *fold)
{
	PlanState  *below = outerPlanState(&fold->css);

	begin_table(fold);
	for (;;)
	{
		TupleTableSlot *row = ExecProcNode(below);

		if (TupIsNull(row))
			break;
		slot_getsomeattrs(row, fold->last_position);
		if (fold->builder == NULL || !has_same_keys(fold, fold->positions, row))
			find_group(fold, row);
		add_row(fold, row);
	}
	fold->peak_memory = Max(fold->peak_memory, MemoryContextMemAllocated(fold->table_memory, false));
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
