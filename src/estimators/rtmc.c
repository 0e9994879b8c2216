/*
 * rtmc.c
 *		rtmc: rollout-tree Monte Carlo.
 *
 * G_t is the discounted return of a step.  Over all judged rollouts of the group,
 *
 *	Q(s,a)	= mean of G over the visits of (s,a), N(s,a) of them
 *	V(s)	= sum_a N(s,a) Q(s,a) / N(s),  N(s) = sum_a N(s,a)
 *	V'(s)	= (N(s) V(s) + prior * p) / (N(s) + prior)
 *	A		= Q(s,a) - V'(s)
 *
 * where p is, by `prior_mean`, the group's success rate or the mean return of first steps; or `baseline`.  With
 * visit 'first', a rollout's later occurrences of the same (s,a) do not enter the table, but receive its advantage.
 * The standard error of Q is sd(G) / sqrt(N), ddof 1.  If rollouts differ in weight, N is the sum of the visits'
 * weights, and means are weighted.  (RTMC, section 4 and equation 11.)  For errors that are valid for few visits
 * too, see q_error.c.
 *
 * In a group with coarse states, s is the coarse state, and the advantage is that of fine states backed by k visits
 * of their coarse state: levels.h.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/float.h"

#include "arrays.h"
#include "estimators/estimator.h"
#include "estimators/levels.h"
#include "estimators/q_error.h"
#include "estimators/returns.h"
#include "estimators/rtmc.h"
#include "sum.h"

static inline double
rollout_weight(const RolloutFacts *facts, uint32 rollout)
{
	return facts->weight ? facts->weight[rollout] : 1;
}

static double
success_rate(const GroupColumns *group, const RolloutFacts *facts, double success_above)
{
	double		successes = 0;
	double		all = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (facts->judged[r])
		{
			all += rollout_weight(facts, r);
			if (rollout_succeeded(group, facts, r, success_above))
				successes += rollout_weight(facts, r);
		}
	return all > 0 ? successes / all : 0;
}

double
start_value(const GroupColumns *group, const RolloutFacts *facts, const double *returns)
{
	Sum			sum = {0};
	double		all = 0;

	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (facts->judged[r] && group->n_rollout_steps[r] > 0)
		{
			sum_add(&sum, rollout_weight(facts, r) * returns[group->first_step[r]]);
			all += rollout_weight(facts, r);
		}
	return all > 0 ? sum_value(&sum) / all : 0;
}

double
find_prior_mean(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *baseline,
				const ParameterValue *prior_mean, const ParameterValue *success_above, const double *returns)
{
	if (!baseline->isnull)
		return baseline->number;
	if (prior_mean->choice == PRIOR_MEAN_START_VALUE)
		return start_value(group, facts, returns);
	return success_rate(group, facts, success_above->number);
}

/* Sums over the visits of a pair. */
typedef struct PairSums
{
	Sum			squares_apart;	/* weighted squared deviations */
	double		weight;			/* sum of weights so far */
	double		products;		/* sum over all pairs of two visits of the product of weights */
	double		squares;		/* sum of squared weights */
} PairSums;

/*
 * The variance of a mean of n targets with weights w, n >= 2: that of the targets,
 *
 * 	sum of w (x - mean)^2 / (W - W2 / W),	W = sum of w, W2 = sum of w^2,
 *
 * divided by the effective number of visits, W^2 / W2.  W^2 - W2 is computed as twice the sum of products of
 * any two weights, which is accurate however unequal they are.  With weights of 1 this is the variance with
 * ddof 1, divided by n.
 */
static double
variance_of_mean(const PairSums *pair)
{
	return sum_value(&pair->squares_apart) / (2 * pair->products / pair->weight) * (pair->squares / pair->weight / pair->weight);
}

/* Compute N and Q of every pair. */
static void
measure_pairs(const GroupColumns *group, const double *weight, const double *target, RtmcTable *table)
{
	uint32		n_pairs = table->pairs.n;
	const int32 *pair_of = table->pairs.of_step;
	Sum		   *sum = ALLOCATE_ZEROED_ARRAY(Sum, n_pairs);

	table->pair_visits = ALLOCATE_ZEROED_ARRAY(uint32, n_pairs);
	table->pair_weight = ALLOCATE_ZEROED_ARRAY(double, n_pairs);
	table->pair_q = ALLOCATE_ARRAY(double, n_pairs);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (weight[i] > 0)
		{
			sum_add(&sum[pair_of[i]], weight[i] * target[i]);
			table->pair_weight[pair_of[i]] += weight[i];
			table->pair_visits[pair_of[i]]++;
		}
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < n_pairs; p++)
		table->pair_q[p] = sum_value(&sum[p]) / table->pair_weight[p];
	CHECK_FOR_INTERRUPTS();
	pfree(sum);
}

