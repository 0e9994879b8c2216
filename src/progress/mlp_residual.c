/*
 * mlp_residual.c
 *		A hidden layer on top of a linear fit, where it helps.
 *
 * A fifth of the groups is held out.  On the others the linear fit is made, and the
 * hidden layer trained on what that leaves, as long as the error on the groups held
 * out falls.  If it ends up below that of the linear fit by more than twice the
 * standard error over these groups, both are made anew of all rollouts, with as many
 * epochs; if not, or with too few groups to tell, the linear fit is the model.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "arrays.h"
#include "progress/fold.h"
#include "progress/kernels.h"
#include "progress/linear_fit.h"
#include "progress/mlp_residual.h"
#include "sum.h"

#define LINEAR_LAMBDA 0.01
#define FOLDS 5
#define PATIENCE 10				/* epochs without a better one */
#define LEAST_GROUPS 4			/* held out */

static bool
is_held_out(const MlpRollout *rollout, int64 seed)
{
	return fold_of_group(rollout->group_id, FOLDS, seed) == 0;
}

/* The rollouts that are held out, or the others, in their order. */
static MlpTraining
part_of(const MlpTraining *all, bool held_out)
{
	MlpTraining part = *all;
	MlpRollout *rollouts = ALLOCATE_ARRAY(MlpRollout, all->n_rollouts);

	part.n_rollouts = 0;
	for (uint64 r = 0; r < all->n_rollouts; r++)
		if (is_held_out(&all->rollouts[r], all->seed) == held_out)
			rollouts[part.n_rollouts++] = all->rollouts[r];
	part.rollouts = rollouts;
	return part;
}

static FitRows
rows_of_training(const MlpTraining *training, int dimension)
{
	FitRows		rows = {ALLOCATE_ARRAY(FitRow, training->n_rollouts), training->n_rollouts, 0, dimension, NULL};
	double	   *sums = ALLOCATE_ZEROED_ARRAY(double, training->n_rollouts * dimension);

	for (uint64 r = 0; r < training->n_rollouts; r++)
	{
		const MlpRollout *rollout = &training->rollouts[r];
		double	   *sum = sums + r * dimension;

		for (uint64 t = rollout->first; t < rollout->end; t++)
			(void) features_add(sum, training->x[t], dimension);
		rows.row[r] = (FitRow) {sum, NULL, dimension, rollout->end - rollout->first, rollout->outcome, rollout->rollout_id};
		rows.n_steps += rollout->end - rollout->first;
		CHECK_FOR_INTERRUPTS();
	}
	return rows;
}

static ProgressValue *
fit_linear_part(const MlpTraining *training, int dimension)
{
	FitRows		rows = rows_of_training(training, dimension);
	LinearFit	fit = {LINEAR_LAMBDA, INTERCEPT_ROLLOUT, LOSS_SQUARED};
	ProgressValue *model = fit_linear(&rows, &fit);

	pfree((void *) rows.row[0].x);
	pfree(rows.row);
	return model;
}

static ProgressValue *
on_top_of(const ProgressValue *linear, int width, double penalty)
{
	ProgressValue *model = progress_allocate(PROGRESS_MLP, PROGRESS_VERSION_2, linear->dimension, width);

	model->flags = linear->flags;
	model->n_rollouts = linear->n_rollouts;
	model->n_steps = linear->n_steps;
	model->numbers[MODEL_LAMBDA] = penalty;
	model->numbers[MODEL_INTERCEPT] = linear->numbers[MODEL_INTERCEPT];
	memcpy(model->numbers + MLP_LINEAR(model), linear->numbers + LINEAR_WEIGHTS, linear->dimension * sizeof(double));
	return model;
}

/* What watches over the training. */
typedef struct Watch
{
	const MlpTraining *held_out;
	double	   *error;			/* squared, by rollout held out, of the epoch just seen */
	double	   *best_error;		/* of the best epoch; at first of the linear fit alone */
	double		best;			/* mean */
	int			best_epoch;		/* 0: no hidden layer is better */
} Watch;

static double
errors_of(const ProgressValue *model, const MlpTraining *training, double *error)
{
	Sum			sum = {0};

	for (uint64 r = 0; r < training->n_rollouts; r++)
	{
		error[r] = mlp_squared_error(model, training, &training->rollouts[r]);
		sum_add(&sum, error[r]);
		CHECK_FOR_INTERRUPTS();
	}
	return sum_value(&sum) / training->n_rollouts;
}

