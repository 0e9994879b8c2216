/*
 * salt.c
 *		salt: the advantages of whole rollouts, averaged where rollouts took the
 *		same step.
 *
 * SALT (Li et al. 2025, arXiv 2510.20022) has no public code.  What is known of it
 * is the paper's abstract, and how appendix A.3 of the paper of GRAFT (2026) states
 * it: identical transitions (s, a, s') of the rollouts of a task are one edge of a
 * graph, and each has the mean of the advantages that GRPO gives to the rollouts
 * which it is from:
 *
 *	E_i	= (R_i - mean R) / (sd R + epsilon) over the judged rollouts, as in gigpo
 *	A_t	= mean of E over the rollouts with the edge of step t, E_i for an edge
 *		  that only rollout i has
 *
 * so that a step which good and bad rollouts share is neutral.  Open there, and
 * chosen here:
 *
 *	- where a rollout's last step leads: if it succeeded to the one GOAL, else to
 *	  its next_state, else to a place of its own, as in graphgpo; merge 'action'
 *	  does not look at where steps lead.
 *	- how often a rollout counts that takes an edge twice: once, or with visit
 *	  'every' each time.
 *	- how much of what came before must be the same: what the state says.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimator.h"
#include "estimators/episode.h"
#include "estimators/identity.h"

enum
{
	SALT_NORMALISE, SALT_EPSILON, SALT_WEIGHTING, SALT_SINGLETON, SALT_MERGE, SALT_VISIT, SALT_SUCCESS_ABOVE
};

static const Parameter salt_parameters[] = {
	NORMALISE_PARAMETER,
	EPSILON_PARAMETER,
	WEIGHTING_PARAMETER,
	SINGLETON_PARAMETER,
	CHOICE_PARAMETER("merge", "transition", "action"),
	VISIT_PARAMETER,
	SUCCESS_ABOVE_PARAMETER
};

#define MERGE_ACTION 1

enum
{
	SALT_EPISODE, SALT_N_EDGE, SALT_ADVANTAGE
};

static const EstimateColumnType salt_columns[] = {
	{"episode_advantage", COLUMN_FLOAT8},
	{"n_edge", COLUMN_INT4},
	{"advantage", COLUMN_FLOAT8}
};

/* Where each rollout's last step leads, in numbers beside those of the states. */
static int32 *
number_ends(const GroupColumns *group, const RolloutFacts *facts, double success_above, Identities *states)
{
	bool	   *at_goal = ALLOCATE_ARRAY(bool, group->n_rollouts);
	int32	   *end;

	for (uint32 r = 0; r < group->n_rollouts; r++)
		at_goal[r] = facts->judged[r] && rollout_succeeded(group, facts, r, success_above);
	end = number_states_and_ends(group, facts, at_goal, states);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		if (at_goal[r])
			end[r] = (int32) states->n;
		else if (end[r] == NO_IDENTITY)
			end[r] = (int32) (states->n + 1 + r);
	}
	pfree(at_goal);
	return end;
}

/* Which steps are the same. */
static void
merge_steps(const GroupColumns *group, const RolloutFacts *facts, const ParameterValue *parameters, Identities *edges)
{
	Identities	states;
	Identities	pairs;
	int32	   *end = number_ends(group, facts, parameters[SALT_SUCCESS_ABOVE].number, &states);

	number_pairs(group, &states, &pairs);
	if (parameters[SALT_MERGE].choice == MERGE_ACTION)
		*edges = pairs;
	else
		number_transitions(group, &pairs, find_next_states(group, &states, end), edges);
}

static void
salt_estimate(const GroupColumns *group, const RolloutFacts *facts,
			  const ParameterValue *parameters, EstimateColumn *columns)
{
	NormaliseOptions options = {
		parameters[SALT_NORMALISE].choice, parameters[SALT_EPSILON].number, parameters[SALT_SINGLETON].choice
	};
	double	   *episode = columns[SALT_EPISODE].number;
	Identities	edges;
	uint32	   *visit;
	uint32	   *visits;
	SetMoments *merged;

	episode_advantages(group, facts, parameters[SALT_WEIGHTING].choice == WEIGHTING_STEP, &options, episode, NULL);
	merge_steps(group, facts, parameters, &edges);
	visit = find_visits(group, &edges, parameters[SALT_VISIT].choice);
	visits = count_visits(group, &edges, visit);
	merged = measure_sets(episode, visit, edges.of_step, group->n_steps, edges.n);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		edge = edges.of_step[i];

		CHECK_ONCE_IN_A_WHILE(i);
		if (edge == NO_IDENTITY)
			continue;
		columns[SALT_N_EDGE].count[i] = visits[edge];
		/* Of one number the mean is that number, not nearly. */
		columns[SALT_ADVANTAGE].number[i] = merged[edge].least == merged[edge].most ? episode[i] : merged[edge].mean;
	}
}

STEPADV_ESTIMATOR(salt, salt_parameters, salt_columns, salt_estimate)