/* Compute the standard error of Q of every pair, from N and Q. */
static void
measure_errors(const GroupColumns *group, const double *weight, const double *target, RtmcTable *table)
{
	uint32		n_pairs = table->pairs.n;
	PairSums   *sums = ALLOCATE_ZEROED_ARRAY(PairSums, n_pairs);

	table->pair_stderr = ALLOCATE_ARRAY(double, n_pairs);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (weight[i] > 0)
		{
			PairSums   *pair = &sums[table->pairs.of_step[i]];
			double		deviation = target[i] - table->pair_q[table->pairs.of_step[i]];

			sum_add(&pair->squares_apart, weight[i] * deviation * deviation);
			pair->products += weight[i] * pair->weight;
			pair->weight += weight[i];
			pair->squares += weight[i] * weight[i];
		}
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < n_pairs; p++)
		table->pair_stderr[p] = table->pair_visits[p] < 2 ? NAN : sqrt(variance_of_mean(&sums[p]));
	CHECK_FOR_INTERRUPTS();
	pfree(sums);
}

/* Up to this size, squares and sums of squares of returns do not overflow. */
#define LARGEST_HARMLESS 1e100

/*
 * Compute N and Q if all visits weigh 1, without standard errors.  False: a return is so large that standard
 * errors could overflow, which must be detected.
 */
static bool
measure_equal_visits(const GroupColumns *group, Visit which, RtmcTable *table)
{
	uint32		n_pairs = table->pairs.n;
	Sum		   *sum = ALLOCATE_ZEROED_ARRAY(Sum, n_pairs);
	uint32	   *last_rollout = ALLOCATE_ZEROED_ARRAY(uint32, n_pairs);
	bool		harmless = true;

	table->pair_visits = ALLOCATE_ZEROED_ARRAY(uint32, n_pairs);
	table->pair_weight = ALLOCATE_ARRAY(double, n_pairs);
	table->pair_q = ALLOCATE_ARRAY(double, n_pairs);
	table->pair_stderr = NULL;
	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			int32		pair = table->pairs.of_step[i];

			CHECK_ONCE_IN_A_WHILE(i);
			harmless &= fabs(table->returns[i]) <= LARGEST_HARMLESS;
			if (pair == NO_IDENTITY || (which == VISIT_FIRST && last_rollout[pair] == r + 1))
				continue;
			last_rollout[pair] = r + 1;
			sum_add(&sum[pair], table->returns[i]);
			table->pair_visits[pair]++;
		}
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < n_pairs; p++)
	{
		table->pair_weight[p] = table->pair_visits[p];
		table->pair_q[p] = sum_value(&sum[p]) / table->pair_weight[p];
	}
	pfree(sum);
	pfree(last_rollout);
	return harmless;
}

static void
measure_states(RtmcTable *table, double prior, double p)
{
	uint32		n_states = table->states.n;
	Sum		   *sum = ALLOCATE_ZEROED_ARRAY(Sum, n_states);
	double	   *weight = ALLOCATE_ZEROED_ARRAY(double, n_states);

	table->state_visits = ALLOCATE_ZEROED_ARRAY(uint32, n_states);
	table->state_v = ALLOCATE_ARRAY(double, n_states);
	for (uint32 i = 0; i < table->pairs.n; i++)
	{
		int32		state = table->states.of_step[table->pairs.first_step[i]];

		CHECK_ONCE_IN_A_WHILE(i);
		table->state_visits[state] += table->pair_visits[i];
		weight[state] += table->pair_weight[i];
		sum_add(&sum[state], table->pair_weight[i] * table->pair_q[i]);
	}
	CHECK_FOR_INTERRUPTS();
	for (uint32 s = 0; s < n_states; s++)
		table->state_v[s] = (sum_value(&sum[s]) + prior * p) / (weight[s] + prior);
	CHECK_FOR_INTERRUPTS();
	pfree(sum);
	pfree(weight);
}

/*
 * The divisor for normalise: the standard deviation (ddof 0) of advantages over the steps of the group, with
 * their rollouts' weights; or 1 if it is nearly 0.
 */
