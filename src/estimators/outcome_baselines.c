/*
 * outcome_baselines.c
 *		opo, grpo_passk, remax: other baselines for the return of a rollout, in the
 *		place of the group's mean.
 *
 * R_i is the undiscounted return of rollout i, L_i its length.
 *
 *	opo			R_i - sum_j L_j R_j / sum_j L_j
 *				the baseline of least variance where a gradient's square grows with
 *				the length (Hao et al. 2025, arXiv 2505.23585)
 *	grpo_passk	(max R - max of the others' R) / (sd R + epsilon), sd with ddof 1:
 *				what the group's best would lose without rollout i, 0 for all but a
 *				single best (Tang et al. 2025, arXiv 2503.19595)
 *	remax		G_t - the return of the policy's greedy rollouts of the same task (Li
 *				et al. 2023, arXiv 2310.10505); to_go false: R_i in the place of G_t;
 *				within the same group these have none
 *
 * verl's code has all three.  There a lone rollout has its raw return by opo, is
 * an error of grpo_passk, and two best rollouts that are equal have 0 each.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimator.h"
#include "estimators/normalise.h"
#include "estimators/returns.h"

static const EstimateColumnType outcome_columns[] = {
	{"return", COLUMN_FLOAT8},
	{"baseline", COLUMN_FLOAT8},
	{"advantage", COLUMN_FLOAT8}
};

/* Judged rollouts are in set 0. */
static int32 *
judged_set(const GroupColumns *group, const RolloutFacts *facts)
{
	int32	   *set = ALLOCATE_ARRAY(int32, group->n_rollouts);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		set[r] = facts->judged[r] ? 0 : NO_SET;
	return set;
}

/* What a rollout's steps all have: its return, what is subtracted, what is left. */
static void
fill_outcomes(const GroupColumns *group, const RolloutFacts *facts, const double *baseline, const double *advantage,
			  EstimateColumn *columns)
{
	broadcast_to_steps(group, facts->total, columns[0].number);
	broadcast_to_steps(group, baseline, columns[1].number);
	broadcast_to_steps(group, advantage, columns[2].number);
}

/* ----------
 * opo
 * ----------
 */

enum
{
	OPO_LENGTH, OPO_SINGLETON
};

#define LENGTH_COST 1

static const Parameter opo_parameters[] = {CHOICE_PARAMETER("length", "steps", "cost"), SINGLETON_PARAMETER};

static void
refuse_negative_cost(const GroupColumns *group, uint32 rollout, uint32 step)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("cost of rollout " INT64_FORMAT ", step %d is %g, less than zero",
					group->rollout_id[rollout], group->step_no[step], group->cost[step]),
			 errhint("A rollout counts by the sum of its costs; a step without one, that is with NULL, costs 1.")));
}

/* In steps, or in what they cost: a step without a cost costs 1. */
static double
rollout_length(const GroupColumns *group, uint32 rollout, bool by_cost)
{
	Sum			cost = {0};

	if (!by_cost || group->cost == NULL)
		return group->n_rollout_steps[rollout];
	for (uint32 i = group->first_step[rollout]; i < group->first_step[rollout + 1]; i++)
	{
		if (group->cost[i] < 0)
			refuse_negative_cost(group, rollout, i);
		sum_add(&cost, isnan(group->cost[i]) ? 1 : group->cost[i]);
	}
	return sum_value(&cost);
}

/* The mean return, each rollout counting by its length; NaN if none has any, or beyond what numbers hold. */
static double
mean_by_length(const GroupColumns *group, const RolloutFacts *facts, bool by_cost)
{
	Sum			lengths = {0};
	Sum			returns = {0};

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		double		length = facts->judged[r] ? rollout_length(group, r, by_cost) : 0;

		sum_add(&lengths, length);
		sum_add(&returns, length * facts->total[r]);
		CHECK_FOR_INTERRUPTS();
	}
	return sum_value(&returns) / sum_value(&lengths);
}

static void
opo_estimate(const GroupColumns *group, const RolloutFacts *facts,
			 const ParameterValue *parameters, EstimateColumn *columns)
{
	SetMoments *returns = measure_sets(facts->total, NULL, judged_set(group, facts), group->n_rollouts, 1);
	double	   *baseline = ALLOCATE_ARRAY(double, group->n_rollouts);
	double	   *advantage = ALLOCATE_ARRAY(double, group->n_rollouts);
	double		mean = mean_by_length(group, facts, parameters[OPO_LENGTH].choice == LENGTH_COST);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (returns->count == 1)
			baseline[r] = parameters[OPO_SINGLETON].choice == SINGLETON_RAW ? 0 : facts->total[r];
		else
			baseline[r] = returns->least == returns->most ? facts->total[r] : mean;
		advantage[r] = facts->total[r] - baseline[r];
	}
	fill_outcomes(group, facts, baseline, advantage, columns);
}

