/*
 * table.c
 *		The hash table of a GroupFold with unsorted input.
 *
 * When the table reaches the limit of work_mem and hash_mem_multiplier, its groups are spilled as values
 * (spill.h), and an empty table takes the rows that follow: if groups are stored together, hardly any is met
 * again.  Those that are go into parts, to be merged at the end.  If groups alternate and the table is larger
 * than a processor's cache, the rows themselves are scattered: written to parts.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "compat.h"
#include "group/collected_rows.h"
#include "plan/fold/entries.h"
#include "plan/fold/current_group.h"
#include "plan/fold/scattered.h"
#include "plan/fold/table.h"

/* Scatter rows if the table exceeds a processor's cache and runs of one group are at most this long on average. */
#define CACHE_SIZE		((Size) 1024 * 1024)
#define SCATTERED_RUN	4
#define TURNS_LOOKED_AT	1024
#define NEARLY_ALL		0.75	/* of the expected rows */

/* The share of all rows that a process may keep: handing over a small surplus costs more than keeping it. */
#define FAIR_SHARE		(1.0 + 1.0 / 64)

/* Buffer size for writing values, within the memory limit. */
#define SPILL_BUFFER	((Size) 256 * 1024)

TupleTableSlot *
next_of_table(GroupFoldState *fold)
{
	TupleHashEntry entry = next_entry(fold);

	if (entry == NULL)
		return NULL;
	/* Prefetch the next builder while this group is finished: builders are far apart in memory.  Values have none. */
	if (fold->ahead != NULL && group_of_entry(fold, fold->ahead)->builder != NULL)
		group_builder_fetch_ahead(group_of_entry(fold, fold->ahead)->builder);
	return give_table_group(fold, group_of_entry(fold, entry));
}

static void
forget_current_value(GroupFoldState *fold)
{
	ResetExprContext(fold->css.ss.ps.ps_ExprContext);
	ResetExprContext(fold->comparing);
}

static void
leave_group(GroupFoldState *fold)
{
	ExecClearTuple(fold->css.ss.ss_ScanTupleSlot);
	ExecClearTuple(fold->group_keys);
	fold->builder = NULL;
}

/* Create the marks, sized by the expected groups or, if greater, by the number that filled the table. */
static void
begin_marking(GroupFoldState *fold)
{
	uint64		n_groups = Max((uint64) fold->expected_groups, (uint64) fold->table->hashtab->members * 8);

	if (fold->marks != NULL)
		return;
	n_groups = Min(n_groups, INT_MAX);
	fold->marks = MemoryContextAllocHuge(fold->spill_memory, marks_size(n_groups));
	begin_marks(fold->marks, n_groups);
}

/* Spill the current group: to its part if other rows of it may be there, or to the spill file. */
static void
spill_group(GroupFoldState *fold, TupleHashEntry entry)
{
	const TupleTableSlot *given;

	fold->usage.n_spilled++;
	if (fold->scattered || !mark_group(fold->marks, entry->hash))
		scatter_group(fold, entry->hash);
	else
	{
		given = give_group(fold);
		spill_value(fold->spill, entry->hash, tuple_hash_first(entry), given->tts_isnull[fold->n_keys] ? NULL :
					(const struct varlena *) DatumGetPointer(given->tts_values[fold->n_keys]));
	}
}

/* Spill all groups of the table. */
static void
spill_table(GroupFoldState *fold)
{
	TupleHashEntry entry;
	MemoryContext old;

	note_memory(fold);
	begin_marking(fold);
	if (fold->spill == NULL && !fold->scattered)
	{
		old = MemoryContextSwitchTo(fold->spill_memory);
		fold->spill = create_spill(Max(Min(SPILL_BUFFER, hash_memory_limit() / 8) / BLCKSZ, 1) * BLCKSZ);
		MemoryContextSwitchTo(old);
	}
	begin_giving_table(fold);
	while ((entry = next_entry(fold)) != NULL)
	{
		enter_group(fold, group_of_entry(fold, entry));
		spill_group(fold, entry);
		forget_current_value(fold);
	}
	leave_group(fold);
	begin_table(fold, fold->scattered ? 1 : fold->expected_groups);
}

