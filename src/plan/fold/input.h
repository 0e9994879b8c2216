/*
 * input.h
 *		The rows that a GroupFold reads from below, with as little work as they allow.
 */
#ifndef STEPADV_FOLD_INPUT_H
#define STEPADV_FOLD_INPUT_H

#include "nodes/execnodes.h"

#include "group/row.h"

/* A column that is read, of rows that are as a table has stored them. */
typedef struct StoredColumn
{
	Datum	   *value;			/* where it goes */
	bool	   *isnull;
	uint32		offset;			/* from where a row's data begin, as long as nothing before it is NULL */
	int16		length;
	bool		by_value;
	AttrNumber	position;		/* from 0 */
} StoredColumn;

/* Where the columns are of rows in which these have a value and the others are NULL. */
typedef struct StoredLayout
{
	uint64		present;		/* a bit for each column up to the last that is read */
	uint32	   *offsets;		/* of these; NULL: this is none yet */
	uint32		of_args[ROW_SUCCESS + 1];	/* of the arguments, where they make a step: */
	bool		has_step;		/* what every step has is there; */
	bool		has_reward;
	bool		has_success;
	uint8		nulls;			/* NULL_… of it */
} StoredLayout;

/* Rows mostly have the same columns NULL. */
#define LAYOUT_BITS 2

typedef struct FoldInput
{
	PlanState  *below;
	const AttrNumber *positions;	/* what is read, from 1: */
	int			first_arg;		/* of these the arguments of the aggregate */
	int			n_args;
	AttrNumber	last_position;	/* the greatest */
	bool		is_placed;		/* columns are where they are in every row: */
	int			n_words;		/* those passed by value that fill a Datum, */
	StoredColumn *words;
	int			n_others;		/* and the others */
	StoredColumn *others;
	bool		plain_scan;		/* below is a scan of a table that does nothing to its rows */
	struct TupleTableSlot *slot;	/* in which its rows come */
	struct TableScanDescData *scan; /* it, once it has begun; NULL: ask below */
	struct HeapScanDescData *pages; /* it, if it reads whole pages, from which rows can be taken without it; or NULL */
	bool		reads_step;		/* the arguments are columns that make a step, and can be read as one: */
	const char *stored_step;	/* where the data of the row at hand begin, if it is read as a step; or NULL */
	const StoredLayout *layout; /* of this row */
	StoredLayout whole;			/* of rows in which nothing is NULL */
	StoredLayout layouts[1 << LAYOUT_BITS]; /* of late, by a hash */
	NullableDatum args[MAX_ROW_ARGS];	/* of the row at hand, if it is not read so */
} FoldInput;

/*
 * Of each row `positions` are read, `n` of them, numbered from 1.  From `first_arg` on
 * `n_args` are arguments, the others stand in the row's tts_values and tts_isnull.
 */
extern void prepare_input(FoldInput *input, PlanState *below, const AttrNumber *positions, int n, int first_arg, int n_args);

/* Before the first row, also of a rescan. */
static inline void
begin_input(FoldInput *input)
{
	input->scan = NULL;
	input->pages = NULL;
}

/* Is the row at hand a step that can be read from where it is stored? */
static inline bool
read_stored_step(const FoldInput *input, StepRow *step)
{
	const char *data = input->stored_step;
	const StoredLayout *layout = input->layout;
	const uint32 *offsets = layout->of_args;

	if (data == NULL || unlikely(!layout->has_step))
		return false;
	step->step_id = *(const int64 *) (data + offsets[ROW_STEP_ID]);
	step->rollout_id = *(const int64 *) (data + offsets[ROW_ROLLOUT_ID]);
	step->step_no = *(const int32 *) (data + offsets[ROW_STEP_NO]);
	step->nulls = layout->nulls;
	step->state = (layout->nulls & NULL_STATE) ? 0 : *(const int64 *) (data + offsets[ROW_STATE]);
	step->action = (layout->nulls & NULL_ACTION) ? 0 : *(const int64 *) (data + offsets[ROW_ACTION]);
	step->is_rollout = false;
	step->parts = 0;
	step->success = !layout->has_success ? SUCCESS_UNKNOWN :
		*(const bool *) (data + offsets[ROW_SUCCESS]) ? SUCCESS_TRUE : SUCCESS_FALSE;
	step->reward = NAN;
	if (!layout->has_reward)
		return true;
	step->reward = *(const double *) (data + offsets[ROW_REWARD]);
	/* What is to be refused or forgiven is for others to say. */
	return likely(fabs(step->reward) <= LARGEST_FORGIVEN);
}

/* What there is to be said of the row at hand as arguments, where it was not read as a step. */
extern void read_arguments(FoldInput *input, TupleTableSlot *row);

/* The next row, of which no more may be there than what is read; NULL after the last. */
extern TupleTableSlot *next_input(FoldInput *input);

#endif							/* STEPADV_FOLD_INPUT_H */
