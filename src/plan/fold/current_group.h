/*
 * current_group.h
 *		The current group of a GroupFold: its keys, its rows, its value.
 */
#ifndef STEPADV_GROUP_FOLD_CURRENT_GROUP_H
#define STEPADV_GROUP_FOLD_CURRENT_GROUP_H

#include "executor/tuptable.h"
#include "utils/datum.h"

#include "plan/fold/group_fold_state.h"

/* ----------
 * Error context that names the group
 * ----------
 */

/* Called when the node starts. */
extern void prepare_group_context(GroupFoldState *fold);

/* Errors between these two calls name the current group. */
static inline void
push_group_context(GroupFoldState *fold)
{
	fold->group_context.previous = error_context_stack;
	error_context_stack = &fold->group_context;
}

static inline void
pop_group_context(GroupFoldState *fold)
{
	error_context_stack = fold->group_context.previous;
}

/* ----------
 * The group
 * ----------
 */

/* Mark fold->keys as valid, so that other code can read the keys of the current row there. */
static inline void
show_keys(GroupFoldState *fold)
{
	if (TTS_EMPTY(fold->keys))
		ExecStoreVirtualTuple(fold->keys);
}

/* Are the keys of the current row equal to those of the current group? */
extern bool is_of_group(GroupFoldState *fold);

/* Create the builder of a new group in the table. */
extern GroupBuilder *create_builder(GroupFoldState *fold);

/* Begin a group outside the table, with the keys of the current row. */
extern void begin_group(GroupFoldState *fold);

/*
 * The result row of the current group, valid until the next one is requested: with the given value, or with
 * the value of the builder.
 */
extern TupleTableSlot *give_value(GroupFoldState *fold, Datum value, bool isnull);
extern TupleTableSlot *give_group(GroupFoldState *fold);

/* Do two keys have the same binary image? */
static inline bool
is_same_key(Datum a, Datum b, int16 length)
{
	const struct varlena *x = (const struct varlena *) DatumGetPointer(a);
	const struct varlena *y = (const struct varlena *) DatumGetPointer(b);

	if (length > 0)
		return memcmp(x, y, length) == 0;
	if (length == -1 && VARATT_IS_SHORT(x) && VARATT_IS_SHORT(y))
		return *(const uint8 *) x == *(const uint8 *) y && memcmp(x, y, VARSIZE_ANY(x)) == 0;
	return datum_image_eq(a, b, false, length);
}

/* Are the keys of the current row identical to those of the current group?  Keys that differ may still be equal. */
static inline bool
has_same_keys(const GroupFoldState *fold)
{
	const TupleTableSlot *row = fold->keys;
	const TupleTableSlot *group = fold->group_keys;

	for (int k = 0; k < fold->n_keys; k++)
	{
		Datum		value = row->tts_values[k];
		bool		isnull = row->tts_isnull[k];

		if (isnull != group->tts_isnull[k])
			return false;
		if (!isnull && value != group->tts_values[k])
		{
			Form_pg_attribute key = TupleDescAttr(row->tts_tupleDescriptor, k);

			if (key->attbyval || !is_same_key(value, group->tts_values[k], key->attlen))
				return false;
		}
	}
	return true;
}

/* The step of the current row; false if the row does not count. */
static inline bool
read_row(GroupFoldState *fold, double rewards[MAX_REWARDS], StepRow *step)
{
	if (fold->has_filter)
	{
		const NullableDatum *filter = &fold->input.args[fold->n_args];

		if (filter->isnull || !DatumGetBool(filter->value))
			return false;
	}
	if (read_stored_step(&fold->input, step))
		return true;
	if (fold->input.stored_step != NULL)
		read_arguments(&fold->input);
	return read_step_row(fold->input.args, fold->n_args, fold->lenient, rewards, step);
}

/*
 * Add the rows that follow the current row on its page, as long as they are the next steps of the same rollout
 * (run.c).  Returns how many.
 */
extern uint32 add_following_rows(GroupFoldState *fold);

/* Add the current row to the current group. */
static inline void
add_row(GroupFoldState *fold)
{
	double		rewards[MAX_REWARDS];
	StepRow		step;

	push_group_context(fold);
	if (read_row(fold, rewards, &step))
		group_builder_add(fold->builder, &step);
	pop_group_context(fold);
}

#endif							/* STEPADV_GROUP_FOLD_CURRENT_GROUP_H */