/* Start scattering: from now on every row goes into its part. */
static void
begin_scattering(GroupFoldState *fold)
{
	fold->scattered = true;
	begin_marking(fold);
	mark_everything(fold->marks);
	if (fold->parts == NULL)
		begin_parts(fold, NULL);
	spill_table(fold);
	fold->context_slot = fold->keys;
}

/*
 * Are rows scattered, going by the rows since the last check?  Not near the expected end: that would spill the
 * whole table for a few rows, such as those of the rollouts themselves, which come from another table.
 */
static bool
rows_are_scattered(GroupFoldState *fold)
{
	uint64		n_rows = fold->n_rows - fold->rows_before;
	double		expected = outerPlan(fold->css.ss.ps.plan)->plan_rows;

	fold->rows_before = fold->n_rows;
	return n_rows < TURNS_LOOKED_AT * SCATTERED_RUN &&
		(fold->n_rows < expected * NEARLY_ALL || fold->n_rows > expected / NEARLY_ALL);
}

/* Make the group of the current row the current group.  False: the row goes into its part instead. */
static pg_noinline bool
find_group(GroupFoldState *fold)
{
	Size		used = MemoryContextMemAllocated(fold->table_memory, false);
	Record		record;
	TableGroup **known;

	if (++fold->n_turns % TURNS_LOOKED_AT == 0 && rows_are_scattered(fold) && used > Min(CACHE_SIZE, fold->limit / 8))
	{
		begin_scattering(fold);
		return false;
	}
	if (used > fold->limit)
		spill_table(fold);
	else if (fold->builder != NULL)
		group_builder_pause(fold->builder);
	record_of_keys(fold, &record);
	known = place_of_image(fold, &record);
	if (!is_image_of(*known, &record))
	{
		show_keys(fold);
		*known = look_group_up(fold, &record, true);
		(void) builder_of(fold, *known);
	}
	ResetExprContext(fold->comparing);
	enter_group(fold, *known);
	return true;
}

static void
hash_rows(GroupFoldState *fold)
{
	fold->n_rows = fold->n_turns = fold->rows_before = 0;
	fold->usage_before = fold->usage;
	begin_table(fold, fold->expected_groups);
	while (next_input(&fold->input))
	{
		fold->n_rows++;
		if (!fold->scattered && ((fold->builder != NULL && has_same_keys(fold)) || find_group(fold)))
		{
			add_row(fold);
			fold->n_rows += add_following_rows(fold);
		}
		else
			scatter_row(fold);
	}
	fold->context_slot = fold->group_keys;
	note_memory(fold);
}

/* ----------
 * Several tables: one after the other, or of several processes
 * ----------
 */

static void
scatter_divided_of_spill(GroupFoldState *fold)
{
	uint32		hash;
	MinimalTuple keys;
	struct varlena *value;

	begin_spilled(fold->spill, fold->marks, true);
	while (next_spilled(fold->spill, &hash, &keys, &value))
	{
		ExecStoreMinimalTuple(keys, fold->group_keys, false);
		slot_getallattrs(fold->group_keys);
		scatter_value(fold, hash, value);
		forget_current_value(fold);
	}
}

/* Move a group from the table to its part. */
static void
scatter_entry(GroupFoldState *fold, TupleHashEntry entry)
{
	enter_group(fold, group_of_entry(fold, entry));
	scatter_group(fold, entry->hash);
	forget_current_value(fold);
	*tuple_hash_place(fold->table, entry) = NULL;
}

/*
 * A process that started earlier, or had more processor time, has folded more rows than others, and would also
 * take longer to finish its groups.  It moves what exceeds a fair share to parts, for idle processes to take.
 */
