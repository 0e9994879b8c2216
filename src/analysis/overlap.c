/*
 * overlap.c
 *		history_overlap: how far a history knows the states that a group came through.
 *
 * What rtmc and batch_td take from a history they take state by state. Where the
 * group was and the history was not, their estimates are the group's own, whatever
 * the history says of other states; this is how much of the group that is.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/identity.h"
#include "group/facts.h"
#include "group/pool.h"
#include "parameters.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(stepadv_history_overlap);

static const Parameter overlap_parameters[] = {GROUP_PARAMETER("history")};

typedef struct Overlap
{
	int32		n_rollouts;		/* judged ones that the history adds */
	int32		n_steps;		/* theirs */
	int32		n_states;		/* of the group */
	int32		n_known_states; /* of these, in which the history was too */
	double		known_step_share;	/* of the group's steps, those in such states; NaN for no step */
	double		known_action_share; /* and those whose action was taken there */
} Overlap;

/* Of the group's judged steps, the first n_own of the pool's, the share in what other steps were in too. */
static double
known_share(const GroupColumns *pooled, const Identities *identities, uint32 n_own, int32 *n, int32 *n_known)
{
	bool	   *known = ALLOCATE_ZEROED_ARRAY(bool, identities->n);
	uint32		n_steps = 0;
	uint32		n_known_steps = 0;

	for (uint32 i = n_own; i < pooled->n_steps; i++)
		if (identities->of_step[i] != NO_IDENTITY)
			known[identities->of_step[i]] = true;
	*n = *n_known = 0;
	for (uint32 i = 0; i < n_own; i++)
	{
		int32		identity = identities->of_step[i];

		if (identity == NO_IDENTITY)
			continue;
		n_steps++;
		n_known_steps += known[identity];
		if (identities->first_step[identity] == i)
		{
			(*n)++;
			*n_known += known[identity];
		}
	}
	pfree(known);
	return n_steps > 0 ? (double) n_known_steps / n_steps : NAN;
}

static void
measure_overlap(const GroupColumns *group, const GroupColumns *pooled, Overlap *overlap)
{
	RolloutFacts facts;
	Identities	states;
	Identities	pairs;
	int32		n;
	int32		n_known;

	find_rollout_facts(pooled, &facts);
	overlap->n_rollouts = overlap->n_steps = 0;
	for (uint32 r = group->n_rollouts; r < pooled->n_rollouts; r++)
		if (facts.judged[r])
		{
			overlap->n_rollouts++;
			overlap->n_steps += pooled->n_rollout_steps[r];
		}
	number_states(pooled, &facts, &states);
	number_pairs(pooled, &states, &pairs);
	overlap->known_step_share = known_share(pooled, &states, group->n_steps, &overlap->n_states, &overlap->n_known_states);
	overlap->known_action_share = known_share(pooled, &pairs, group->n_steps, &n, &n_known);
}

Datum
stepadv_history_overlap(PG_FUNCTION_ARGS)
{
	ParameterValue parameters[lengthof(overlap_parameters)];
	GroupColumns group;
	GroupColumns calls;
	GroupColumns history;
	GroupColumns history_calls;
	GroupColumns pooled;
	Overlap    *overlap = palloc(sizeof(Overlap));

	read_parameters(fcinfo, 1, overlap_parameters, lengthof(overlap_parameters), parameters);
	group_open_by_unit((RolloutGroup *) PG_GETARG_VARLENA_P(0), &group, &calls);
	group_open_by_unit(parameters[0].group, &history, &history_calls);
	require_same_unit(&calls, &history_calls);
	pool_groups(&group, &history, &pooled);
	measure_overlap(&group, &pooled, overlap);

	{
		ResultColumn columns[] = {
			{"n_rollouts", COLUMN_INT4, &overlap->n_rollouts, NULL},
			{"n_steps", COLUMN_INT4, &overlap->n_steps, NULL},
			{"n_states", COLUMN_INT4, &overlap->n_states, NULL},
			{"n_known_states", COLUMN_INT4, &overlap->n_known_states, NULL},
			{"known_step_share", COLUMN_FLOAT8, &overlap->known_step_share, NULL},
			{"known_action_share", COLUMN_FLOAT8, &overlap->known_action_share, NULL},
		};

		RETURN_COLUMNS(columns, 1);
	}
}
