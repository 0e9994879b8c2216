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
	int64		rollout_id;
	int64		group_id;
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
	bool		tells;			/* of the error, ten times */

	/* After each epoch, unless NULL: whether to go on. */
	bool		(*after_epoch) (const ProgressValue *model, int epoch, void *arg);
	void	   *after_epoch_arg;
} MlpTraining;

/*
 * A step's contribution; `active`, unless NULL, takes the output of each hidden
 * unit.
 */
extern double mlp_forward(const ProgressValue *model, const float *x, double *active);

/* Of the model's prediction for a rollout. */
extern double mlp_squared_error(const ProgressValue *model, const MlpTraining *training, const MlpRollout *rollout);

/* Weights of a model in native form from the seed, then trained; its lambda is the penalty. */
extern void mlp_train(ProgressValue *model, const MlpTraining *training);

#endif							/* STEPADV_PROGRESS_MLP_H */
