/*
 * pure.c
 *		pure: min-form credit, where a rollout is worth what its worst turn is.
 *
 * PURE (Cheng et al. 2025, arXiv 2504.15275) takes the least of the process rewards
 * p (turn rewards here) for what a rollout is worth, softened so that every turn
 * has a share: with n_i scored turns in rollout i,
 *
 *	weight_t	= exp(-p_t / temperature) / sum over the rollout's scored turns
 *	return_t	= sum_{l>=t} weight_l p_l
 *	baseline_i	= mean over the other rollouts j of return_{j,1} / n_j, per turn
 *	A_t			= sum_{l>=t} (weight_l p_l - baseline_i)
 *				  + outcome_coef * (R_i - mean of the others' R)
 *
 * over scored turns, those with a turn reward.  temperature 0 is the limit: the
 * least turn rewards share the weight.  A rollout that is alone, or alone
 * scored, has nothing to be compared with: the part is 0.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimator.h"
#include "estimators/normalise.h"

enum
{
	PURE_TEMPERATURE, PURE_OUTCOME_COEF
};

static const Parameter pure_parameters[] = {
	NUMBER_PARAMETER("temperature", 0, INFINITY), NUMBER_PARAMETER("outcome_coef", -INFINITY, INFINITY)
};

enum
{
	PURE_WEIGHT, PURE_RETURN, PURE_BASELINE, PURE_ADVANTAGE
};

static const EstimateColumnType pure_columns[] = {
	{"weight", COLUMN_FLOAT8},	/* NULL of a step without a turn reward */
	{"return", COLUMN_FLOAT8},
	{"baseline", COLUMN_FLOAT8},	/* per scored turn; NULL if no other rollout is scored */
	{"advantage", COLUMN_FLOAT8}
};

static inline bool
is_scored(const GroupColumns *group, uint32 step)
{
	return !isnan(step_turn_reward(group, step));
}

static double
least_turn_reward(const GroupColumns *group, uint32 rollout)
{
	double		least = INFINITY;

	for (uint32 i = group->first_step[rollout]; i < group->first_step[rollout + 1]; i++)
		if (is_scored(group, i))
			least = Min(least, group->turn_reward[i]);
	return least;
}

/* Relative to the least turn reward's, whose is 1. */
static double
share(double turn_reward, double least, double temperature)
{
	return turn_reward == least ? 1 : temperature == 0 ? 0 : exp((least - turn_reward) / temperature);
}

/* Weights and returns of a rollout; gives its return per scored turn, NaN if there is none. */
static double
weigh_turns(const GroupColumns *group, uint32 rollout, double temperature, EstimateColumn *columns)
{
	double		least = least_turn_reward(group, rollout);
	Sum			shares = {0};
	Sum			sum = {0};
	uint32		n = 0;

	for (uint32 i = group->first_step[rollout]; i < group->first_step[rollout + 1]; i++)
	{
		columns[PURE_WEIGHT].number[i] = is_scored(group, i) ? share(group->turn_reward[i], least, temperature) : NAN;
		if (is_scored(group, i))
			sum_add(&shares, columns[PURE_WEIGHT].number[i]);
	}
	for (uint32 i = group->first_step[rollout + 1]; i-- > group->first_step[rollout];)
	{
		if (is_scored(group, i))
		{
			n++;
			columns[PURE_WEIGHT].number[i] /= sum_value(&shares);
			sum_add(&sum, columns[PURE_WEIGHT].number[i] * group->turn_reward[i]);
		}
		columns[PURE_RETURN].number[i] = sum_value(&sum);
	}
	return n == 0 ? NAN : sum_value(&sum) / n;
}

/* What is left of the returns, and the outcome's part on every step. */
static void
compare_turns(const GroupColumns *group, uint32 rollout, double baseline, double outcome, EstimateColumn *columns)
{
	uint32		n = 0;

	for (uint32 i = group->first_step[rollout + 1]; i-- > group->first_step[rollout];)
	{
		n += is_scored(group, i);
		columns[PURE_BASELINE].number[i] = baseline;
		columns[PURE_ADVANTAGE].number[i] = outcome +
			(isnan(baseline) ? 0 : columns[PURE_RETURN].number[i] - n * baseline);
	}
}

static void
pure_estimate(const GroupColumns *group, const RolloutFacts *facts,
			  const ParameterValue *parameters, EstimateColumn *columns)
{
	NormaliseOptions options = {NORMALISE_LEAVE_ONE_OUT, 0, SINGLETON_ZERO, NULL};
	uint32		n = group->n_rollouts;
	double	   *per_turn = ALLOCATE_ARRAY(double, n);
	double	   *baseline = ALLOCATE_ARRAY(double, n);
	double	   *outcome = ALLOCATE_ARRAY(double, n);
	int32	   *judged = ALLOCATE_ARRAY(int32, n);
	int32	   *scored = ALLOCATE_ARRAY(int32, n);
	uint32		n_scored = 0;

	for (uint32 r = 0; r < n; r++)
	{
		judged[r] = facts->judged[r] ? 0 : NO_SET;
		per_turn[r] = facts->judged[r] ? weigh_turns(group, r, parameters[PURE_TEMPERATURE].number, columns) : NAN;
		scored[r] = isnan(per_turn[r]) ? NO_SET : 0;
		n_scored += scored[r] == 0;
		baseline[r] = NAN;
		CHECK_FOR_INTERRUPTS();
	}
	normalise(facts->total, NULL, judged, n, 1, &options, outcome, NULL);
	if (n_scored > 1)
		normalise(per_turn, NULL, scored, n, 1, &options, per_turn, baseline);
	for (uint32 r = 0; r < n; r++)
		if (facts->judged[r])
			compare_turns(group, r, baseline[r], parameters[PURE_OUTCOME_COEF].number * outcome[r], columns);
}

STEPADV_ESTIMATOR_READING(pure, pure_parameters, pure_columns, pure_estimate, DEFECT_TURN_REWARD)
