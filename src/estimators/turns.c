/*
 * turns.c
 *		mt_grpo, mt_rloo: turn-level and outcome rewards, each normalized over the group separately.
 *
 * With K_i the number of turns (steps) of rollout i and K the maximum in the group,
 *
 *	T_{i,l}	= turn reward l of rollout i, normalized over the group at turn l < K
 *	O_i		= return R_i, normalized over the group
 *	S_{i,k}	= sum_{l=k}^{K-1} discount^(l-k) T_{i,l}
 *	A_{i,k}	= turn_coef * S_{i,k} + (1 if k = K_i else lambda) * discount^(K_i-k) * O_i
 *
 * For two turns and discount 1 these are equations 9 and 10 of MT-GRPO; its code uses turn_coef where its paper has
 * lambda.  Turn K has no turn reward: its reward is the outcome.
 *
 * A rollout may stop before turn K.  'zero_pad' gives it a turn reward of 0 in the turns that it did not take, so
 * that the sums of all rollouts have the same terms.  Otherwise the baselines subtracted would depend on where a
 * rollout stopped, and stopping itself would be rewarded or punished.  'skip' leaves it out of these turns; 'error'
 * rejects it.
 *
 * A rollout without any turn reward is treated as one with turn rewards of 0.  With without_turn_reward 'merge', as
 * in MT-GRPO's code, all its steps instead get the advantage of the merged rewards: R plus all turn rewards,
 * normalized over the group.
 */
#include "postgres.h"

#include "arrays.h"
#include "estimators/episode.h"
#include "estimators/estimator.h"
#include "estimators/normalise.h"

#define TURNS_PARAMETERS \
	NUMBER_PARAMETER("lambda", 0, INFINITY), \
	NUMBER_PARAMETER("turn_coef", 0, INFINITY), \
	NUMBER_PARAMETER("discount", 0, 1), \
	EPSILON_PARAMETER, \
	CHOICE_PARAMETER("unequal", "zero_pad", "error", "skip"), \
	CHOICE_PARAMETER("without_turn_reward", "zero", "merge")

enum
{
	TURNS_LAMBDA, TURNS_TURN_COEF, TURNS_DISCOUNT, TURNS_EPSILON, TURNS_UNEQUAL, TURNS_WITHOUT_TURN_REWARD
};

#define UNEQUAL_ZERO_PAD	0
#define UNEQUAL_ERROR		1
#define WITHOUT_MERGE		1

/*
 * K.  If not all judged rollouts have K turns and refuse_unequal is set, raise an error or, in a lenient
 * group, set *unequal.
 */
static uint32
count_turns(const GroupColumns *group, const RolloutFacts *facts, bool refuse_unequal, bool *unequal)
{
	int64		longest = -1;

	*unequal = false;
	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (facts->judged[r] &&
			(longest < 0 || group->n_rollout_steps[r] > group->n_rollout_steps[longest]))
			longest = r;
	if (longest < 0)
		return 0;
	for (uint32 r = 0; refuse_unequal && r < group->n_rollouts; r++)
		if (facts->judged[r] && group->n_rollout_steps[r] != group->n_rollout_steps[longest])
		{
			*unequal = true;
			if (group->lenient)
				break;
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("rollout " INT64_FORMAT " has %u turns, rollout " INT64_FORMAT " of the same group has %u",
							group->rollout_id[r], group->n_rollout_steps[r],
							group->rollout_id[longest], group->n_rollout_steps[longest]),
					 errhint("With unequal => 'zero_pad' a turn not taken counts as a turn reward of 0, with 'skip' it does not count.")));
		}
	return group->n_rollout_steps[longest];
}

/* The number of judged rollouts that stopped before turn l, for l from 0 to n_turns - 1. */
static void
count_stopped(const GroupColumns *group, const RolloutFacts *facts, uint32 n_turns, uint32 *stopped)
{
	uint32		n = 0;

	memset(stopped, 0, n_turns * sizeof(uint32));
	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (facts->judged[r] && group->n_rollout_steps[r] < n_turns)
			stopped[group->n_rollout_steps[r]]++;
	for (uint32 l = 0; l < n_turns; l++)
	{
		CHECK_ONCE_IN_A_WHILE(l);
		stopped[l] = n += stopped[l];
	}
}

/*
 * T of every step, and at entry n_steps + l that of rollouts that stopped before turn l: they are one more
 * member of its set, weighted by their number.
 */
static double *
normalise_turns(const GroupColumns *group, const RolloutFacts *facts, uint32 n_turns, bool pad,
				const NormaliseOptions *options)
{
	uint32		n = group->n_steps + n_turns;
	double	   *x = ALLOCATE_ZEROED_ARRAY(double, n);
	uint32	   *weight = ALLOCATE_ARRAY(uint32, n);
	int32	   *set = ALLOCATE_ARRAY(int32, n);
	double	   *normalised = ALLOCATE_ZEROED_ARRAY(double, n);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		first = group->first_step[r];

		for (uint32 i = first; i < group->first_step[r + 1]; i++)
		{
			CHECK_ONCE_IN_A_WHILE(i);
			weight[i] = 1;
			set[i] = facts->judged[r] && i - first + 1 < n_turns ? (int32) (i - first) : NO_SET;
			if (group->turn_reward != NULL && !isnan(group->turn_reward[i]))
				x[i] = group->turn_reward[i];
		}
	}
	count_stopped(group, facts, n_turns, weight + group->n_steps);
	for (uint32 l = 0; l < n_turns; l++)
	{
		CHECK_ONCE_IN_A_WHILE(l);
		set[group->n_steps + l] = pad && l + 1 < n_turns ? (int32) l : NO_SET;
	}

	normalise(x, weight, set, n, Max(n_turns, 1), options, normalised, NULL);
	pfree(set);
	pfree(weight);
	pfree(x);
	return normalised;
}

