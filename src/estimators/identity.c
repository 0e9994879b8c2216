/*
 * identity.c
 *		Maps 64-bit identities to dense numbers, with PostgreSQL's simplehash.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "arrays.h"
#include "estimators/identity.h"
#include "group/facts.h"
#include "hash.h"
#include "ids.h"

/*
 * There are two tables: one keyed by a pair of numbers, and one keyed by a single number, whose smaller
 * entries help if a group has more states than fit into the processor's caches.
 */
typedef struct IdentityKey
{
	int64		major;			/* state, or its number */
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
#define SH_HASH_KEY(table, key) look_on_the_way((uint32) hash_bytes_64(&(key), sizeof(key)))
#define SH_EQUAL(table, a, b) ((a).major == (b).major && (a).minor == (b).minor)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "hash_table.h"

/*
 * A cache of recent lookups, indexed by a few bits of a fast hash: most steps of a group are in few states,
 * and skip the table.
 */
#define RECENT_BITS 7

typedef struct RecentSingle
{
	int64		key;
	int32		number;			/* from 1; 0: none */
} RecentSingle;

typedef struct RecentIdentity
{
	IdentityKey key;
	int32		number;
} RecentIdentity;

typedef struct SingleTable
{
	ids_hash *hash;
	RecentSingle recent[1 << RECENT_BITS];
} SingleTable;

typedef struct IdentityTable
{
	identity_hash *hash;
	RecentIdentity recent[1 << RECENT_BITS];
} IdentityTable;

/* The upper bits of the product depend on all bits of the key. */
static inline uint32
recent_place(int64 key)
{
	return (uint32) (((uint64) key * UINT64CONST(0x9E3779B97F4A7C15)) >> (64 - RECENT_BITS));
}

/* Most groups are small; tables of large ones grow. */
#define INITIAL_TABLE_SIZE 64
#define MOST_EXPECTED 65536

/* Allocate for at most `most` different identities. */
static void
allocate_identities(const GroupColumns *group, Size most, Identities *identities)
{
	identities->n = 0;
	identities->of_step = ALLOCATE_ARRAY(int32, group->n_steps);
	identities->first_step = ALLOCATE_ARRAY(uint32, most);
}

static void
begin_singles(SingleTable *table)
{
	table->hash = ids_create(CurrentMemoryContext, INITIAL_TABLE_SIZE, NULL);
	memset(table->recent, 0, sizeof(table->recent));
}

static void
begin_identities(const GroupColumns *group, IdentityTable *table, Identities *identities)
{
	allocate_identities(group, group->n_steps, identities);
	table->hash = identity_create(CurrentMemoryContext, INITIAL_TABLE_SIZE, NULL);
	memset(table->recent, 0, sizeof(table->recent));
}

static inline int32
new_identity(Identities *identities, uint32 step)
{
	identities->first_step[identities->n] = step;
	return (int32) identities->n++;
}

static pg_noinline int32
look_identity_up(identity_hash *table, const IdentityKey *key, Identities *identities, uint32 step)
{
	bool		found;
	IdentityEntry *entry = identity_insert(table, *key, &found);

	if (!found)
		entry->number = (uint32) new_identity(identities, step);
	return (int32) entry->number;
}

static inline void
find_identity(IdentityTable *table, int64 major, int64 minor, Identities *identities, uint32 step)
{
	RecentIdentity *recent = &table->recent[recent_place((int64) ((uint64) minor + ((uint64) major << 32) + (uint64) major))];

	if (recent->number == 0 || recent->key.major != major || recent->key.minor != minor)
	{
		recent->key = (IdentityKey) {major, minor};
		recent->number = look_identity_up(table->hash, &recent->key, identities, step) + 1;
	}
	identities->of_step[step] = recent->number - 1;
}

static pg_noinline int32
look_single_up(ids_hash *table, int64 key, Identities *identities, uint32 step)
{
	bool		found;
	IdEntry *entry = ids_insert(table, key, &found);

	if (!found)
		entry->number = (uint32) new_identity(identities, step);
	return (int32) entry->number;
}

static inline int32
find_single(SingleTable *table, int64 key, Identities *identities, uint32 step)
{
	RecentSingle *recent = &table->recent[recent_place(key)];

	if (recent->number == 0 || recent->key != key)
	{
		recent->key = key;
		recent->number = look_single_up(table->hash, key, identities, step) + 1;
	}
	return recent->number - 1;
}

/* The key is NULL if bit is set. */
static void
add_singles(const GroupColumns *group, const RolloutFacts *facts, const int64 *key, uint8 bit, SingleTable *table,
			Identities *states)
{
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			if (!facts->judged[r])
				states->of_step[i] = NO_IDENTITY;
			else if (step_has_null(group, i, bit))
				states->of_step[i] = new_identity(states, i);
			else
				states->of_step[i] = find_single(table, key[i], states, i);
			if (i % 4096 == 0)
				CHECK_FOR_INTERRUPTS();
		}
	}
}

