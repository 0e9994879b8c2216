/*
 * tempo.c
 *		tempo: the temporal difference along the tree of a group's prefixes.
 *
 * V(p) is the mean return R of the judged rollouts that begin with the actions p; before the first step these are
 * all rollouts.  For the step that extends p to p',
 *
 *	A = (R - mean R + V(p') - V(p)) / (sd R + epsilon), sd with ddof 1
 *
 * so that a step at which no rollout branches off keeps GRPO's advantage.  A step takes the place of a token in
 * TEMPO; states are not used.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/estimator.h"
#include "estimators/identity.h"
#include "estimators/normalise.h"
#include "estimators/returns.h"

enum
{
	P_NORMALISE, P_EPSILON
};

static const Parameter tempo_parameters[] = {NORMALISE_PARAMETER, EPSILON_PARAMETER};

static const EstimateColumnType tempo_columns[] = {
	{"return", COLUMN_FLOAT8},
	{"value", COLUMN_FLOAT8},
	{"next_value", COLUMN_FLOAT8},
	{"advantage", COLUMN_FLOAT8}
};

static void
tempo_estimate(const GroupColumns *group, const RolloutFacts *facts,
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
	Identities	prefixes;
	SetMoments *root;
	SetMoments *by_prefix;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		x[r] = facts->total[r];
		weight[r] = facts->judged[r];
	}
	broadcast_to_steps(group, facts->total, columns[0].number);
	number_prefixes(group, facts, &prefixes);
	root = measure_sets(x, weight, NULL, group->n_rollouts, 1);
	by_prefix = measure_sets(columns[0].number, NULL, prefixes.of_step, group->n_steps, prefixes.n);

	/* Only the returns of rollouts enter the statistics.  Steps are normalized with them, with weight 0. */
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		double		before = root->mean;

		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			step_x[i] = facts->total[r];
			if (!facts->judged[r])
				continue;
			value[i] = before;
			next_value[i] = before = by_prefix[prefixes.of_step[i]].mean;
			step_x[i] += next_value[i] - value[i];
		}
		CHECK_FOR_INTERRUPTS();
	}
	normalise(x, weight, NULL, n, 1, &options, result, NULL);
	memcpy(columns[3].number, result + group->n_rollouts, group->n_steps * sizeof(double));
}

STEPADV_ESTIMATOR(tempo, tempo_parameters, tempo_columns, tempo_estimate)