static double
advantage_sd(const GroupColumns *group, const RolloutFacts *facts, const Identities *pairs, const double *pair_advantage)
{
	double	   *weight = weigh_visits(group, facts, pairs, VISIT_EVERY);
	double	   *pair_weight = ALLOCATE_ZEROED_ARRAY(double, pairs->n);
	double		all = 0;
	double		least = INFINITY;
	double		most = -INFINITY;
	Sum			sum = {0};
	Sum			squares = {0};
	double		mean;
	double		scale;
	double		sd;

	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (weight[i] > 0)
			pair_weight[pairs->of_step[i]] += weight[i];
	}
	for (uint32 p = 0; p < pairs->n; p++)
	{
		CHECK_ONCE_IN_A_WHILE(p);
		all += pair_weight[p];
		least = Min(least, pair_advantage[p]);
		most = Max(most, pair_advantage[p]);
		sum_add(&sum, pair_weight[p] * pair_advantage[p]);
	}
	/* If all are equal, the sd is 0, whatever rounding errors would make it. */
	if (!(least < most))
		return 1;
	/* Divide deviations by the largest one, so that their squares do not overflow. */
	mean = sum_value(&sum) / all;
	scale = Max(most - mean, mean - least);
	for (uint32 p = 0; p < pairs->n; p++)
	{
		CHECK_ONCE_IN_A_WHILE(p);
		sum_add(&squares, pair_weight[p] * (pair_advantage[p] - mean) / scale * ((pair_advantage[p] - mean) / scale));
	}
	sd = scale * sqrt(sum_value(&squares) / all);
	/* Division by an infinite sd would give 0. */
	if (!isfinite(sd))
		float_overflow_error();
	pfree(weight);
	pfree(pair_weight);
	return sd > 1e-8 ? sd : 1;
}

static void
normalise_advantages(const GroupColumns *group, const RolloutFacts *facts, const Identities *pairs,
					 double *pair_advantage)
{
	double		sd = advantage_sd(group, facts, pairs, pair_advantage);

	for (uint32 p = 0; p < pairs->n; p++)
	{
		CHECK_ONCE_IN_A_WHILE(p);
		pair_advantage[p] /= sd;
	}
}

static void
measure_advantages(RtmcTable *table)
{
	const Identities *pairs = &table->pairs;

	table->pair_advantage = ALLOCATE_ARRAY(double, pairs->n);
	for (uint32 p = 0; p < pairs->n; p++)
	{
		CHECK_ONCE_IN_A_WHILE(p);
		table->pair_advantage[p] = table->pair_q[p] -
			table->state_v[table->states.of_step[pairs->first_step[p]]];
	}
}

void
rtmc_table_measure(const GroupColumns *group, const double *target, const double *weight, double prior,
				   double prior_mean, RtmcTable *table)
{
	measure_pairs(group, weight, target, table);
	measure_errors(group, weight, target, table);
	measure_states(table, prior, prior_mean);
	measure_advantages(table);
}

/* Relative to the scale of returns: more than the rounding error of equal numbers. */
#define TIE 1e-12

double
target_scale(const GroupColumns *group, const double *target, double prior, double prior_mean, const RtmcTable *table)
{
	double		scale = prior > 0 ? fabs(prior_mean) : 0;

	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (table->states.of_step[i] != NO_IDENTITY)
			scale = Max(scale, Max(fabs(table->returns[i]), fabs(target[i])));
	}
	return scale;
}

void
flatten_ties(double *advantage, uint32 n, double scale)
{
	if (!isfinite(scale))
		return;
	for (uint32 i = 0; i < n; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (fabs(advantage[i]) <= TIE * scale)
			advantage[i] = 0;
	}
}

double *
rtmc_table_build(const GroupColumns *group, const RolloutFacts *facts,
				 const ParameterValue *parameters, bool with_errors, RtmcTable *table)
{
	Visit		which = parameters[RTMC_VISIT].choice;
	double		prior = parameters[RTMC_PRIOR].number;
	double		prior_mean;
	double	   *weight = NULL;

	table->fine = NULL;
	table->returns = ALLOCATE_ARRAY(double, group->n_steps);
	discounted_returns(group, parameters[RTMC_GAMMA].number, table->returns);
	number_states(group, facts, &table->states);
	number_pairs(group, &table->states, &table->pairs);
	prior_mean = find_prior_mean(group, facts, &parameters[RTMC_BASELINE], &parameters[RTMC_PRIOR_MEAN],
								 &parameters[RTMC_SUCCESS_ABOVE], table->returns);
	if (!with_errors && facts->weight == NULL && measure_equal_visits(group, which, table))
	{
		measure_states(table, prior, prior_mean);
		measure_advantages(table);
	}
	else
	{
		weight = weigh_visits(group, facts, &table->pairs, which);
		rtmc_table_measure(group, table->returns, weight, prior, prior_mean, table);
	}
	if (parameters[RTMC_NORMALISE].flag)
		normalise_advantages(group, facts, &table->pairs, table->pair_advantage);
	return weight;
}

/* Is a return or standard error infinite, although the advantage may be finite? */
static bool
hides_infinity(const GroupColumns *group, const RtmcTable *table)
{
	bool		found = false;

	for (uint32 i = 0; i < group->n_steps; i++)
		found |= isinf(table->returns[i]) != 0;
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < table->pairs.n; p++)
		found |= isinf(table->pair_stderr[p]) != 0;
	return found;
}

