#ifndef STEPADV_FOLD_INPUT_H
#define STEPADV_FOLD_INPUT_H

#include "nodes/execnodes.h"
#include "utils/uuid.h"

#include "compat.h"
#include "group/row.h"
#include "hash.h"

/* The offset of a column that is NULL. */
#define NOWHERE PG_UINT32_MAX

/* A column that is read from rows as stored in a table. */
typedef struct StoredColumn
{
	Datum	   *value;			/* where to store the value */
	bool	   *isnull;
	uint32		offset;			/* from the start of a row's data, or NOWHERE; */
	uint32		length;			/* and its length, in rows of a layout */
	bool		by_value;
	uint8		read_as;		/* ReadAs */
	AttrNumber	position;		/* from 0 */
} StoredColumn;

/* A value with a one-byte length header, before the last column that is read. */
typedef struct ShortValue
{
	uint32		offset;
	uint8		first_byte;
} ShortValue;

/* A range of bytes of a row. */
typedef struct StoredSpan
{
	uint32		offset;
	uint32		length;
} StoredSpan;

/* Column offsets of rows that have values in the same columns, with the same lengths. */
typedef struct StoredLayout
{
	uint64		present;		/* a bit per column up to the last one read; with NO_ROW, valid for one row only */
	int			n_short;
	ShortValue *short_values;
	StoredColumn *columns;		/* those that are read one by one */
	int			n_spans;
	StoredSpan *spans;			/* bytes that are equal if layout, keys and rollout are */
	uint32		of_args[ROW_SUCCESS + 1];	/* offsets of the arguments, if they make a step: */
	bool		has_step;		/* its required arguments have values, and others than a step's have none; */
	bool		has_reward;
	bool		has_success;
	uint8		nulls;			/* its NULL_… bits */
} StoredLayout;

#define NO_ROW (UINT64CONST(1) << 63)

/* Most rows have the same columns NULL, and ids of few lengths. */
#define N_LAYOUTS 8

/* How an input is derived from a column. */
typedef enum ReadAs
{
	READ_COLUMN,				/* unchanged */
	READ_INTEGER,				/* of 4 bytes, as a bigint */
	READ_SMALLINT,				/* of 2 bytes, as a bigint or an integer */
	READ_UUID_HASH,				/* signature_hash of a uuid, */
	READ_BYTES_HASH,			/* of text or bytea, */
	READ_ENUM_HASH,				/* of the label of an enum value, */
	READ_NUMERIC_HASH,			/* or of a numeric's digits */
	READ_STEP_HASH,				/* hash of the rollout's identity and the step number, which are inputs as well */
	READ_NULL					/* no column: always NULL */
} ReadAs;

/* An input, in rows of one source. */
typedef struct InputColumn
{
	Datum	   *value;			/* where to store the value */
	bool	   *isnull;
	ReadAs		read_as;
	AttrNumber	position;		/* from 0; -1: it is the constant */
	NullableDatum constant;
} InputColumn;

/* The source of rows: a table scan whose rows are read as stored, or any other node. */
typedef struct FoldSource
{
	PlanState  *state;
	InputColumn *columns;
	AttrNumber	last_position;	/* the last column that is read, from 1 */
	struct TupleTableSlot *slot;	/* slot with rows as stored; NULL: read the slot that the node returns */
	bool		plain_scan;		/* a scan whose filter and projection are applied here */
	int			n_required;		/* skip rows in which one of these is NULL */
	AttrNumber *required;		/* from 1 */
	struct TableScanDescData *scan; /* the scan, once it has begun; NULL: execute the node */
	struct HeapScanDescData *pages; /* the same, if it reads whole pages, whose rows can be read directly; or NULL */
	bool		is_placed;		/* columns are read from stored rows: */
	int			n_stored;		/* so many one by one */
	uint64		shared;			/* a bit per column that steps of one rollout share: keys, rollout */
	bool		reads_step;		/* the arguments are columns that make a step, and are read as one, */
	uint8		step_reads[ROW_SUCCESS + 1];	/* in these ways */
	StoredLayout *layout;		/* of the row before */
	StoredLayout layouts[N_LAYOUTS];	/* recent ones */
	int			next_layout;	/* the next to be replaced */
} FoldSource;

