/*
 * adca_grpo.c
 *		adca_grpo: good and bad steps, as a judge called them, and the outcome, each
 *		normalised for itself and added up from the step on.
 *
 * ADCA-GRPO (AgentEvolver 2025, arXiv 2511.10395, and its code, scheme 'decouple').  A
 * step with a positive turn reward is good, one with a negative is bad, whatever their
 * size; a NULL or a 0 is no call, and 0 in the sum.  With x = 0.2 for good, -0.2 for bad
 *
 *	attribution_t	= (x_t - mean) / sd of the calls, ddof 0, where each rollout counts
 *					  once (weighting 'rollout'), or each step
 *	outcome_i		= R_i normalised over the group, ddof 0
 *	reward_t		= attribution_weight * attribution_t, plus outcome_i on the last
 *					  step (outcome_on 'last'), or on each ('all')
 *	A_t				= sum of reward from t on
 *
 * The public code takes a step without a call for good.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimator.h"
#include "estimators/episode.h"

enum
{
	ADCA_WEIGHT, ADCA_OUTCOME_ON, ADCA_WEIGHTING
};

#define OUTCOME_ON_ALL 1

static const Parameter adca_grpo_parameters[] = {
	NUMBER_PARAMETER("attribution_weight", -INFINITY, INFINITY), CHOICE_PARAMETER("outcome_on", "last", "all"),
	WEIGHTING_PARAMETER
};

enum
{
	ADCA_ATTRIBUTION, ADCA_REWARD, ADCA_ADVANTAGE
};

static const EstimateColumnType adca_grpo_columns[] = {
	{"attribution", COLUMN_FLOAT8},	/* NULL where there is no call */
	{"reward", COLUMN_FLOAT8},
	{"advantage", COLUMN_FLOAT8}
};

/* The public code's. */
#define GOOD 0.2
#define SMALL 1e-8
#define LEAST_SD 1e-12

static double
call_of(const GroupColumns *group, uint32 step)
{
	double		score = step_turn_reward(group, step);

	return score > 0 ? GOOD : score < 0 ? -GOOD : NAN;
}

/* The mean over judged rollouts of (call - origin)^power, each rollout or each step once. */
static double
mean_power(const GroupColumns *group, const RolloutFacts *facts, bool by_step, double origin, int power)
{
	Sum			sum = {0};
	uint64		n = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		Sum			own = {0};
		uint32		n_own = 0;

		for (uint32 i = group->first_step[r]; facts->judged[r] && i < group->first_step[r + 1]; i++)
		{
			double		x = call_of(group, i) - origin;

			if (isnan(x))
				continue;
			sum_add(&own, power == 1 ? x : x * x);
			n_own++;
		}
		CHECK_FOR_INTERRUPTS();
		if (n_own == 0)
			continue;
		sum_add(&sum, by_step ? sum_value(&own) : sum_value(&own) / n_own);
		n += by_step ? n_own : 1;
	}
	return n == 0 ? 0 : sum_value(&sum) / n;
}

/* What the public code divides by, whose guards against 0 differ. */
static double
spread(double variance, bool by_step)
{
	return LEAST_SD + (by_step ? Max(sqrt(variance), SMALL) : sqrt(variance + SMALL));
}

static void
adca_grpo_estimate(const GroupColumns *group, const RolloutFacts *facts,
				   const ParameterValue *parameters, EstimateColumn *columns)
{
	NormaliseOptions options = {NORMALISE_POPULATION, LEAST_SD, SINGLETON_ZERO, NULL};
	bool		by_step = parameters[ADCA_WEIGHTING].choice == WEIGHTING_STEP;
	double		mean = mean_power(group, facts, by_step, 0, 1);
	double		sd = spread(mean_power(group, facts, by_step, mean, 2), by_step);
	double	   *outcome = ALLOCATE_ARRAY(double, group->n_steps);

	episode_advantages(group, facts, false, &options, outcome, NULL);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		end = group->first_step[r + 1];
		Sum			sum = {0};

		for (uint32 i = end; i-- > group->first_step[r];)
		{
			double		attribution = (call_of(group, i) - mean) / sd;
			bool		has_outcome = parameters[ADCA_OUTCOME_ON].choice == OUTCOME_ON_ALL || i + 1 == end;

			columns[ADCA_ATTRIBUTION].number[i] = attribution;
			columns[ADCA_REWARD].number[i] = (isnan(attribution) ? 0 : parameters[ADCA_WEIGHT].number * attribution) +
				(has_outcome ? outcome[i] : 0);
			sum_add(&sum, columns[ADCA_REWARD].number[i]);
			columns[ADCA_ADVANTAGE].number[i] = sum_value(&sum);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

STEPADV_ESTIMATOR_READING(adca_grpo, adca_grpo_parameters, adca_grpo_columns, adca_grpo_estimate, DEFECT_TURN_REWARD)
