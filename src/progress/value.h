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

/*
 * Old versions must be read forever.  Version 1 is the first, and what
 * it could say is still said in it; version 2 is
 * - statistics that know the sums of the features over rollouts;
 * - linear models with an intercept of the rollout, or of another loss;
 * - all sparse models.
 */
#define PROGRESS_VERSION_1 1
#define PROGRESS_VERSION_2 2

typedef enum ProgressKind
{
	PROGRESS_STATISTICS = 1,
	PROGRESS_LINEAR = 2,
	PROGRESS_SPARSE = 4
} ProgressKind;

/* The SQL types, of which one holds several kinds. */
typedef enum ProgressType
{
	TYPE_STATISTICS,
	TYPE_MODEL
} ProgressType;

/* Bits of flags, of models; all but the first are of version 2. */
#define PROGRESS_HAS_INTERCEPT 0x0001
#define PROGRESS_OF_ROLLOUT 0x0002	/* the intercept: once per rollout, not in each step */
#define PROGRESS_LOGISTIC 0x0004	/* contributions add up to log-odds */
#define PROGRESS_FLAGS_1 PROGRESS_HAS_INTERCEPT
#define PROGRESS_FLAGS_2 (PROGRESS_HAS_INTERCEPT | PROGRESS_OF_ROLLOUT | PROGRESS_LOGISTIC)

typedef struct ProgressValue
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	uint8		version;
	uint8		kind;
	uint16		flags;
	uint32		dimension;		/* of the features */
	uint32		unused;			/* 0 */
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
#define STATISTICS_GRAM(dimension) (STATISTICS_PRODUCTS + (uint64) (dimension) + 1)	/* sum of Z Z', packed lower triangle */
#define STATISTICS_SUMS(dimension) \
	(STATISTICS_GRAM(dimension) + ((uint64) (dimension) + 1) * ((uint64) (dimension) + 2) / 2)	/* version 2: sum of Z */

/* Numbers of a model. */
#define MODEL_LAMBDA 0
#define MODEL_INTERCEPT 1
#define LINEAR_WEIGHTS 2		/* dimension entries */
#define SPARSE_PLACES(value) (LINEAR_WEIGHTS + (Size) (value)->dimension)	/* of each weight, ascending */

/* Places of sparse features count from 1; so many are a table of 128 MB at most. */
#define MOST_PLACES 16777216

/* A zeroed value; error if it would be too large. */
extern ProgressValue *progress_allocate(ProgressKind kind, int version, uint64 dimension);

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
