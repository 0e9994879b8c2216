/*
 * hcapo.c
 *		hcapo: hindsight credit, GRPO's advantage plus what an action was worth in
 *		the light of the outcome.
 *
 * HCAPO (Tan et al. 2026, arXiv 2603.08754) asks the policy again, with the
 * outcome in its prompt, how probable the action was.  The turn reward of a step is
 * that mean log-probability of its tokens, h_t; with T steps in rollout i,
 *
 *	p_t		= exp(h_t / temperature)										eq. 6
 *	ratio_t	= p_t / mean of p over the rollout, between 1 - clip and 1 + clip	eq. 7
 *	q_t		= ratio_t * gamma^(T-1-t) * R_i, t from 0						eq. 5
 *	q_t		= smoothing * q_t + (1 - smoothing) * q_{t+1}, but for the last	appendix A
 *	hindsight_t	= q_t normalised over all steps of the group				section 5.2
 *	A_t		= R_i normalised over the group + weight * hindsight_t			eq. 8
 *
 * With keep_successes a negative hindsight_t of a successful rollout is 0 (the
 * paper's "do no harm").  A step without h_t has the ratio 1.  The text beside
 * equation 8 normalises by time step; section 5.2 and algorithm 1 do it across all
 * states, which is what is done here.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "estimator.h"
#include "estimators/episode.h"
#include "estimators/own_steps.h"

enum
{
	HCAPO_GAMMA, HCAPO_TEMPERATURE, HCAPO_CLIP, HCAPO_WEIGHT, HCAPO_SMOOTHING,
	HCAPO_KEEP_SUCCESSES, HCAPO_NORMALISE, HCAPO_EPSILON, HCAPO_SUCCESS_ABOVE
};

static const Parameter hcapo_parameters[] = {
	GAMMA_PARAMETER, NUMBER_PARAMETER("temperature", 1e-6, INFINITY), NUMBER_PARAMETER("clip", 0, 1),
	NUMBER_PARAMETER("weight", -INFINITY, INFINITY), NUMBER_PARAMETER("smoothing", 0, 1),
	FLAG_PARAMETER("keep_successes"), NORMALISE_PARAMETER, EPSILON_PARAMETER, SUCCESS_ABOVE_PARAMETER
};

enum
{
	HCAPO_RATIO, HCAPO_Q, HCAPO_HINDSIGHT, HCAPO_ADVANTAGE
};

static const EstimateColumnType hcapo_columns[] = {
	{"hindsight_ratio", COLUMN_FLOAT8},
	{"q", COLUMN_FLOAT8},
	{"hindsight_advantage", COLUMN_FLOAT8},
	{"advantage", COLUMN_FLOAT8}
};

/* Relative to the rollout's largest, so that nothing underflows: only ratios count. */
static void
find_ratios(const GroupColumns *group, uint32 rollout, const ParameterValue *parameters, double *ratio)
{
	uint32		begin = group->first_step[rollout];
	uint32		end = group->first_step[rollout + 1];
	double		temperature = parameters[HCAPO_TEMPERATURE].number;
	double		clip = parameters[HCAPO_CLIP].number;
	double		most = -INFINITY;
	Sum			sum = {0};
	uint32		n = 0;

	for (uint32 i = begin; i < end; i++)
		if (!isnan(step_turn_reward(group, i)))
			most = Max(most, step_turn_reward(group, i));
	for (uint32 i = begin; i < end; i++)
	{
		ratio[i] = isnan(step_turn_reward(group, i)) ? NAN : exp((step_turn_reward(group, i) - most) / temperature);
		if (!isnan(ratio[i]))
		{
			sum_add(&sum, ratio[i]);
			n++;
		}
	}
	for (uint32 i = begin; i < end; i++)
		ratio[i] = isnan(ratio[i]) ? 1 : Min(Max(ratio[i] * n / sum_value(&sum), 1 - clip), 1 + clip);
}

/* From the end: the discounted outcome times the ratio, some of it passed on to the step before. */
static void
find_q(const GroupColumns *group, uint32 rollout, double total, const ParameterValue *parameters,
	   const double *ratio, double *q)
{
	double		smoothing = parameters[HCAPO_SMOOTHING].number;
	double		discounted = total;
	double		next = NAN;		/* of the step behind, before any smoothing */

	for (uint32 i = group->first_step[rollout + 1]; i-- > group->first_step[rollout];)
	{
		double		own = ratio[i] * discounted;

		q[i] = isnan(next) ? own : smoothing * own + (1 - smoothing) * next;
		next = own;
		discounted *= parameters[HCAPO_GAMMA].number;
	}
}

static void
hcapo_estimate(const GroupColumns *group, const RolloutFacts *facts,
			   const ParameterValue *parameters, EstimateColumn *columns)
{
	NormaliseOptions options = {parameters[HCAPO_NORMALISE].choice, parameters[HCAPO_EPSILON].number, SINGLETON_ZERO, NULL};
	double	   *hindsight = columns[HCAPO_HINDSIGHT].number;
	double	   *advantage = columns[HCAPO_ADVANTAGE].number;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		find_ratios(group, r, parameters, columns[HCAPO_RATIO].number);
		find_q(group, r, facts->total[r], parameters, columns[HCAPO_RATIO].number, columns[HCAPO_Q].number);
		CHECK_FOR_INTERRUPTS();
	}
	memcpy(hindsight, columns[HCAPO_Q].number, group->n_steps * sizeof(double));
	normalise_own_steps(group, facts, options.normalisation, options.epsilon, hindsight);
	episode_advantages(group, facts, false, &options, advantage, NULL);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		bool		kept = parameters[HCAPO_KEEP_SUCCESSES].flag && facts->judged[r] &&
			rollout_succeeded(group, facts, r, parameters[HCAPO_SUCCESS_ABOVE].number);

		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			if (kept && hindsight[i] < 0)
				hindsight[i] = 0;
			advantage[i] += parameters[HCAPO_WEIGHT].number * hindsight[i];
		}
		CHECK_FOR_INTERRUPTS();
	}
}

STEPADV_ESTIMATOR_READING(hcapo, hcapo_parameters, hcapo_columns, hcapo_estimate, DEFECT_TURN_REWARD)
