/*
 * mlp.c
 *		An estimator of progress with one hidden layer (SPA's head), trained by
 *		mini-batch Adam on
 *
 *			mean over rollouts of (sum_t c(s_t, a_t) - R)^2 + lambda |W|^2
 *			c = sum_k w_k max(0, W_k x + b_k) + b
 *
 * On top of a linear model (version 2) c is v x + sum_k w_k max(0, W_k x + b_k), where
 * v is given, and b stands once per rollout; w starts at 0, so at that model.
 *
 * The units are rectifiers because their numbers, unlike those of tanh, are the
 * same with every C library.  All that is random is a hash of seed and counter.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "arrays.h"
#include "hash.h"
#include "long_work.h"
#include "progress/kernels.h"
#include "progress/mlp.h"
#include "sum.h"

/* Adam as published (Kingma and Ba 2015). */
#define ADAM_BETA_1 0.9
#define ADAM_BETA_2 0.999
#define ADAM_EPSILON 1e-8

/* A squared error so many times that of the untrained model will not come back. */
#define DIVERGED 1e6

/* Parameters are all numbers of a model but its lambda, from the intercept on. */
#define FIRST_PARAMETER MODEL_INTERCEPT

typedef struct Adam
{
	Size		n;
	double	   *gradient;		/* indexed as the model's numbers */
	double	   *first;			/* moments, from the first parameter on */
	double	   *second;
	double		power_1;		/* of the betas, for the correction of the start */
	double		power_2;
} Adam;

static bool
is_on_top(const ProgressValue *model)
{
	return model->version == PROGRESS_VERSION_2;
}

double
mlp_forward(const ProgressValue *model, const float *x, double *active)
{
	const double *weights = model->numbers + MLP_WEIGHTS(model);
	const double *bias = model->numbers + MLP_HIDDEN_BIAS(model);
	double		contribution = is_on_top(model)
		? features_dot(model->numbers + MLP_LINEAR(model), x, model->dimension) : model->numbers[MODEL_INTERCEPT];

	for (uint32 k = 0; k < model->width; k++)
	{
		double		h = bias[k] + features_dot(model->numbers + MLP_HIDDEN_WEIGHTS + (Size) k * model->dimension,
											   x, model->dimension);

		/* Not Max(0, h): a NaN, to which training can diverge, must get through. */
		if (h <= 0)
			h = 0;
		contribution += weights[k] * h;
		if (active != NULL)
			active[k] = h;
	}
	return contribution;
}

/* [0, 1) */
static double
uniform(int64 seed, int64 *counter)
{
	return (double) ((uint64) hash_int64_onto((*counter)++, seed) >> 11) / 9007199254740992.0;
}

/* Between -range and range, as wide as keeps the spread from layer to layer (He et al. 2015). */
static void
set_weights(double *weights, Size n, double fan_in, int64 seed, int64 *counter)
{
	double		range = sqrt(6 / fan_in);

	for (Size i = 0; i < n; i++)
		weights[i] = (2 * uniform(seed, counter) - 1) * range;
}

static void
add_penalty(const double *weights, double *gradient, Size n, double lambda)
{
	for (Size i = 0; i < n; i++)
		gradient[i] += 2 * lambda * weights[i];
}

/*
 * Add the gradient of a rollout's squared error, times weight, and return that
 * error.  active: room for the hidden units of all its steps.
 */
static double
add_gradient(const ProgressValue *model, const MlpTraining *training, const MlpRollout *rollout,
			 double weight, double *active, double *gradient)
{
	const double *weights = model->numbers + MLP_WEIGHTS(model);
	double	   *d_weights = gradient + MLP_WEIGHTS(model);
	double	   *d_bias = gradient + MLP_HIDDEN_BIAS(model);
	double	   *d_hidden = gradient + MLP_HIDDEN_WEIGHTS;
	double		error = (is_on_top(model) ? model->numbers[MODEL_INTERCEPT] : 0) - rollout->outcome;
	double		slope;

	for (uint64 t = rollout->first; t < rollout->end; t++)
		error += mlp_forward(model, training->x[t], active + (t - rollout->first) * model->width);
	slope = 2 * weight * error;
	gradient[MODEL_INTERCEPT] += slope * (is_on_top(model) ? 1 : (double) (rollout->end - rollout->first));
	for (uint64 t = rollout->first; t < rollout->end; t++)
	{
		const double *h = active + (t - rollout->first) * model->width;

		for (uint32 k = 0; k < model->width; k++)
			if (h[k] > 0)
			{
				d_weights[k] += slope * h[k];
				d_bias[k] += slope * weights[k];
				features_add_scaled(d_hidden + (Size) k * model->dimension, training->x[t],
									slope * weights[k], model->dimension);
			}
	}
	return error * error;
}

static void
adam_step(Adam *adam, double *parameters, double learning_rate)
{
	adam->power_1 *= ADAM_BETA_1;
	adam->power_2 *= ADAM_BETA_2;
	for (Size i = 0; i < adam->n; i++)
	{
		double		g = adam->gradient[FIRST_PARAMETER + i];
		double		m = adam->first[i] = ADAM_BETA_1 * adam->first[i] + (1 - ADAM_BETA_1) * g;
		double		v = adam->second[i] = ADAM_BETA_2 * adam->second[i] + (1 - ADAM_BETA_2) * g * g;

		parameters[i] -= learning_rate * (m / (1 - adam->power_1)) / (sqrt(v / (1 - adam->power_2)) + ADAM_EPSILON);
	}
}

