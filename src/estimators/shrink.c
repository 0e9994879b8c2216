/*
 * shrink.c
 *		Advantages made as small as leaving rollouts out says that they should be.
 *
 * Of a group's rollouts each is left out in turn (returns not discounted), and the slope of what happened on what was said is what advantages are to be multiplied
 * by: between 0 and 1, since luck only adds.  One group alone knows it badly, so it
 * has a prior: PRIOR_ROLLOUTS more that were left out, with the slope PRIOR_SLOPE; both by what errs least on
 * the problems of test/credit.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "arrays.h"
#include "estimators/leave_one_out.h"
#include "estimators/shrink.h"

#define PRIOR_ROLLOUTS 16
#define PRIOR_SLOPE 0.3

/* Left out at most, as by default in left_out. */
#define MAX_LEFT_OUT 16
#define LEFT_OUT_SEED 1

static int
find_advantage(const EstimateColumnType *types, int n_columns)
{
	int			c = 0;

	while (strcmp(types[c].name, "advantage") != 0)
		c++;
	Assert(c < n_columns);
	return c;
}

/* The column of advantages, of the group as it is seen without a rollout. */
static double *
advantages_without(const GroupColumns *group, const RolloutFacts *facts, uint32 rollout, EstimateFunction estimate,
				   const EstimateColumnType *types, int n_columns, const ParameterValue *parameters)
{
	RolloutFacts others = *facts;
	EstimateColumn columns[MAX_RESULT_COLUMNS];

	others.judged = ALLOCATE_ARRAY(bool, group->n_rollouts);
	memcpy(others.judged, facts->judged, group->n_rollouts * sizeof(bool));
	others.judged[rollout] = false;
	others.total = ALLOCATE_ARRAY(double, group->n_rollouts);
	memcpy(others.total, facts->total, group->n_rollouts * sizeof(double));
	others.total[rollout] = 0;
	others.n_judged--;
	for (int c = 0; c < n_columns; c++)
	{
		if (types[c].dear)
			columns[c].number = NULL;
		else if (types[c].type == COLUMN_FLOAT8)
			columns[c].number = ALLOCATE_ARRAY(double, group->n_steps);
		else
			columns[c].count = ALLOCATE_ARRAY(int32, group->n_steps);
	}
	estimate(group, &others, parameters, columns);
	return columns[find_advantage(types, n_columns)].number;
}

static double
slope_of(const CreditSlope *found)
{
	double		squares = sum_value(&found->squares);
	double		slope = squares > 0 ? sum_value(&found->products) / squares : PRIOR_SLOPE;

	slope = (found->n_rollouts * slope + PRIOR_ROLLOUTS * PRIOR_SLOPE) / (found->n_rollouts + PRIOR_ROLLOUTS);
	return Min(Max(slope, 0), 1);
}

void
shrink_advantages(const GroupColumns *group, const RolloutFacts *facts, EstimateFunction estimate,
				  const EstimateColumnType *types, int n_columns,
				  const ParameterValue *parameters, int n_parameters, int shrink, EstimateColumn *columns)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "stepadv shrink", ALLOCSET_DEFAULT_SIZES);
	double	   *advantage = columns[find_advantage(types, n_columns)].number;
	bool	   *chosen = ALLOCATE_ARRAY(bool, group->n_rollouts);
	ParameterValue plain[MAX_PARAMETERS];
	CreditSlope found = {0};
	LeaveOneOut out;
	double		slope;

	memcpy(plain, parameters, n_parameters * sizeof(ParameterValue));
	plain[shrink].choice = 0;
	choose_left_out(group, facts, MAX_LEFT_OUT, LEFT_OUT_SEED, chosen);
	prepare_leave_one_out(group, facts, 1, &out);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		MemoryContext old;

		if (!chosen[r])
			continue;
		CHECK_FOR_INTERRUPTS();
		old = MemoryContextSwitchTo(scratch);
		add_to_slope(&out, r, advantages_without(group, facts, r, estimate, types, n_columns, plain), &found);
		MemoryContextSwitchTo(old);
		MemoryContextReset(scratch);
	}
	MemoryContextDelete(scratch);
	slope = slope_of(&found);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		advantage[i] *= slope;
	}
}
