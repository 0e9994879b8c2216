/*
 * linear_model.c
 *		A linear model of progress, dense or by places, out of its weights.
 */
#include "postgres.h"

#include "progress/linear_model.h"

ProgressValue *
linear_model(const FitRows *rows, int dimension, const LinearFit *fit, const double *weight)
{
	const int32 *place = rows == NULL ? NULL : rows->place;
	uint16		flags = (fit->intercept == INTERCEPT_NONE ? 0 : PROGRESS_HAS_INTERCEPT) |
		(fit->intercept == INTERCEPT_ROLLOUT ? PROGRESS_OF_ROLLOUT : 0) |
		(fit->loss == LOSS_LOGISTIC ? PROGRESS_LOGISTIC : 0);
	ProgressValue *model;

	model = progress_allocate(place == NULL ? PROGRESS_LINEAR : PROGRESS_SPARSE,
							  place == NULL && (flags & ~PROGRESS_FLAGS_1) == 0 ? PROGRESS_VERSION_1 : PROGRESS_VERSION_2,
							  dimension);
	model->flags = flags;
	if (rows != NULL)
	{
		model->n_rollouts = (int64) rows->n;
		model->n_steps = rows->n_steps;
	}
	model->numbers[MODEL_LAMBDA] = fit->lambda;
	if (fit->intercept != INTERCEPT_NONE)
		model->numbers[MODEL_INTERCEPT] = weight[dimension];
	memcpy(model->numbers + LINEAR_WEIGHTS, weight, dimension * sizeof(double));
	if (place != NULL)
		for (int i = 0; i < dimension; i++)
			model->numbers[SPARSE_PLACES(model) + i] = place[i];
	return model;
}