typedef struct FoldInput
{
	PlanState  *below;
	struct AppendState *append; /* below, if the rows of its children are read; or NULL */
	int			first_arg;		/* of the inputs: keys, then arguments, then the filter */
	int			n_args;
	bool		hashes_steps;	/* the step's identity is read as READ_STEP_HASH */
	int			n_columns;		/* number of inputs */
	FoldSource *sources;		/* one, or one per child of the Append */
	FoldSource *source;			/* of the current row; NULL: no row yet */
	struct TupleTableSlot *keys;	/* of the current row */
	const char *stored_step;	/* the data of the current row if it can be read as a step; or NULL */
	const StoredLayout *layout; /* its layout */
	NullableDatum args[MAX_ROW_ARGS + 1];	/* arguments of the current row otherwise, and the filter */
} FoldInput;

/* columns: where the n inputs are in a row from below, from 1; reads: how they are read; keys: slot for the keys. */
extern void prepare_input(FoldInput *input, PlanState *below, const AttrNumber *columns, const AttrNumber *reads, int n, int n_args,
						  struct TupleTableSlot *keys);

/* Call before the first row of each scan. */
static inline void
begin_input(FoldInput *input)
{
	input->source = NULL;
	input->stored_step = NULL;
}

/* An input, from the value of its column. */
extern Datum read_value(Datum value, ReadAs read_as);

/* A stored identity.  The most frequent cases come first. */
static inline int64
read_stored_word(const char *stored, uint8 read_as)
{
	if (likely(read_as == READ_COLUMN))
		return *(const int64 *) stored;
	if (read_as == READ_INTEGER)
		return *(const int32 *) stored;
	if (read_as == READ_SMALLINT)
		return *(const int16 *) stored;
	if (read_as == READ_BYTES_HASH && VARATT_IS_SHORT(stored) && !VARATT_IS_EXTERNAL(stored))
		return hash_bytes_64(VARDATA_SHORT(stored), VARSIZE_SHORT(stored) - VARHDRSZ_SHORT);
	if (read_as == READ_UUID_HASH)
		return hash_bytes_64(stored, UUID_LEN);
	return DatumGetInt64(read_value(read_as == READ_ENUM_HASH ? ObjectIdGetDatum(*(const Oid *) stored) :
									PointerGetDatum(stored), read_as));
}

/* Read the current row as a step where it is stored, if possible. same_rollout: step->rollout_id is already set. */
static pg_attribute_always_inline bool
read_next_stored_step(const FoldInput *input, bool same_rollout, StepRow *step)
{
	const char *data = input->stored_step;
	const StoredLayout *layout = input->layout;
	const uint32 *offsets;
	const uint8 *reads;

	if (data == NULL || unlikely(!layout->has_step))
		return false;
	offsets = layout->of_args;
	reads = input->source->step_reads;
	if (likely(!input->hashes_steps))
		step->step_id = read_stored_word(data + offsets[ROW_STEP_ID], reads[ROW_STEP_ID]);
	if (!same_rollout)
		step->rollout_id = read_stored_word(data + offsets[ROW_ROLLOUT_ID], reads[ROW_ROLLOUT_ID]);
	step->step_no = likely(reads[ROW_STEP_NO] == READ_COLUMN) ? *(const int32 *) (data + offsets[ROW_STEP_NO]) :
		*(const int16 *) (data + offsets[ROW_STEP_NO]);
	if (input->hashes_steps)
		step->step_id = hash_of_pair(step->rollout_id, step->step_no);
	step->nulls = layout->nulls;
	step->state = (layout->nulls & NULL_STATE) ? 0 : read_stored_word(data + offsets[ROW_STATE], reads[ROW_STATE]);
	step->action = (layout->nulls & NULL_ACTION) ? 0 : read_stored_word(data + offsets[ROW_ACTION], reads[ROW_ACTION]);
	step->is_rollout = false;
	step->parts = 0;
	step->success = !layout->has_success ? SUCCESS_UNKNOWN :
		*(const bool *) (data + offsets[ROW_SUCCESS]) ? SUCCESS_TRUE : SUCCESS_FALSE;
	step->reward = NAN;
	if (!layout->has_reward)
		return true;
	step->reward = *(const double *) (data + offsets[ROW_REWARD]);
	/* Errors and lenient handling are left to the caller. */
	return likely(fabs(step->reward) <= LARGEST_LENIENT);
}

static inline bool
read_stored_step(const FoldInput *input, StepRow *step)
{
	return read_next_stored_step(input, false, step);
}

/* Read the arguments of a current row that cannot be read as a step. */
extern void read_arguments(FoldInput *input);

/* The layout of a row that differs from the row before; NULL if the row lacks columns that were added later. */
extern StoredLayout *find_layout(const FoldInput *input, FoldSource *source, const HeapTupleHeader tuple);

/* Read the next row and set its keys; false after the last. */
extern bool next_input(FoldInput *input);

#endif							/* STEPADV_FOLD_INPUT_H */
