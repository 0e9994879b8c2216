/*
 * group.h
 *		The group that a GroupFold is at: its keys, its rows, its value.
 *
 * `positions` say where in a row the keys are.
 */
#ifndef STEPADV_GROUP_FOLD_GROUP_H
#define STEPADV_GROUP_FOLD_GROUP_H

#include "executor/tuptable.h"
#include "utils/datum.h"

#include "plan/fold/blame.h"

/* Put the keys of a row into fold->keys. */
extern void show_keys(GroupFoldState *fold, const AttrNumber *positions, const TupleTableSlot *row);

/* Are the keys of a row those of the current group, or equal to them? */
extern bool is_of_group(GroupFoldState *fold, const AttrNumber *positions, const TupleTableSlot *row);

/* The builder of a new group of the table. */
extern GroupBuilder *create_builder(GroupFoldState *fold);

/* A group that is not in the table, of the keys of a row. */
extern void begin_group(GroupFoldState *fold, const AttrNumber *positions, const TupleTableSlot *row);

/*
 * The row of the current group, which lives until the next one is asked for: with
 * this value, or with what has been folded.
 */
extern TupleTableSlot *give_value(GroupFoldState *fold, Datum value, bool isnull);
extern TupleTableSlot *give_group(GroupFoldState *fold);

/* Has a row these very keys?  Others may be equal all the same. */
static inline bool
has_keys(const GroupFoldState *fold, const AttrNumber *positions, const TupleTableSlot *row, const Datum *values, const bool *nulls)
{
	for (int k = 0; k < fold->n_keys; k++)
	{
		Datum		value = row->tts_values[positions[k] - 1];
		bool		isnull = row->tts_isnull[positions[k] - 1];

		if (isnull != nulls[k])
			return false;
		if (!isnull && value != values[k])
		{
			Form_pg_attribute key = TupleDescAttr(fold->keys->tts_tupleDescriptor, k);

			if (key->attbyval || !datum_image_eq(value, values[k], false, key->attlen))
				return false;
		}
	}
	return true;
}

/* Those of the current group? */
static inline bool
has_same_keys(const GroupFoldState *fold, const AttrNumber *positions, const TupleTableSlot *row)
{
	return has_keys(fold, positions, row, fold->group_keys->tts_values, fold->group_keys->tts_isnull);
}

/* What the row at hand says of a step.  False: nothing that counts. */
static inline bool
read_row(GroupFoldState *fold, TupleTableSlot *row, double rewards[MAX_REWARDS], StepRow *step)
{
	if (fold->has_filter)
	{
		AttrNumber	filter = fold->positions[fold->n_keys + fold->n_args];

		if (row->tts_isnull[filter - 1] || !DatumGetBool(row->tts_values[filter - 1]))
			return false;
	}
	if (read_stored_step(&fold->input, step))
		return true;
	if (fold->input.stored_step != NULL)
		read_arguments(&fold->input, row);
	return read_step_row(fold->input.args, fold->n_args, fold->forgiving, rewards, step);
}

/* The row at hand into the current group. */
static inline void
add_row(GroupFoldState *fold, TupleTableSlot *row)
{
	double		rewards[MAX_REWARDS];
	StepRow		step;

	begin_blame(fold);
	if (read_row(fold, row, rewards, &step))
		group_builder_add(fold->builder, &step);
	end_blame(fold);
}

#endif							/* STEPADV_GROUP_FOLD_GROUP_H */
