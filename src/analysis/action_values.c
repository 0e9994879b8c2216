/*
 * action_values.c
 *		Q and V of a group by a choice of methods, for functions about states.
 *
 * They equal the results of batch_td(g) or rtmc(g) with the same parameters.  The default prior is
 * 0 for batch_td and 2, as in its paper, for rtmc.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "estimators/batch_td.h"
#include "estimators/q_error.h"
#include "analysis/action_values.h"

/* In the order of the choices of "method". */
enum
{
	METHOD_BATCH_TD, METHOD_RTMC
};

/* By method. */
static const double default_prior[] = {0, 2};

static void
refuse_infinite(const GroupColumns *group, RtmcTable *table)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			int32		pair = table->pairs.of_step[i];

			/* Infinite or NaN if Q or V is. */
			if (pair == NO_IDENTITY || isfinite(table->pair_advantage[pair]))
				continue;
			if (!group->lenient)
				refuse_overflow(group, r, i);
			table->pair_q[pair] = table->state_v[table->states.of_step[i]] = NAN;
		}
		CHECK_FOR_INTERRUPTS();
	}
}

void
find_action_values(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *parameters,
				   bool with_errors, RtmcTable *table)
{
	int			method = parameters[VALUE_METHOD].choice;
	ParameterValue prior = parameters[VALUE_PRIOR];

	if (prior.isnull)
		prior = (ParameterValue) {.number = default_prior[method]};
	if (method == METHOD_BATCH_TD)
	{
		ParameterValue of_method[N_BATCH_TD_PARAMETERS] = {
			[BATCH_TD_GAMMA] = parameters[VALUE_GAMMA], [BATCH_TD_PRIOR] = prior,
			[BATCH_TD_BASELINE] = parameters[VALUE_BASELINE],
			[BATCH_TD_PRIOR_MEAN] = parameters[VALUE_PRIOR_MEAN],
			[BATCH_TD_SUCCESS_ABOVE] = parameters[VALUE_SUCCESS_ABOVE]
		};

		batch_td_table_build(group, facts, of_method, with_errors, table);
	}
	else
	{
		ParameterValue of_method[N_RTMC_PARAMETERS] = {
			[RTMC_GAMMA] = parameters[VALUE_GAMMA], [RTMC_PRIOR] = prior,
			[RTMC_BASELINE] = parameters[VALUE_BASELINE],
			[RTMC_VISIT] = {.choice = VISIT_FIRST}, [RTMC_SUCCESS_ABOVE] = parameters[VALUE_SUCCESS_ABOVE],
			[RTMC_PRIOR_MEAN] = parameters[VALUE_PRIOR_MEAN]
		};
		const double *weight = rtmc_table_build(group, facts, of_method, with_errors, table);

		if (with_errors)
			monte_carlo_errors(group, weight, prior.number, table, NULL);
	}
	refuse_infinite(group, table);
}
