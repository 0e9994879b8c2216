/*
 * scattered.c
 *		Folds scattered rows, and groups for which there was no room, in parts.
 *
 * Rows and values are written to parts (parts.c), which are folded one after the other, each in a hash table
 * of its own.  Records of groups for which a table has no room are divided into further parts, which are folded
 * after the table's groups have been returned.
 */
#include "postgres.h"

#include "compat.h"
#include "group/row_codec.h"
#include "group/collected_rows.h"
#include "plan/fold/entries.h"
#include "plan/fold/current_group.h"
#include "plan/fold/parts.h"
#include "plan/fold/records.h"
#include "plan/fold/scattered.h"

/* ----------
 * Writing to parts
 * ----------
 */

double
expected_bytes(const GroupFoldState *fold)
{
	return outerPlan(fold->css.ss.ps.plan)->plan_rows * (fold->n_keys + fold->n_args) * sizeof(int64);
}

void
begin_parts(GroupFoldState *fold, ExchangeAccess *exchange)
{
	fold->parts = create_parts(fold->parts_memory, expected_bytes(fold), hash_memory_limit(), exchange);
	fold->usage.n_parts = exchange ? 0 : fold->parts->n_taking;
}

/* If equal keys have equal images, hash the images.  The high bits select the part, so they must be well mixed. */
static inline uint32
hash_of_images(const GroupFoldState *fold, const TupleTableSlot *keys)
{
	uint64		bits = 0;

	for (int k = 0; k < fold->n_keys; k++)
	{
		bits += keys->tts_isnull[k] ? 1 : (uint64) keys->tts_values[k];
		bits = (bits ^ (bits >> 32)) * UINT64CONST(0x9E3779B97F4A7C15);
	}
	return (bits ^ (bits >> 29)) * UINT64CONST(0xBF58476D1CE4E5B9) >> 32;
}

/* The hash of the current keys. */
static uint32
hash_of_keys(const GroupFoldState *fold)
{
	return fold->keys_are_images ? hash_of_images(fold, fold->keys) : TupleHashTableHash(fold->table, fold->keys);
}

/* The most common case: a plain step.  False: it is not one, and nothing was written. */
static inline bool
scatter_stored_step(GroupFoldState *fold)
{
	RecordParts *parts = fold->parts;
	StepRow		step;
	int			part;
	char	   *record;
	char	   *end;

	if (!fold->keys_are_images || fold->has_filter || !read_stored_step(&fold->input, &step) || !is_plain_step(&step))
		return false;
	for (int k = 0; k < fold->n_keys; k++)
		if (fold->keys->tts_isnull[k])
			return false;
	part = part_of_hash(parts, hash_of_images(fold, fold->keys));
	record = begin_record(parts, part, 1 + fold->image_size + MAX_ENCODED_STEP);
	*record = RECORD_HAS_ROW;
	end = write_words_image(fold, record + 1);
	end_record(parts, part, encode_plain_step(end, &step, &row_before_first));
	fold->usage.n_scattered++;
	return true;
}

/* A FILTER or lenient handling can leave a group without rows; it is written all the same. */
void
scatter_row(GroupFoldState *fold)
{
	double		rewards[MAX_REWARDS];
	StepRow		step;
	bool		has_row;
	Size		size;
	int			part;
	char	   *record;
	char	   *end;

	if (scatter_stored_step(fold))
		return;
	show_keys(fold);
	part = part_of_hash(fold->parts, hash_of_keys(fold));
	push_group_context(fold);
	has_row = read_row(fold, rewards, &step);
	pop_group_context(fold);
	size = image_limit(fold, fold->keys) + (has_row ? encoded_size_limit(&step) : 0);
	record = begin_record(fold->parts, part, size);
	*record = has_row ? RECORD_HAS_ROW : 0;
	end = write_image(fold, fold->keys, record);
	if (has_row)
		end = encode_step(end, &step, &row_before_first);
	end_record(fold->parts, part, end);
	if (!fold->keys_are_images)
		ResetExprContext(fold->comparing);
	fold->usage.n_scattered++;
}

void
scatter_value(GroupFoldState *fold, uint32 hash, const struct varlena *value)
{
	int			part = -1;
	char	   *record;
	char	   *end;

	if (fold->parts == NULL)
		begin_parts(fold, fold->exchange);
	if (fold->exchange != NULL && is_divided(fold->marks, hash))
		part = owner_of_group(fold->exchange, hash);
	part = part >= 0 ? fold->parts->first + fold->parts->n_taking + part :
		part_of_hash(fold->parts, fold->keys_are_images ? hash_of_images(fold, fold->group_keys) : hash);
	record = begin_record(fold->parts, part, image_limit(fold, fold->group_keys) + (value == NULL ? 0 : sizeof(uint32) + VARSIZE(value)));
	*record = value == NULL ? 0 : RECORD_HAS_VALUE;
	end = write_image(fold, fold->group_keys, record);
	if (value != NULL)
		end = write_value(end, value);
	end_record(fold->parts, part, end);
	if (fold->exchange != NULL)
		fold->usage.n_exchanged++;
}

void
scatter_group(GroupFoldState *fold, uint32 hash)
{
	const TupleTableSlot *given = give_group(fold);

	scatter_value(fold, hash, given->tts_isnull[fold->n_keys] ? NULL :
				  (const struct varlena *) DatumGetPointer(given->tts_values[fold->n_keys]));
}

/* ----------
 * Folding a part
 * ----------
 */

