/*
 * mlp.h
 *		An estimator of progress with one hidden layer.
 */
#ifndef STEPADV_PROGRESS_MLP_H
#define STEPADV_PROGRESS_MLP_H

#include "progress/value.h"

/* Steps of a rollout, with its outcome. */
typedef struct MlpRollout
{
	double		outcome;
	uint64		first;			/* of its steps */
	uint64		end;
} MlpRollout;

typedef struct MlpTraining
{
	const float *const *x;		/* by step */
	const MlpRollout *rollouts;
	uint64		n_rollouts;
	uint32		most_steps;		/* of a rollout */

	int			epochs;
	int			batch_size;		/* rollouts */
	double		learning_rate;
	int64		seed;
} MlpTraining;

/*
 * A step's contribution; `active`, unless NULL, takes the output of each hidden
 * unit.
 */
extern double mlp_forward(const ProgressValue *model, const float *x, double *active);

/* Weights of a model in native form from the seed, then trained; its lambda is the penalty. */
extern void mlp_train(ProgressValue *model, const MlpTraining *training);

#endif							/* STEPADV_PROGRESS_MLP_H */
