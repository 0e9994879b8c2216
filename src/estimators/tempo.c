/*
 * tempo.c
 *		tempo: the temporal difference along the tree of a group's prefixes.
 *
 * V(p) is the mean return R of the judged rollouts that begin with the actions
 * p; before the first step that is all of them.  For the step that extends p to
 * p'
 *
 *	A = (R - mean R + V(p') - V(p)) / (sd R + epsilon), sd with ddof 1
 *
 * so that a step where no rollout branches off keeps GRPO's advantage.  A step
 * counts as one token does in TEMPO; states play no part.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "estimators/identity.h"
#include "estimators/normalise.h"
#include "estimators/returns.h"
#include "estimators/sum.h"

enum
{
	P_NORMALISE, P_EPSILON
};

static const Parameter tempo_parameters[] = {NORMALISE_PARAMETER, EPSILON_PARAMETER};

static const ColumnType tempo_columns[] = {
	COLUMN_FLOAT8,				/* return */
	COLUMN_FLOAT8,				/* value */
	COLUMN_FLOAT8,				/* next_value */
	COLUMN_FLOAT8				/* advantage */
};

/* V by prefix: a rollout is in each of its prefixes once. */
static double *
prefix_values(const Group *group, const RolloutFacts *facts, const Identities *prefixes)
{
	Sum		   *sum = ALLOCATE_ZEROED_ARRAY(Sum, prefixes->n);
	uint32	   *count = count_visits(group, prefixes, NULL);
	double	   *value = ALLOCATE_ARRAY(double, prefixes->n);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (facts->judged[r])
			for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
				sum_add(&sum[prefixes->of_step[i]], facts->total[r]);
	CHECK_FOR_INTERRUPTS();
	for (uint32 p = 0; p < prefixes->n; p++)
		value[p] = sum_value(&sum[p]) / count[p];
	pfree(sum);
	pfree(count);
	return value;
}

static double
mean_return(const Group *group, const RolloutFacts *facts)
{
	Sum			sum = {0};

	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (facts->judged[r])
			sum_add(&sum, facts->total[r]);
	return sum_value(&sum) / facts->n_judged;
}

static void
tempo_estimate(const Group *group, const RolloutFacts *facts,
			   const ParameterValue *parameters, EstimateColumn *columns)
{
	NormaliseOptions options = {parameters[P_NORMALISE].choice, parameters[P_EPSILON].number, SINGLETON_ZERO};
	Size		n = (Size) group->n_rollouts + group->n_steps;
	double	   *x = ALLOCATE_ARRAY(double, n);
	double	   *result = ALLOCATE_ARRAY(double, n);
	uint32	   *weight = ALLOCATE_ZEROED_ARRAY(uint32, n);
	double	   *step_x = x + group->n_rollouts;
	double	   *value = columns[1].number;
	double	   *next_value = columns[2].number;
	double		root = mean_return(group, facts);
	Identities	prefixes;
	double	   *prefix_value;

	number_prefixes(group, facts, &prefixes);
	prefix_value = prefix_values(group, facts, &prefixes);
	broadcast_to_steps(group, facts->total, columns[0].number);

	/*
	 * Steps are measured against the rollouts, whose returns alone are the
	 * statistics: the steps come along with weight 0.
	 */
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		double		before = root;

		x[r] = facts->total[r];
		weight[r] = facts->judged[r];
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			step_x[i] = facts->total[r];
			if (!facts->judged[r])
				continue;
			value[i] = before;
			next_value[i] = before = prefix_value[prefixes.of_step[i]];
			step_x[i] += next_value[i] - value[i];
		}
		CHECK_FOR_INTERRUPTS();
	}
	normalise(x, weight, NULL, n, 1, &options, result, NULL);
	memcpy(columns[3].number, result + group->n_rollouts, group->n_steps * sizeof(double));
}

STEPADV_ESTIMATOR(tempo, tempo_parameters, tempo_columns, tempo_estimate)