STEPADV_ESTIMATOR_READING(opo, opo_parameters, outcome_columns, opo_estimate, DEFECT_COST)

/* ----------
 * grpo_passk
 * ----------
 */

enum
{
	PASSK_NORMALISE, PASSK_EPSILON
};

static const Parameter grpo_passk_parameters[] = {NORMALISE_PARAMETER, EPSILON_PARAMETER};

/* The best return and the best after it, which is the same where two share it; NaN for none. */
static void
find_two_best(const GroupColumns *group, const RolloutFacts *facts, double *best, double *second)
{
	*best = NAN;
	*second = NAN;
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		double		total = facts->total[r];

		if (!facts->judged[r])
			continue;
		if (isnan(*best) || total > *best)
		{
			*second = *best;
			*best = total;
		}
		else if (isnan(*second) || total > *second)
			*second = total;
	}
}

static void
grpo_passk_estimate(const GroupColumns *group, const RolloutFacts *facts,
					const ParameterValue *parameters, EstimateColumn *columns)
{
	SetMoments *returns = measure_sets(facts->total, NULL, judged_set(group, facts), group->n_rollouts, 1);
	bool		by_sd = parameters[PASSK_NORMALISE].choice == NORMALISE_STD;
	double	   *best_other = ALLOCATE_ARRAY(double, group->n_rollouts);
	double	   *advantage = ALLOCATE_ZEROED_ARRAY(double, group->n_rollouts);
	double		best;
	double		second;

	find_two_best(group, facts, &best, &second);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		best_other[r] = facts->total[r] == best ? second : best;
		/* A lone rollout has nobody to be better than; and of equal ones none is. */
		if (isnan(second) || best == second || facts->total[r] != best)
			continue;
		advantage[r] = (best - second) / (by_sd ? returns->sd + parameters[PASSK_EPSILON].number : 1);
	}
	fill_outcomes(group, facts, best_other, advantage, columns);
}

STEPADV_ESTIMATOR(grpo_passk, grpo_passk_parameters, outcome_columns, grpo_passk_estimate)

/* ----------
 * remax
 * ----------
 */

enum
{
	REMAX_GREEDY, REMAX_GAMMA, REMAX_TO_GO, REMAX_WITHIN
};

static const Parameter remax_parameters[] = {
	GROUP_PARAMETER("greedy"), GAMMA_PARAMETER, FLAG_PARAMETER("to_go"), FLAG_PARAMETER("within")
};

/* The greedy rollouts are no samples: those of them that are in the group too count as not judged. */
static void
leave_out_greedy(const GroupColumns *group, const RolloutFacts *facts, const GroupColumns *greedy,
				 const RolloutFacts *greedy_facts)
{
	uint32		g = 0;

	/* Both are sorted. */
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		while (g < greedy->n_rollouts && greedy->rollout_id[g] < group->rollout_id[r])
			g++;
		if (g < greedy->n_rollouts && greedy->rollout_id[g] == group->rollout_id[r] && greedy_facts->judged[g])
			facts->judged[r] = false;
	}
}

static void
remax_estimate(const GroupColumns *group, const RolloutFacts *facts,
			   const ParameterValue *parameters, EstimateColumn *columns)
{
	double	   *returns = columns[0].number;
	GroupColumns greedy;
	RolloutFacts greedy_facts;
	SetMoments *of_greedy;
	double		baseline;

	group_open(parameters[REMAX_GREEDY].group, &greedy);
	find_rollout_facts(&greedy, &greedy_facts);
	of_greedy = measure_sets(greedy_facts.total, NULL, judged_set(&greedy, &greedy_facts), greedy.n_rollouts, 1);
	baseline = of_greedy->mean;
	/* Until the greedy rollout is judged nothing is known of the others either. */
	if (of_greedy->count == 0)
	{
		memset(facts->judged, false, group->n_rollouts * sizeof(bool));
		return;
	}
	if (parameters[REMAX_TO_GO].flag)
		discounted_returns(group, parameters[REMAX_GAMMA].number, returns);
	else
		broadcast_to_steps(group, facts->total, returns);
	if (parameters[REMAX_WITHIN].flag)
		leave_out_greedy(group, facts, &greedy, &greedy_facts);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		columns[1].number[i] = baseline;
		columns[2].number[i] = returns[i] - baseline;
	}
}

STEPADV_ESTIMATOR(remax, remax_parameters, outcome_columns, remax_estimate)
