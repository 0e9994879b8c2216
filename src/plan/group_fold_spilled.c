/*
 * group_fold_spilled.c
 *		Values that the hash table of a GroupFold had no room for.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "plan/group_fold_group.h"
#include "plan/group_fold_spilled.h"

void
spill_value(GroupFoldState *fold, TupleTableSlot *row)
{
	if (fold->spilled == NULL)
		fold->spilled = tuplesort_begin_heap(fold->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor, fold->n_keys, fold->key_positions,
											 fold->less, fold->collations, fold->nulls_first, work_mem, NULL, 0);
	tuplesort_puttupleslot(fold->spilled, row);
	fold->usage.n_spilled++;
}

void
sort_spilled(GroupFoldState *fold)
{
	TuplesortInstrumentation sort;

	tuplesort_performsort(fold->spilled);
	tuplesort_get_stats(fold->spilled, &sort);
	if (sort.spaceType == SORT_SPACE_TYPE_DISK)
		fold->usage.disk_kb = Max(fold->usage.disk_kb, sort.spaceUsed);
}

void
forget_spilled(GroupFoldState *fold)
{
	if (fold->spilled != NULL)
		tuplesort_end(fold->spilled);
	fold->spilled = NULL;
	fold->pending = NULL;
	for (int i = 0; i < 2; i++)
		ExecClearTuple(fold->spilled_rows[i]);
}

/* Into one slot and the other in turn: the row before stays. */
static TupleTableSlot *
next_spilled(GroupFoldState *fold)
{
	TupleTableSlot *row = fold->spilled_rows[fold->turn];

	CHECK_FOR_INTERRUPTS();
	if (!tuplesort_gettupleslot(fold->spilled, true, true, row, NULL))
		return NULL;
	fold->turn = 1 - fold->turn;
	slot_getallattrs(row);
	return row;
}

static void
add_spilled(GroupFoldState *fold, const TupleTableSlot *row)
{
	MemoryContext old = MemoryContextSwitchTo(fold->group_memory);

	/* In a tuple, small values have short headers. */
	if (!row->tts_isnull[fold->n_keys])
		group_builder_add_group(fold->builder,
								(RolloutGroup *) PG_DETOAST_DATUM(row->tts_values[fold->n_keys]));
	MemoryContextSwitchTo(old);
}

/* Most groups were spilled once: their values are given as they are. */
TupleTableSlot *
merge_spilled(GroupFoldState *fold)
{
	TupleTableSlot *row = fold->pending ? fold->pending : next_spilled(fold);
	TupleTableSlot *next;

	if (row == NULL)
		return NULL;
	begin_group(fold, fold->key_positions, row);
	next = next_spilled(fold);
	if (next != NULL && is_of_group(fold, fold->key_positions, next))
	{
		add_spilled(fold, row);
		row = NULL;
		do
		{
			add_spilled(fold, next);
			next = next_spilled(fold);
		} while (next != NULL && is_of_group(fold, fold->key_positions, next));
	}
	fold->pending = next;
	if (next == NULL)
		fold->phase = FINISHED;
	return row ? give_value(fold, row->tts_values[fold->n_keys], row->tts_isnull[fold->n_keys]) : give_group(fold);
}
