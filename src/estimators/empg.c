/*
 * empg.c
 *		empg: GRPO's advantage, larger where the policy was certain, and a bonus for
 *		a step after which it is certain.
 *
 * EMPG (Wang et al. 2025, arXiv 2509.09265).  The turn reward of a step is the mean
 * entropy of its tokens, h_t; over the steps of the group that have one,
 *
 *	u_t			= (h_t - least) / (most - least + 1e-8)						eq. 12
 *	scale_t		= exp(-k u_t) / (mean of exp(-k u) + 1e-8)					eq. 10
 *	bonus_t		= exp(-k_bonus u_{t+1}), of a step that another follows		eq. 11
 *	A_t			= R_i normalised over the group * scale_t + bonus_weight * bonus_t
 *				  less its mean over the group's steps						eq. 7, 8
 *
 * The paper and its code take least, most and means over a batch of groups; here
 * they are the group's.  A step without h_t has the scale 1, and gives no bonus to
 * the step before it.  1e-8 is the public code's.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimator.h"
#include "estimators/episode.h"
#include "estimators/own_steps.h"

enum
{
	EMPG_K, EMPG_K_BONUS, EMPG_BONUS_WEIGHT, EMPG_NORMALISE, EMPG_EPSILON
};

static const Parameter empg_parameters[] = {
	NUMBER_PARAMETER("k", 0, 700), NUMBER_PARAMETER("k_bonus", 0, 700),
	NUMBER_PARAMETER("bonus_weight", -INFINITY, INFINITY), NORMALISE_PARAMETER, EPSILON_PARAMETER
};

enum
{
	EMPG_SCALE, EMPG_BONUS, EMPG_ADVANTAGE
};

static const EstimateColumnType empg_columns[] = {
	{"scale", COLUMN_FLOAT8},
	{"bonus", COLUMN_FLOAT8},
	{"advantage", COLUMN_FLOAT8}
};

#define CODE_EPSILON 1e-8

/* Uncertainty of each judged step from 0 to 1, NaN where it has none. */
static double *
find_uncertainty(const GroupColumns *group, const RolloutFacts *facts)
{
	double	   *u = ALLOCATE_ARRAY(double, group->n_steps);
	double		least = INFINITY;
	double		most = -INFINITY;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			u[i] = facts->judged[r] ? step_turn_reward(group, i) : NAN;
			if (!isnan(u[i]))
			{
				least = Min(least, u[i]);
				most = Max(most, u[i]);
			}
		}
		CHECK_FOR_INTERRUPTS();
	}
	/* Halves, as the difference of two finite numbers may be out of range. */
	for (uint32 i = 0; i < group->n_steps; i++)
		u[i] = (u[i] / 2 - least / 2) / (most / 2 - least / 2 + CODE_EPSILON / 2);
	return u;
}

static void
find_scales(const double *u, uint32 n, double k, double *scale)
{
	Sum			sum = {0};
	uint32		n_known = 0;

	for (uint32 i = 0; i < n; i++)
	{
		scale[i] = exp(-k * u[i]);
		if (!isnan(scale[i]))
		{
			sum_add(&sum, scale[i]);
			n_known++;
		}
	}
	for (uint32 i = 0; i < n; i++)
		scale[i] = isnan(scale[i]) ? 1 : scale[i] / (sum_value(&sum) / n_known + CODE_EPSILON);
}

static void
empg_estimate(const GroupColumns *group, const RolloutFacts *facts,
			  const ParameterValue *parameters, EstimateColumn *columns)
{
	NormaliseOptions options = {parameters[EMPG_NORMALISE].choice, parameters[EMPG_EPSILON].number, SINGLETON_ZERO, NULL};
	double	   *bonus = columns[EMPG_BONUS].number;
	double	   *advantage = columns[EMPG_ADVANTAGE].number;
	double	   *u = find_uncertainty(group, facts);

	find_scales(u, group->n_steps, parameters[EMPG_K].number, columns[EMPG_SCALE].number);
	episode_advantages(group, facts, false, &options, advantage, NULL);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		end = group->first_step[r + 1];

		for (uint32 i = group->first_step[r]; i < end; i++)
		{
			bonus[i] = i + 1 == end || isnan(u[i + 1]) ? 0 : exp(-parameters[EMPG_K_BONUS].number * u[i + 1]);
			advantage[i] = advantage[i] * columns[EMPG_SCALE].number[i] + parameters[EMPG_BONUS_WEIGHT].number * bonus[i];
		}
		CHECK_FOR_INTERRUPTS();
	}
	normalise_own_steps(group, facts, NORMALISE_MEAN, 0, advantage);
}

STEPADV_ESTIMATOR_READING(empg, empg_parameters, empg_columns, empg_estimate, DEFECT_TURN_REWARD)