/* By step, the entry of its state or pair, if the column is needed. */
#define SPREAD(column, entries, of_step) \
	do { \
		if ((column) != NULL) \
			for (uint32 i = 0; i < group->n_steps; i++) \
			{ \
				CHECK_ONCE_IN_A_WHILE(i); \
				if ((of_step)[i] != NO_IDENTITY) \
					(column)[i] = (entries)[(of_step)[i]]; \
			} \
	} while (0)

/*
 * Unread columns are omitted, but not their range check: whether a query fails must not depend on the columns
 * it reads.
 */
void
rtmc_table_columns(const GroupColumns *group, const RtmcTable *table, EstimateColumn *columns)
{
	const int32 *state = table->states.of_step;
	const int32 *pair = table->pairs.of_step;
	const FineAnswers *fine = table->fine;
	const int32 *answered = fine ? fine->pairs.of_step : pair;

	if (table->pair_stderr != NULL && (columns[0].number == NULL || columns[5].number == NULL) && hides_infinity(group, table))
	{
		columns[0].number = ALLOCATE_ARRAY(double, group->n_steps);
		columns[5].number = ALLOCATE_ARRAY(double, group->n_steps);
	}
	if (columns[0].number != NULL)
		copy_large(columns[0].number, table->returns, group->n_steps * sizeof(double));
	SPREAD(columns[1].count, table->state_visits, state);
	SPREAD(columns[2].count, table->pair_visits, pair);
	SPREAD(columns[3].number, fine ? fine->q : table->pair_q, answered);
	SPREAD(columns[4].number, table->state_v, state);
	SPREAD(columns[5].number, table->pair_stderr, pair);
	SPREAD(columns[6].number, fine ? fine->advantage : table->pair_advantage, answered);
	SPREAD(columns[7].number, fine ? fine->error : table->pair_error, answered);
	SPREAD(columns[8].number, fine ? fine->confidence : table->pair_confidence, answered);
}

/* After the parameters shared with rtmc_tree. */
enum
{
	K = N_RTMC_PARAMETERS
};

static const Parameter rtmc_parameters[] = {
	RTMC_PARAMETERS,
	COARSE_VISITS_PARAMETER,
	HISTORY_PARAMETERS
};
static const EstimateColumnType rtmc_columns[] = {RTMC_COLUMNS};

/*
 * Build the table of a group with coarse states.  A visit is one of a pair of a fine state and an action, and
 * counts at both levels.
 */
static void
rtmc_table_build_levels(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *parameters,
						bool with_errors, RtmcTable *table, FineAnswers *answers)
{
	Identities	fine;
	StateLevels levels = {&table->states, &fine, parameters[K].number, true};
	LevelVisits visits;
	double		prior = parameters[RTMC_PRIOR].number;
	double		prior_mean;
	double	   *weight;

	table->returns = ALLOCATE_ARRAY(double, group->n_steps);
	discounted_returns(group, parameters[RTMC_GAMMA].number, table->returns);
	prior_mean = find_prior_mean(group, facts, &parameters[RTMC_BASELINE], &parameters[RTMC_PRIOR_MEAN],
								 &parameters[RTMC_SUCCESS_ABOVE], table->returns);
	number_levels(group, facts, &table->states, &fine);
	number_pairs(group, &table->states, &table->pairs);
	number_pairs(group, &fine, &answers->pairs);
	weight = weigh_visits(group, facts, &answers->pairs, parameters[RTMC_VISIT].choice);
	rtmc_table_measure(group, table->returns, weight, prior, prior_mean, table);
	levels_measure(group, &levels, table->returns, weight, table, answers, &visits);
	if (with_errors)
	{
		SignVariance sign;

		monte_carlo_errors(group, weight, prior, table, &sign);
		levels_errors(&levels, group->first_step[facts->n_own], &visits, &sign, prior, table, answers);
	}
	if (parameters[RTMC_NORMALISE].flag)
		normalise_advantages(group, facts, &answers->pairs, answers->advantage);
}

static void
rtmc_estimate(const GroupColumns *group, const RolloutFacts *facts,
			  const ParameterValue *parameters, EstimateColumn *columns)
{
	RtmcTable	table;
	FineAnswers answers;

	if (has_levels(group, &parameters[K]))
		rtmc_table_build_levels(group, facts, parameters, errors_are_asked(columns), &table, &answers);
	else
	{
		const double *weight = rtmc_table_build(group, facts, parameters,
												columns[5].number != NULL || errors_are_asked(columns), &table);

		if (errors_are_asked(columns))
			monte_carlo_errors(group, weight, parameters[RTMC_PRIOR].number, &table, NULL);
	}
	rtmc_table_columns(group, &table, columns);
}

STEPADV_ESTIMATOR(rtmc, rtmc_parameters, rtmc_columns, rtmc_estimate)