static void
add_states(const GroupColumns *group, const RolloutFacts *facts, SingleTable *table, Identities *states)
{
	add_singles(group, facts, group->state, NULL_STATE, table, states);
}

void
number_states(const GroupColumns *group, const RolloutFacts *facts, Identities *states)
{
	SingleTable table;

	begin_singles(&table);
	allocate_identities(group, group->n_steps, states);
	add_states(group, facts, &table, states);
	ids_destroy(table.hash);
}

/* Is it known where the last step of a rollout led? */
static inline bool
leads_on(const GroupColumns *group, uint32 rollout)
{
	return group->n_rollout_steps[rollout] > 0 && group->next_state != NULL &&
		!step_has_null(group, group->first_step[rollout + 1] - 1, NULL_NEXT_STATE);
}

int32 *
number_states_and_ends(const GroupColumns *group, const RolloutFacts *facts, const bool *at_goal,
					   Identities *states)
{
	SingleTable table;
	int32	   *end = ALLOCATE_ARRAY(int32, group->n_rollouts);

	begin_singles(&table);
	allocate_identities(group, (Size) group->n_steps + group->n_rollouts, states);
	add_states(group, facts, &table, states);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint32		last = group->first_step[r + 1] - 1;

		end[r] = NO_IDENTITY;
		if (facts->judged[r] && !at_goal[r] && leads_on(group, r))
			end[r] = find_single(&table, group->next_state[last], states, last);
	}
	ids_destroy(table.hash);
	return end;
}

int32 *
number_states_and_cuts(const GroupColumns *group, const RolloutFacts *facts, Identities *states)
{
	SingleTable table;
	int32	   *cut = ALLOCATE_ARRAY(int32, group->n_rollouts);

	begin_singles(&table);
	allocate_identities(group, group->n_steps, states);
	add_states(group, facts, &table, states);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		IdEntry *entry = NULL;

		if (facts->judged[r] && rollout_is_truncated(group, r) && group->success[r] != SUCCESS_TRUE && leads_on(group, r))
			entry = ids_lookup(table.hash, group->next_state[group->first_step[r + 1] - 1]);
		cut[r] = entry != NULL ? (int32) entry->number : NO_IDENTITY;
	}
	ids_destroy(table.hash);
	return cut;
}

/* Number keys regardless of state.  A key is NULL if bit is set.  Gives up and returns false at more than most. */
static bool
number_keys(const GroupColumns *group, const int64 *key, uint8 bit, uint32 most, Identities *keys)
{
	SingleTable table;

	begin_singles(&table);
	allocate_identities(group, group->n_steps, keys);
	for (uint32 i = 0; i < group->n_steps && keys->n <= most; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		keys->of_step[i] = step_has_null(group, i, bit) ? new_identity(keys, i) : find_single(&table, key[i], keys, i);
	}
	ids_destroy(table.hash);
	return keys->n <= most;
}

void
number_actions(const GroupColumns *group, Identities *actions)
{
	number_keys(group, group->action, NULL_ACTION, UINT32_MAX, actions);
}

