/*
 * value.h
 *		progress_model: a linear estimator of progress.
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
	PROGRESS_LINEAR = 1,		/* a weight for each feature */
	PROGRESS_SPARSE = 2			/* for the places that occurred */
} ProgressKind;

/* Bits of flags. */
#define PROGRESS_LOGISTIC 0x0001	/* contributions add up to log-odds */

typedef struct ProgressModel
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	uint8		version;
	uint8		kind;
	uint16		flags;
	uint32		dimension;		/* weights */
	uint32		unused;			/* 0 */
	int64		n_rollouts;		/* that it was fitted on */
	int64		n_steps;
	double		numbers[FLEXIBLE_ARRAY_MEMBER];
} ProgressModel;

#define MODEL_LAMBDA 0
#define MODEL_INTERCEPT 1		/* of a rollout, outside of its contributions */
#define MODEL_WEIGHTS 2			/* dimension entries */
#define MODEL_PLACES(model) (MODEL_WEIGHTS + (Size) (model)->dimension)	/* of each weight of a sparse model, ascending */

/* Places of sparse features count from 1; so many are a table of 128 MB at most. */
#define MOST_PLACES 16777216

/* A zeroed model; error if it would be too large. */
extern ProgressModel *progress_allocate(ProgressKind kind, uint64 dimension);

/* A finished model to its stored form, in place. */
extern ProgressModel *progress_seal(ProgressModel *model);

/* A detoasted argument in native form: itself, where the machine allows it; sqlstate: of a header that is wrong. */
extern ProgressModel *progress_open(struct varlena *bytes, int sqlstate);

/*
 * A model that comes as an argument with every row, usually the same: where it
 * is stored out of line, what was fetched is kept in flinfo.
 */
extern const ProgressModel *progress_model_argument(FmgrInfo *flinfo, Datum datum);

#endif							/* STEPADV_PROGRESS_VALUE_H */
