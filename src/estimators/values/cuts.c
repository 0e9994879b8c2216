#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/values/cuts.h"
#include "estimators/values/neighbours.h"

/* By step: the state in which its rollout was cut off. */
static int32 *
cuts_by_step(const GroupColumns *group, const int32 *cut)
{
	int32	   *next = ALLOCATE_ARRAY(int32, group->n_steps);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
			next[i] = cut[r];
	return next;
}

/* By state: is an end reached from it?  Backwards from the ends, each edge once. */
static bool *
find_ending_states(const GroupColumns *group, const Identities *states, const int32 *next)
{
	bool	   *ends = ALLOCATE_ZEROED_ARRAY(bool, states->n);
	int32	   *pending = ALLOCATE_ARRAY(int32, states->n);
	uint32		n_pending = 0;
	Adjacency	before;

	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		state = states->of_step[i];

		if (state == NO_IDENTITY || next[i] != NO_IDENTITY || ends[state])
			continue;
		ends[state] = true;
		pending[n_pending++] = state;
	}
	find_neighbours(group, states->n, next, states->of_step, false, &before);
	for (uint32 n = 1; n_pending > 0; n++)
	{
		int32		state = pending[--n_pending];

		for (uint32 e = before.first[state]; e < before.first[state + 1]; e++)
		{
			if (ends[before.neighbour[e]])
				continue;
			ends[before.neighbour[e]] = true;
			pending[n_pending++] = before.neighbour[e];
		}
		if (n % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	free_neighbours(&before);
	pfree(pending);
	return ends;
}

void
drop_endless_cuts(const GroupColumns *group, const Identities *states, bool by_return, int32 *cut)
{
	int32	   *next = by_return ? cuts_by_step(group, cut) : find_next_states(group, states, cut);
	bool	   *ends = find_ending_states(group, states, next);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		if (cut[r] != NO_IDENTITY && !ends[cut[r]])
			cut[r] = NO_IDENTITY;
	pfree(next);
	pfree(ends);
}
