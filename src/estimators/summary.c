/*
 * summary.c
 *		group_summary: one row about a group as a whole.
 *
 * Over judged rollouts only: their number and steps, mean and standard
 * deviation (ddof 1) of the undiscounted return, success rate, whether every
 * return is the same (such a group teaches group-relative methods nothing), and
 * how far its rollouts meet: distinct states, states visited by two or more
 * rollouts, and the share of steps in such states.
 */
#include "postgres.h"

#include "estimator.h"
#include "estimators/identity.h"
#include "estimators/normalise.h"

PG_FUNCTION_INFO_V1(stepadv_group_summary);

static const Parameter summary_parameters[] = {SUCCESS_ABOVE_PARAMETER};

typedef struct Summary
{
	int32		n_rollouts;
	int32		n_judged;
	int32		n_steps;
	double		mean_return;
	double		sd_return;
	double		success_rate;
	bool		uniform;
	int32		n_states;
	int32		n_shared_states;
	double		shared_step_share;
} Summary;

static void
summarise_returns(const Group *group, const RolloutFacts *facts, double success_above, Summary *summary)
{
	uint32	   *weight = ALLOCATE_ARRAY(uint32, group->n_rollouts);
	uint32		successes = 0;
	SetMoments *returns;

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		weight[r] = facts->judged[r];
		if (facts->judged[r])
			successes += rollout_succeeded(group, facts, r, success_above);
	}
	returns = measure_sets(facts->total, weight, NULL, group->n_rollouts, 1);
	summary->mean_return = returns->mean;
	summary->sd_return = returns->sd;
	summary->uniform = returns->least == returns->most;
	summary->success_rate = facts->n_judged > 0 ? (double) successes / facts->n_judged : NAN;
}

/* A state is shared when two different rollouts were in it. */
static void
summarise_states(const Group *group, const RolloutFacts *facts, Summary *summary)
{
	Identities	states;
	uint32	   *visitor;		/* 1 + the first rollout there */
	bool	   *shared;
	uint32		steps = 0;
	uint32		shared_steps = 0;

	number_states(group, facts, &states);
	visitor = ALLOCATE_ZEROED_ARRAY(uint32, states.n);
	shared = ALLOCATE_ZEROED_ARRAY(bool, states.n);
	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			int32		state = states.of_step[i];

			if (state == NO_IDENTITY)
				continue;
			steps++;
			if (visitor[state] == 0)
				visitor[state] = r + 1;
			else if (visitor[state] != r + 1)
				shared[state] = true;
		}
	for (uint32 s = 0; s < states.n; s++)
		summary->n_shared_states += shared[s];
	for (uint32 i = 0; i < group->n_steps; i++)
		shared_steps += states.of_step[i] != NO_IDENTITY && shared[states.of_step[i]];
	summary->n_states = states.n;
	summary->shared_step_share = steps > 0 ? (double) shared_steps / steps : NAN;
}

Datum
stepadv_group_summary(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(summary_parameters)];
	RolloutFacts facts;
	Summary    *summary = palloc0(sizeof(Summary));
	Group		group;

	read_parameters(fcinfo, 1, summary_parameters, lengthof(summary_parameters), parameters);
	group_open((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group);
	find_rollout_facts(&group, &facts);
	summary->n_rollouts = group.n_rollouts;
	summary->n_judged = facts.n_judged;
	summary->n_steps = group.n_steps;
	summarise_returns(&group, &facts, parameters[0].number, summary);
	summarise_states(&group, &facts, summary);

	{
		ResultColumn columns[] = {
			{COLUMN_INT4, &summary->n_rollouts, NULL},
			{COLUMN_INT4, &summary->n_judged, NULL},
			{COLUMN_INT4, &summary->n_steps, NULL},
			{COLUMN_FLOAT8, &summary->mean_return, NULL},
			{COLUMN_FLOAT8, &summary->sd_return, NULL},
			{COLUMN_FLOAT8, &summary->success_rate, NULL},
			{COLUMN_BOOL, &summary->uniform, NULL},
			{COLUMN_INT4, &summary->n_states, NULL},
			{COLUMN_INT4, &summary->n_shared_states, NULL},
			{COLUMN_FLOAT8, &summary->shared_step_share, NULL},
		};
		static const bool yes = true;

		/* Nothing judged: neither uniform nor mixed. */
		if (facts.n_judged == 0)
			columns[6].nulls = &yes;
		return return_rows(fcinfo, lengthof(columns), columns, 1);
	}
}