/* Is there no room for another group?  An empty table always has room for one. */
static inline bool
table_is_full(const GroupFoldState *fold)
{
	return fold->table->hashtab->members > 0 && MemoryContextMemAllocated(fold->table_memory, false) > fold->limit;
}

/* Find the group of a record, and show its keys.  NULL: there is no room for it. */
static pg_noinline TableGroup *
find_part_group(GroupFoldState *fold, const Record *record)
{
	MemoryContext old = MemoryContextSwitchTo(fold->comparing->ecxt_per_tuple_memory);

	show_image(fold, record);
	MemoryContextSwitchTo(old);
	/* After the first division no group is added, even if memory was freed: it may have records in the new parts. */
	return look_group_up(fold, record, !fold->divides && !table_is_full(fold));
}

static void
add_value(GroupFoldState *fold, TableGroup *group, const Record *record)
{
	MemoryContext old = MemoryContextSwitchTo(fold->table_memory);
	struct varlena *value = copy_value(record);

	if (group->builder == NULL && group->value == NULL)
		group->value = value;
	else
	{
		group_builder_add_group(builder_of(fold, group), (RolloutGroup *) value);
		pfree(value);
	}
	MemoryContextSwitchTo(old);
}

/* Move a record, whose keys are shown, to the parts that divide this one. */
static void
divide_record(GroupFoldState *fold, const char *record, const char *end)
{
	RecordParts *parts = fold->parts;
	int			part;
	char	   *place;

	if (!fold->divides)
		divide_part(parts, &fold->part);
	fold->divides = true;
	part = part_of_hash(parts, hash_of_keys(fold));
	place = begin_record(parts, part, end - record);
	memcpy(place, record, end - record);
	end_record(parts, part, place + (end - record));
}

static void
fold_block(GroupFoldState *fold, const RecordBlock *block)
{
	const char *position = block->records;
	const char *end = (const char *) block + block->size;
	Record		record;
	StepRow		row;

	while (position < end)
	{
		const char *start = position;
		TableGroup **known;
		TableGroup *group;

		open_record(fold, position, &record);
		position = record.content;
		if (record.kind & RECORD_HAS_ROW)
			position = decode_step(position, &row, &row_before_first);
		else if (record.kind & RECORD_HAS_VALUE)
			position = skip_value(&record);
		known = place_of_image(fold, &record);
		group = *known;
		if (!is_image_of(group, &record))
		{
			group = find_part_group(fold, &record);
			if (group == NULL)
				divide_record(fold, start, position);
			ResetExprContext(fold->comparing);
			if (group == NULL)
				continue;
			*known = group;
		}
		fold->context_keys = group->keys;
		if (record.kind & RECORD_HAS_ROW)
			group_builder_add(builder_of(fold, group), &row);
		else if (record.kind & RECORD_HAS_VALUE)
			add_value(fold, group, &record);
	}
}

/* A table for about as many groups as the part has. */
static void
begin_part_table(GroupFoldState *fold)
{
	RecordParts *parts = fold->parts;

	begin_table(fold, Max(fold->expected_groups * fold->part.share, 1));
	fold->limit = Max(fold->limit / 4, fold->limit - Min(fold->limit, parts->used));
}

/* Fold all blocks of a part into the table. */
static void
fold_blocks(GroupFoldState *fold)
{
	RecordParts *parts = fold->parts;
	RecordBlock *block;

	fold->divides = false;
	fold->context_slot = fold->group_keys;
	push_group_context(fold);
	if (fold->receives)
		while ((block = receive_block(fold->exchange)) != NULL)
			fold_block(fold, block);
	fold->receives = false;
	while ((block = take_block(parts, &fold->part)) != NULL)
	{
		fold_block(fold, block);
		free_block(parts, block);
	}
	if (fold->divides)
		end_records(parts);
	pop_group_context(fold);
	fold->context_keys = NULL;
	note_memory(fold);
}

void
receive_groups(GroupFoldState *fold)
{
	take_own_part(fold->exchange);
	fold->receives = true;
	fold->part = (RecordPart) {.share = 1};
	fold_blocks(fold);
}

/* False: there is none. */
static bool
begin_next_part(GroupFoldState *fold)
{
	if (take_last_part(fold->parts, &fold->part))
		return true;
	fold->receives = fold->exchange != NULL && take_part(fold->exchange);
	return fold->receives;
}

/* ----------
 * Returning groups
 * ----------
 */

void
begin_giving_parts(GroupFoldState *fold)
{
	end_records(fold->parts);
	fold->table = NULL;
	fold->phase = FROM_PARTS;
}

TupleTableSlot *
next_of_parts(GroupFoldState *fold)
{
	TupleHashEntry entry = NULL;

	for (;;)
	{
		if (fold->table != NULL)
			entry = next_entry(fold);
		if (entry != NULL)
			return give_table_group(fold, group_of_entry(fold, entry));
		ExecClearTuple(fold->group_keys);
		fold->table = NULL;
		if (!begin_next_part(fold))
		{
			fold->phase = FINISHED;
			return NULL;
		}
		begin_part_table(fold);
		fold_blocks(fold);
		begin_giving_table(fold);
		if (fold->exchange != NULL)
			tell_usage(fold->exchange, &fold->usage);
	}
}

void
forget_parts(GroupFoldState *fold)
{
	if (fold->parts != NULL)
		free_parts(fold->parts);
	fold->parts = NULL;
	fold->scattered = false;
	fold->receives = false;
}