/* The maximum size of a table by state and key: a minimum, and an amount for each step. */
#define SMALL_TABLE 1024
#define SMALL_TABLE_BY_STEP 8

/* Number pairs of state and key.  The key is NULL if bit is set. */
static void
number_within(const GroupColumns *group, const Identities *states, const int64 *key, uint8 bit, Identities *pairs)
{
	IdentityTable table;
	Identities	keys;
	/* If keys are few, such as names of tools, or states are few. */
	uint32		most = (SMALL_TABLE + SMALL_TABLE_BY_STEP * (uint64) group->n_steps) / Max(states->n, 1);
	bool		is_small = number_keys(group, key, bit, most, &keys);
	int32	   *number = is_small ? ALLOCATE_ZEROED_ARRAY(int32, (Size) states->n * keys.n) : NULL;
	uint32	   *visits = is_small ? NULL : count_visits(group, states, NULL);

	begin_identities(group, &table, pairs);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		int32		state = states->of_step[i];

		CHECK_ONCE_IN_A_WHILE(i);
		if (state == NO_IDENTITY)
			pairs->of_step[i] = NO_IDENTITY;
		else if (step_has_null(group, i, bit))
			pairs->of_step[i] = new_identity(pairs, i);
		else if (is_small)
		{
			int32	   *known = &number[(Size) state * keys.n + keys.of_step[i]];

			if (*known == 0)
				*known = new_identity(pairs, i) + 1;
			pairs->of_step[i] = *known - 1;
		}
		else if (visits[state] == 1)
			pairs->of_step[i] = new_identity(pairs, i);
		else
			find_identity(&table, state, key[i], pairs, i);
	}
	identity_destroy(table.hash);
	pfree(keys.of_step);
	pfree(keys.first_step);
	pfree(is_small ? (void *) number : visits);
}

void
number_pairs(const GroupColumns *group, const Identities *states, Identities *pairs)
{
	number_within(group, states, group->action, NULL_ACTION, pairs);
}

void
number_levels(const GroupColumns *group, const RolloutFacts *facts, Identities *coarse, Identities *fine)
{
	SingleTable table;

	begin_singles(&table);
	allocate_identities(group, group->n_steps, coarse);
	add_singles(group, facts, group->coarse_state, NULL_COARSE_STATE, &table, coarse);
	ids_destroy(table.hash);
	number_within(group, coarse, group->state, NULL_STATE, fine);
}

int32 *
find_next_states(const GroupColumns *group, const Identities *states, const int32 *end)
{
	int32	   *next = ALLOCATE_ARRAY(int32, group->n_steps);

	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		for (uint32 i = group->first_step[r]; i + 1 < group->first_step[r + 1]; i++)
			next[i] = states->of_step[i + 1];
		if (group->n_rollout_steps[r] > 0)
			next[group->first_step[r + 1] - 1] = end != NULL ? end[r] : NO_IDENTITY;
	}
	return next;
}

void
number_transitions(const GroupColumns *group, const Identities *pairs, const int32 *next, Identities *edges)
{
	IdentityTable table;

	begin_identities(group, &table, edges);
	for (uint32 i = 0; i < group->n_steps; i++)
	{
		if (pairs->of_step[i] == NO_IDENTITY)
			edges->of_step[i] = NO_IDENTITY;
		else
			find_identity(&table, pairs->of_step[i], next[i], edges, i);
		if (i % 4096 == 0)
			CHECK_FOR_INTERRUPTS();
	}
	identity_destroy(table.hash);
}

void
number_edges(const GroupColumns *group, const Identities *states, const Identities *pairs, Identities *edges)
{
	int32	   *next = find_next_states(group, states, NULL);

	number_transitions(group, pairs, next, edges);
	pfree(next);
}