static bool
watch_epoch(const ProgressValue *model, int epoch, void *arg)
{
	Watch	   *watch = arg;
	double		now = errors_of(model, watch->held_out, watch->error);

	if (now < watch->best)
	{
		double	   *swapped = watch->best_error;

		watch->best_error = watch->error;
		watch->error = swapped;
		watch->best = now;
		watch->best_epoch = epoch;
	}
	return epoch - watch->best_epoch < PATIENCE;
}

typedef struct GroupGain
{
	int64		group_id;
	double		gain;
} GroupGain;

static inline int
compare_gains(const GroupGain *a, const GroupGain *b)
{
	if (a->group_id != b->group_id)
		return a->group_id < b->group_id ? -1 : 1;
	return a->gain < b->gain ? -1 : a->gain > b->gain;
}

#define ST_SORT sort_gains
#define ST_ELEMENT_TYPE GroupGain
#define ST_COMPARE(a, b) compare_gains(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* The gain of each group of the held-out rollouts, summed; their number is returned. */
static uint64
gains_by_group(const MlpTraining *held_out, const double *before, const double *after, GroupGain *gains)
{
	uint64		n_groups = 0;

	for (uint64 r = 0; r < held_out->n_rollouts; r++)
		gains[r] = (GroupGain) {held_out->rollouts[r].group_id, before[r] - after[r]};
	sort_gains(gains, held_out->n_rollouts);
	for (uint64 r = 0; r < held_out->n_rollouts; r++)
	{
		if (n_groups > 0 && gains[n_groups - 1].group_id == gains[r].group_id)
			gains[n_groups - 1].gain += gains[r].gain;
		else
			gains[n_groups++] = gains[r];
	}
	return n_groups;
}

/* Whether the mean gain over groups is more than twice its standard error. */
static bool
is_better(const MlpTraining *held_out, const double *before, const double *after)
{
	GroupGain  *gains = ALLOCATE_ARRAY(GroupGain, held_out->n_rollouts);
	uint64		n = gains_by_group(held_out, before, after, gains);
	double		mean = 0;
	double		square = 0;

	for (uint64 g = 0; g < n; g++)
		mean += gains[g].gain / n;
	for (uint64 g = 0; g < n; g++)
		square += (gains[g].gain - mean) * (gains[g].gain - mean);
	pfree(gains);
	return n >= LEAST_GROUPS && mean > 2 * sqrt(square / (n - 1) / n);
}

/* How many epochs of training lead to something better than the linear fit; 0: none do. */
static int
useful_epochs(const MlpTraining *all, int dimension, int width, double penalty)
{
	MlpTraining training = part_of(all, false);
	MlpTraining held_out = part_of(all, true);
	double	   *before;
	ProgressValue *model;
	Watch		watch = {&held_out};

	if (training.n_rollouts == 0 || held_out.n_rollouts < LEAST_GROUPS)
		return 0;
	model = on_top_of(fit_linear_part(&training, dimension), width, penalty);
	before = ALLOCATE_ARRAY(double, held_out.n_rollouts);
	watch.error = ALLOCATE_ARRAY(double, held_out.n_rollouts);
	watch.best_error = ALLOCATE_ARRAY(double, held_out.n_rollouts);
	watch.best = errors_of(model, &held_out, before);
	training.after_epoch = watch_epoch;
	training.after_epoch_arg = &watch;
	mlp_train(model, &training);
	pfree(model);
	return watch.best_epoch > 0 && is_better(&held_out, before, watch.best_error) ? watch.best_epoch : 0;
}

ProgressValue *
fit_residual(const MlpTraining *all, int dimension, int width, double penalty)
{
	MlpTraining training = *all;
	ProgressValue *linear;
	ProgressValue *model;

	training.epochs = useful_epochs(all, dimension, width, penalty);
	linear = fit_linear_part(all, dimension);
	if (training.epochs == 0)
	{
		ereport(NOTICE,
				(errmsg("a hidden layer is no better than the linear fit on groups held out: the model is linear")));
		return linear;
	}
	ereport(NOTICE,
			(errmsg("a hidden layer is better than the linear fit on groups held out, most after epoch %d", training.epochs)));
	training.after_epoch = NULL;
	model = on_top_of(linear, width, penalty);
	mlp_train(model, &training);
	return model;
}
