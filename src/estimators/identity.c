/*
 * identity.c
 *		From 64-bit identities to dense numbers, by PostgreSQL's simplehash.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "estimators/identity.h"
#include "signatures/hash.h"

typedef struct IdentityKey
{
	int64		major;			/* state, or number of a state */
	int64		minor;			/* action */
} IdentityKey;

typedef struct IdentityEntry
{
	IdentityKey key;
	uint32		number;
	char		status;
} IdentityEntry;

#define SH_PREFIX identity
#define SH_ELEMENT_TYPE IdentityEntry
#define SH_KEY_TYPE IdentityKey
#define SH_KEY key
#define SH_HASH_KEY(table, key) ((uint32) hash_bytes_64(&(key), sizeof(key)))
#define SH_EQUAL(table, a, b) ((a).major == (b).major && (a).minor == (b).minor)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* Most groups are small; a large one grows its table as it goes. */
#define INITIAL_TABLE_SIZE 64

static identity_hash *
begin_identities(const Group *group, Identities *identities)
{
	identities->n = 0;
	identities->of_step = ALLOCATE_ARRAY(int32, group->n_steps);
	identities->first_step = ALLOCATE_ARRAY(uint32, group->n_steps);
	return identity_create(CurrentMemoryContext, INITIAL_TABLE_SIZE, NULL);
}

static inline int32
new_identity(Identities *identities, uint32 step)
{
	identities->first_step[identities->n] = step;
	return (int32) identities->n++;
}

static void
find_identity(identity_hash *table, int64 major, int64 minor, Identities *identities, uint32 step)
{
	bool		found;
	IdentityEntry *entry = identity_insert(table, (IdentityKey) {major, minor}, &found);

	if (!found)
		entry->number = (uint32) new_identity(identities, step);
	identities->of_step[step] = (int32) entry->number;
}

void
number_states(const Group *group, const RolloutFacts *facts, Identities *states)
{
	identity_hash *table = begin_identities(group, states);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			if (!facts->judged[r])
				states->of_step[i] = NO_IDENTITY;
			else if (step_has_null(group, i, NULL_STATE))
				states->of_step[i] = new_identity(states, i);
			else
				find_identity(table, group->state[i], 0, states, i);
			if (i % 4096 == 0)
				CHECK_FOR_INTERRUPTS();
		}
	}
	identity_destroy(table);
}

void
number_pairs(const Group *group, const Identities *states, Identities *pairs)
{
	identity_hash *table = begin_identities(group, pairs);

	for (uint32 i = 0; i < group->n_steps; i++)
	{
		if (states->of_step[i] == NO_IDENTITY)
			pairs->of_step[i] = NO_IDENTITY;
		else if (step_has_null(group, i, NULL_ACTION))
			pairs->of_step[i] = new_identity(pairs, i);
		else
			find_identity(table, states->of_step[i], group->action[i], pairs, i);
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	identity_destroy(table);
}

void
number_edges(const Group *group, const Identities *states, const Identities *pairs, Identities *edges)
{
	identity_hash *table = begin_identities(group, edges);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			bool		is_last = i + 1 == group->first_step[r + 1];

			if (states->of_step[i] == NO_IDENTITY)
				edges->of_step[i] = NO_IDENTITY;
			else
				find_identity(table, pairs->of_step[i], is_last ? NO_IDENTITY : states->of_step[i + 1], edges, i);
			if (i % 4096 == 0)
				CHECK_FOR_INTERRUPTS();
		}
	}
	identity_destroy(table);
}

void
number_actions(const Group *group, Identities *actions)
{
	identity_hash *table = begin_identities(group, actions);

	for (uint32 i = 0; i < group->n_steps; i++)
	{
		if (step_has_null(group, i, NULL_ACTION))
			actions->of_step[i] = new_identity(actions, i);
		else
			find_identity(table, group->action[i], 0, actions, i);
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	identity_destroy(table);
}