void
number_prefixes(const GroupColumns *group, const RolloutFacts *facts, Identities *prefixes)
{
	IdentityTable table;

	begin_identities(group, &table, prefixes);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		int32		before = NO_IDENTITY;

		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			if (!facts->judged[r])
				prefixes->of_step[i] = NO_IDENTITY;
			else if (step_has_null(group, i, NULL_ACTION))
				prefixes->of_step[i] = new_identity(prefixes, i);
			else
				find_identity(&table, before, group->action[i], prefixes, i);
			before = prefixes->of_step[i];
			CHECK_ONCE_IN_A_WHILE(i);
		}
	}
	identity_destroy(table.hash);
}

void
number_extensions(const GroupColumns *group, const Identities *shorter, const Identities *states,
				  Identities *longer)
{
	IdentityTable table;

	begin_identities(group, &table, longer);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		int32		before = NO_IDENTITY;

		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			if (before == NO_IDENTITY || states->of_step[i] == NO_IDENTITY)
				longer->of_step[i] = NO_IDENTITY;
			else
				find_identity(&table, before, states->of_step[i], longer, i);
			before = shorter->of_step[i];
			CHECK_ONCE_IN_A_WHILE(i);
		}
	}
	identity_destroy(table.hash);
}

void
number_histories(const GroupColumns *group, const Identities *states, const Identities *pairs, Identities *histories)
{
	ids_hash   *table;
	uint32	   *last_rollout = ALLOCATE_ZEROED_ARRAY(uint32, pairs->n);
	uint32		expected = Min(Max(group->n_steps, INITIAL_TABLE_SIZE), MOST_EXPECTED);

	table = ids_create(CurrentMemoryContext, expected, NULL);
	allocate_identities(group, group->n_steps, histories);
	for (uint32 r = 0; r < group->n_rollouts; r++)
	{
		uint64		set = 0;

		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			int32		pair = pairs->of_step[i];

			CHECK_ONCE_IN_A_WHILE(i);
			if (pair == NO_IDENTITY)
			{
				histories->of_step[i] = NO_IDENTITY;
				continue;
			}
			/* Almost every history is new: the cache of recent lookups would not help. */
			histories->of_step[i] = look_single_up(table, hash_int64_onto(states->of_step[i], (int64) set), histories, i);
			if (last_rollout[pair] == r + 1 || step_has_null(group, i, NULL_ACTION))
				continue;
			last_rollout[pair] = r + 1;
			set += (uint64) hash_int64_onto(pair, 0);
		}
	}
	ids_destroy(table);
	pfree(last_rollout);
}

/*
 * Rollouts are processed one after the other, so it is enough to remember, for each identity, the last rollout
 * that visited it.
 */
uint32 *
find_visits(const GroupColumns *group, const Identities *identities, Visit which)
{
	uint32	   *visit = ALLOCATE_ARRAY(uint32, group->n_steps);
	uint32	   *last_rollout = ALLOCATE_ZEROED_ARRAY(uint32, identities->n);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
		{
			int32		identity = identities->of_step[i];

			CHECK_ONCE_IN_A_WHILE(i);
			visit[i] = identity != NO_IDENTITY && (which == VISIT_EVERY || last_rollout[identity] != r + 1);
			if (visit[i])
				last_rollout[identity] = r + 1;
		}
	pfree(last_rollout);
	return visit;
}

double *
weigh_visits(const GroupColumns *group, const RolloutFacts *facts, const Identities *identities, Visit which)
{
	uint32	   *visit = find_visits(group, identities, which);
	double	   *weight = ALLOCATE_ARRAY(double, group->n_steps);

	for (uint32 r = 0; r < group->n_rollouts; r++)
		for (uint32 i = group->first_step[r]; i < group->first_step[r + 1]; i++)
			weight[i] = facts->weight == NULL || !visit[i] ? visit[i] : facts->weight[r];
	pfree(visit);
	return weight;
}

uint32 *
count_visits(const GroupColumns *group, const Identities *identities, const uint32 *visit)
{
	uint32	   *count = ALLOCATE_ZEROED_ARRAY(uint32, identities->n);

	for (uint32 i = 0; i < group->n_steps; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (identities->of_step[i] != NO_IDENTITY)
			count[identities->of_step[i]] += visit ? visit[i] : 1;
	}
	return count;
}