static void
scatter_surplus(GroupFoldState *fold, uint64 n_divided)
{
	uint64		n_groups = fold->usage.n_spilled - fold->usage_before.n_spilled + fold->table->hashtab->members;
	uint64		n_rows = fold->n_rows - (fold->usage.n_scattered - fold->usage_before.n_scattered);
	double		rows_a_group = (double) n_rows / Max(n_groups, 1);
	double		surplus = (n_groups - n_divided) * rows_a_group - rows_a_process(fold->exchange) * FAIR_SHARE;
	TupleHashEntry entry;

	if (surplus <= 0)
		return;
	begin_giving_table(fold);
	while (surplus > 0 && (entry = next_entry(fold)) != NULL)
		if (!is_divided(fold->marks, entry->hash))
		{
			scatter_entry(fold, entry);
			surplus -= rows_a_group;
		}
}

/*
 * Groups that other tables have too go into their parts, unless this process owns them.  The groups that remain
 * in the table and in the spill file are complete.
 */
static void
scatter_divided(GroupFoldState *fold)
{
	TupleHashEntry entry;
	uint64		n_divided = 0;

	begin_giving_table(fold);
	while ((entry = next_entry(fold)) != NULL)
	{
		mark_group(fold->marks, entry->hash);
		if (fold->exchange != NULL)
			claim_group(fold->exchange, entry->hash, group_of_entry(fold, entry)->builder->n_steps);
	}
	if (fold->exchange != NULL)
	{
		fold->usage.n_rows = fold->n_rows;
		tell_usage(fold->exchange, &fold->usage);
		await_marks(fold->exchange);
	}
	begin_giving_table(fold);
	while ((entry = next_entry(fold)) != NULL)
		if (is_divided(fold->marks, entry->hash) &&
			(fold->exchange == NULL || !is_own_group(fold->exchange, entry->hash)))
		{
			scatter_entry(fold, entry);
			n_divided++;
		}
	if (fold->exchange != NULL)
		scatter_surplus(fold, n_divided);
	if (fold->spill != NULL)
		scatter_divided_of_spill(fold);
	leave_group(fold);
	if (fold->parts != NULL)
		end_records(fold->parts);
}

void
fold_unsorted(GroupFoldState *fold)
{
	hash_rows(fold);
	if (fold->marks != NULL)
		scatter_divided(fold);
	note_memory(fold);
	begin_giving_table(fold);
	fold->phase = FROM_TABLE;
}

void
fold_with_others(GroupFoldState *fold)
{
	fold->usage.took_part = true;
	begin_parts(fold, fold->exchange);
	if (!join_exchange(fold->exchange))
	{
		begin_giving_parts(fold);
		return;
	}
	fold->marks = exchange_marks(fold->exchange);
	hash_rows(fold);
	scatter_divided(fold);
	await_values(fold->exchange);
	receive_groups(fold);
	tell_usage(fold->exchange, &fold->usage);
	begin_giving_table(fold);
	fold->phase = FROM_TABLE;
}

/* ----------
 * Returning spilled groups
 * ----------
 */

bool
begin_giving_spill(GroupFoldState *fold)
{
	if (fold->spill == NULL)
		return false;
	leave_group(fold);
	fold->table = NULL;
	MemoryContextReset(fold->table_memory);
	begin_spilled(fold->spill, fold->marks, false);
	fold->phase = FROM_SPILL;
	return true;
}

TupleTableSlot *
next_of_spill(GroupFoldState *fold)
{
	uint32		hash;
	MinimalTuple keys;
	struct varlena *value;

	if (!next_spilled(fold->spill, &hash, &keys, &value))
		return NULL;
	ExecStoreMinimalTuple(keys, fold->group_keys, false);
	slot_getallattrs(fold->group_keys);
	return give_value(fold, PointerGetDatum(value), value == NULL);
}

void
forget_spill(GroupFoldState *fold)
{
	if (fold->spill != NULL)
		close_spill(fold->spill);
	fold->spill = NULL;
	fold->marks = NULL;
	MemoryContextReset(fold->spill_memory);
}