/* The sum of a rollout's turn rewards plus its return; false if it has no turn reward. */
static bool
merge_rewards(const GroupColumns *group, const RolloutFacts *facts, uint32 rollout, double *merged)
{
	Sum			sum = {0};
	bool		any = false;

	for (uint32 i = group->first_step[rollout]; i < group->first_step[rollout + 1]; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (group->turn_reward != NULL && !isnan(group->turn_reward[i]))
		{
			sum_add(&sum, group->turn_reward[i]);
			any = true;
		}
	}
	sum_add(&sum, facts->total[rollout]);
	*merged = sum_value(&sum);
	return any;
}

/* Give the steps of rollouts without turn rewards the merged GRPO advantage. */
static void
merge_without_turn_reward(const GroupColumns *group, const RolloutFacts *facts, const NormaliseOptions *options,
						  EstimateColumn *columns)
{
	double	   *merged = ALLOCATE_ARRAY(double, group->n_rollouts);
	uint32	   *weight = ALLOCATE_ARRAY(uint32, group->n_rollouts);
	bool	   *without = ALLOCATE_ARRAY(bool, group->n_rollouts);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		weight[r] = facts->judged[r] ? 1 : 0;
		without[r] = !merge_rewards(group, facts, r, &merged[r]);
	}
	normalise(merged, weight, NULL, group->n_rollouts, 1, options, merged, NULL);
	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; without[r] && i < group->first_step[r + 1]; i++)
		{
			CHECK_ONCE_IN_A_WHILE(i);
			columns[0].number[i] = NAN;
			columns[2].number[i] = merged[r];
		}
	pfree(merged);
	pfree(weight);
	pfree(without);
}

static void
turns_estimate(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *parameters,
			   Normalisation normalisation, EstimateColumn *columns)
{
	NormaliseOptions options = {normalisation, parameters[TURNS_EPSILON].number, SINGLETON_ZERO};
	int			unequal = parameters[TURNS_UNEQUAL].choice;
	double		discount = parameters[TURNS_DISCOUNT].number;
	bool		is_refused;
	uint32		n_turns = count_turns(group, facts, unequal == UNEQUAL_ERROR, &is_refused);
	double	   *turn = normalise_turns(group, facts, n_turns, unequal == UNEQUAL_ZERO_PAD, &options);
	double	   *not_taken = turn + group->n_steps;
	double	   *outcome = columns[1].number;

	episode_advantages(group, facts, false, &options, outcome, NULL);

	/* S from turn l on, for rollouts that stopped before l. */
	for (uint32 l = n_turns; l-- > 1;)
	{
		CHECK_ONCE_IN_A_WHILE(l);
		not_taken[l - 1] += discount * not_taken[l];
	}

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		taken = group->n_rollout_steps[r];
		double		sum = taken < n_turns ? not_taken[taken] : 0;
		double		decay = 1;

		if (!facts->judged[r])
			continue;
		for (uint32 i = group->first_step[r + 1]; i-- > group->first_step[r];)
		{
			bool		last = i + 1 == group->first_step[r + 1];

			CHECK_ONCE_IN_A_WHILE(i);
			sum = turn[i] + discount * sum;
			columns[0].number[i] = sum;
			columns[2].number[i] = parameters[TURNS_TURN_COEF].number * sum +
				(last ? 1 : parameters[TURNS_LAMBDA].number) * decay * outcome[i];
			decay *= discount;
		}
	}
	pfree(turn);
	if (parameters[TURNS_WITHOUT_TURN_REWARD].choice == WITHOUT_MERGE)
		merge_without_turn_reward(group, facts, &options, columns);
	for (uint32 i = 0; is_refused && i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		columns[2].number[i] = NAN;
	}
}

static const Parameter turns_parameters[] = {TURNS_PARAMETERS};
static const EstimateColumnType turns_columns[] = {
	{"turn_advantage", COLUMN_FLOAT8},	/* S */
	{"outcome_advantage", COLUMN_FLOAT8},	/* O */
	{"advantage", COLUMN_FLOAT8}
};

static void
mt_grpo_estimate(const GroupColumns *group, const RolloutFacts *facts,
				 const ParameterValue *parameters, EstimateColumn *columns)
{
	turns_estimate(group, facts, parameters, NORMALISE_STD, columns);
}

static void
mt_rloo_estimate(const GroupColumns *group, const RolloutFacts *facts,
				 const ParameterValue *parameters, EstimateColumn *columns)
{
	turns_estimate(group, facts, parameters, NORMALISE_LEAVE_ONE_OUT, columns);
}

STEPADV_ESTIMATOR_READING(mt_grpo, turns_parameters, turns_columns, mt_grpo_estimate, DEFECT_TURN_REWARD)
STEPADV_ESTIMATOR_READING(mt_rloo, turns_parameters, turns_columns, mt_rloo_estimate, DEFECT_TURN_REWARD)
