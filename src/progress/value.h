/*
 * value.h
 *		progress_statistics and progress_model: two varlenas of one layout.
 *
 * Header, then 64-bit floats, as many as kind and dimension say; all
 * little-endian on every machine, native only between progress_open and
 * progress_seal.
 */
#ifndef STEPADV_PROGRESS_VALUE_H
#define STEPADV_PROGRESS_VALUE_H

#include "fmgr.h"

/* Old versions must be read forever. */
#define PROGRESS_VERSION 1

typedef enum ProgressKind
{
	PROGRESS_STATISTICS = 1,
	PROGRESS_LINEAR = 2,
	PROGRESS_MLP = 3
} ProgressKind;

/* The SQL types, of which one holds two kinds. */
typedef enum ProgressType
{
	TYPE_STATISTICS,
	TYPE_MODEL
} ProgressType;

/* Bits of flags. */
#define PROGRESS_HAS_INTERCEPT 0x0001

typedef struct ProgressValue
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	uint8		version;
	uint8		kind;
	uint16		flags;
	uint32		dimension;		/* of the features */
	uint32		width;			/* of the hidden layer; 0 where there is none */
	int64		n_rollouts;		/* that it was fitted on */
	int64		n_steps;
	double		numbers[FLEXIBLE_ARRAY_MEMBER];
} ProgressValue;

/*
 * Numbers of statistics.  Z is the feature vector summed over a rollout's steps
 * with the number of steps as its last entry, R the rollout's outcome.
 */
#define STATISTICS_OUTCOME 0	/* sum of R */
#define STATISTICS_SQUARE 1		/* sum of R R */
#define STATISTICS_PRODUCTS 2	/* sum of R Z: dimension + 1 entries */
#define STATISTICS_GRAM(dimension) (STATISTICS_PRODUCTS + (Size) (dimension) + 1)	/* sum of Z Z', packed lower triangle */

/* Numbers of a model. */
#define MODEL_LAMBDA 0
#define MODEL_INTERCEPT 1
#define LINEAR_WEIGHTS 2		/* dimension entries */
#define MLP_HIDDEN_WEIGHTS 2	/* width rows of dimension entries */
#define MLP_HIDDEN_BIAS(value) (MLP_HIDDEN_WEIGHTS + (Size) (value)->width * (value)->dimension)
#define MLP_WEIGHTS(value) (MLP_HIDDEN_BIAS(value) + (value)->width)

/* A zeroed value; error if it would be too large. */
extern ProgressValue *progress_allocate(ProgressKind kind, uint64 dimension, uint64 width);

/* A finished value to its stored form, in place. */
extern ProgressValue *progress_seal(ProgressValue *value);

/* A detoasted argument in native form: itself, where the machine allows it. */
extern ProgressValue *progress_open(struct varlena *value, ProgressType type);

/*
 * A model that comes as an argument with every row, usually the same: where it
 * is stored out of line, what was fetched is kept in flinfo.
 */
extern const ProgressValue *progress_model_argument(FmgrInfo *flinfo, Datum datum);

#endif							/* STEPADV_PROGRESS_VALUE_H */