static void
refuse_divergence(int epoch, const MlpTraining *training, double error, double untrained)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("training diverged in epoch %d of %d", epoch, training->epochs),
			 errdetail("The mean squared error is %.3g, that of the untrained model was %.3g.", error, untrained),
			 errhint("Use a smaller learning_rate, or scale the features.")));
}

double
mlp_squared_error(const ProgressValue *model, const MlpTraining *training, const MlpRollout *rollout)
{
	double		error = (is_on_top(model) ? model->numbers[MODEL_INTERCEPT] : 0) - rollout->outcome;

	for (uint64 t = rollout->first; t < rollout->end; t++)
		error += mlp_forward(model, training->x[t], NULL);
	return error * error;
}

/* Mean squared error of the model as it is. */
static double
mean_squared_error(const ProgressValue *model, const MlpTraining *training)
{
	Sum			sum = {0};

	for (uint64 r = 0; r < training->n_rollouts; r++)
	{
		sum_add(&sum, mlp_squared_error(model, training, &training->rollouts[r]));
		CHECK_FOR_INTERRUPTS();
	}
	return sum_value(&sum) / training->n_rollouts;
}

static void
shuffle(uint64 *order, uint64 n, int64 seed, int64 *counter)
{
	for (uint64 i = n; i > 1; i--)
	{
		uint64		j = (uint64) (uniform(seed, counter) * i);
		uint64		swap = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swap;
	}
}

static void
set_up_adam(Adam *adam, Size n)
{
	adam->n = n;
	adam->gradient = ALLOCATE_ARRAY(double, FIRST_PARAMETER + n);
	adam->first = ALLOCATE_ZEROED_ARRAY(double, n);
	adam->second = ALLOCATE_ZEROED_ARRAY(double, n);
	adam->power_1 = adam->power_2 = 1;
}

/* Once over all rollouts in that order, batch by batch; the mean squared error on the way. */
static double
train_epoch(ProgressValue *model, const MlpTraining *training, const uint64 *order, double *active, Adam *adam, LongWork *work)
{
	Size		n_hidden = (Size) model->width * model->dimension;
	double		lambda = model->numbers[MODEL_LAMBDA];
	Sum			loss = {0};

	for (uint64 first = 0; first < training->n_rollouts; first += training->batch_size)
	{
		uint64		end = Min(training->n_rollouts, first + training->batch_size);

		memset(adam->gradient, 0, (FIRST_PARAMETER + adam->n) * sizeof(double));
		for (uint64 i = first; i < end; i++)
		{
			sum_add(&loss, add_gradient(model, training, &training->rollouts[order[i]], 1.0 / (end - first),
										active, adam->gradient));
			CHECK_FOR_INTERRUPTS();
		}
		add_penalty(model->numbers + MLP_HIDDEN_WEIGHTS,
					adam->gradient + MLP_HIDDEN_WEIGHTS, n_hidden, lambda);
		add_penalty(model->numbers + MLP_WEIGHTS(model),
					adam->gradient + MLP_WEIGHTS(model), model->width, lambda);
		adam_step(adam, model->numbers + FIRST_PARAMETER, training->learning_rate);
		advance_long_work(work, (double) (end - first) / training->n_rollouts, 0);
	}
	return sum_value(&loss) / training->n_rollouts;
}

void
mlp_train(ProgressValue *model, const MlpTraining *training)
{
	Size		n_hidden = (Size) model->width * model->dimension;
	uint64	   *order = ALLOCATE_ARRAY(uint64, training->n_rollouts);
	double	   *active = ALLOCATE_ARRAY(double, (Size) training->most_steps * model->width);
	int64		counter = 0;
	int			told = 0;
	LongWork	work;
	double		untrained;
	Adam		adam;

	set_weights(model->numbers + MLP_HIDDEN_WEIGHTS, n_hidden, model->dimension, training->seed, &counter);
	if (!is_on_top(model))
		set_weights(model->numbers + MLP_WEIGHTS(model), model->width, model->width, training->seed, &counter);
	set_up_adam(&adam, 1 + n_hidden + 2 * (Size) model->width);
	for (uint64 i = 0; i < training->n_rollouts; i++)
		order[i] = i;

	untrained = mean_squared_error(model, training);
	begin_long_work(&work, "trained", "epochs", "", training->after_epoch != NULL ? "at most " : "", training->epochs);
	for (int epoch = 1; epoch <= training->epochs; epoch++)
	{
		double		error;

		shuffle(order, training->n_rollouts, training->seed, &counter);
		error = train_epoch(model, training, order, active, &adam, &work);
		work.done = epoch;
		/* Adam's steps are bounded, so numbers seldom overflow: they only lead nowhere. */
		if (!isfinite(error) || error > DIVERGED * untrained)
			refuse_divergence(epoch, training, error, untrained);
		/* Ten times over the training. */
		if (training->tells && (int64) epoch * 10 / training->epochs > told)
		{
			told = (int) ((int64) epoch * 10 / training->epochs);
			ereport(NOTICE,
					(errmsg("epoch %d of %d: mean squared error %.6g", epoch, training->epochs, error)));
		}
		if (training->after_epoch != NULL && !training->after_epoch(model, epoch, training->after_epoch_arg))
			break;
	}
	for (Size i = 0; i < adam.n; i++)
		if (!isfinite(model->numbers[FIRST_PARAMETER + i]))
			refuse_divergence(training->epochs, training, mean_squared_error(model, training), untrained);
	pfree(order);
	pfree(active);
	pfree(adam.gradient);
	pfree(adam.first);
	pfree(adam.second);
}
