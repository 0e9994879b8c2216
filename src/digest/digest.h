/*
 * digest.h
 *		group_digest: a compact summary of one group, or of many, for the views over many groups.
 *
 * A digest is computed from a group (make.c), added to others (rollup.c), and read by the functions of
 * readers.c.  Sums are compensated, so that results do not show in which order digests were added.
 *
 * The value consists of its version, the set of its parts, the length of each part, and the parts.  Integers
 * have seven bits per byte, the lowest first, with the eighth bit set in all bytes but the last; those that
 * may be negative are zigzag-encoded.  Floating-point numbers are eight bytes, the lowest first.  Entries
 * with keys are in key order, each key as its distance from the previous one.  So equal digests have equal
 * bytes, on every machine.  Each byte is read once, by functions that know where the value ends (codec.c).
 */
#ifndef STEPADV_DIGEST_H
#define STEPADV_DIGEST_H

#include "fmgr.h"
#include "lib/stringinfo.h"

#include "analysis/labels.h"
#include "digest/counts.h"
#include "ids.h"
#include "sum.h"

#define DIGEST_VERSION 1

/* What a value begins with. */
typedef struct GroupDigest
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	uint8		version;
	uint8		parts;			/* bits: which are present; the others were not requested */
	char		bytes[FLEXIBLE_ARRAY_MEMBER];
} GroupDigest;

#define DIGEST_OVERHEAD offsetof(GroupDigest, bytes)

/* The parts, in their order. */
typedef enum DigestPart
{
	PART_NAMES,					/* of methods and measures */
	PART_COUNTS,				/* of groups, rollouts, steps; returns, and reward components */
	PART_ADVANTAGES,			/* sums by method */
	PART_HISTOGRAM,				/* bins by method */
	PART_SIGNS,					/* of all methods side by side */
	PART_CALLS,					/* by category */
	PART_MEASURES,				/* of rollouts */
	PART_HORIZONS,				/* rollouts by their distance from the goal */
	N_DIGEST_PARTS
} DigestPart;

#define ALL_PARTS ((1 << N_DIGEST_PARTS) - 1)
#define PARTS_OF_METHODS (1 << PART_ADVANTAGES | 1 << PART_HISTOGRAM | 1 << PART_SIGNS | 1 << PART_CALLS)
#define PARTS_ALWAYS (1 << PART_NAMES | 1 << PART_COUNTS)

typedef enum DigestCount
{
	COUNT_GROUPS,
	COUNT_JUDGED_GROUPS,
	COUNT_INFORMATIVE_GROUPS,	/* whose returns differ */
	COUNT_ROLLOUTS,
	COUNT_JUDGED,
	COUNT_SUCCESSES,
	COUNT_TRUNCATED,
	COUNT_STEPS,
	COUNT_JUDGED_STEPS,			/* of judged rollouts */
	COUNT_SHARED_STEPS,			/* of these, in states that two judged rollouts visited */
	N_DIGEST_COUNTS
} DigestCount;

/* About the advantages of a method. */
typedef struct AdvantageTotals
{
	int64		n;
	int64		n_positive;
	int64		n_negative;
	Sum			sum;
	Sum			abs_sum;
	Sum			square_sum;		/* squares of up to 1e-300 count as 0 */
	double		least;			/* infinity if there are none */
	double		greatest;		/* minus infinity if there are none */
	counts_hash *bins;			/* see bin_of_advantage; NULL: none */
} AdvantageTotals;

/* About a measure of rollouts. */
typedef struct MeasureTotals
{
	int64		n;				/* rollouts for which it is known */
	int64		n_successes;	/* of these, the successes */
	Sum			sum;
	Sum			judged_sum;		/* of judged rollouts */
	counts_hash *numbers;		/* see number_key; NULL: none */
} MeasureTotals;

/* Rollouts that started at the same distance from the goal. */
typedef struct Horizon
{
	int64		key;			/* hash key: the distance, see exact_key */
	int64		n;
	int64		n_successes;
	int64		n_steps;
	Sum			excess;			/* of the successes */
	counts_hash *excesses;
	char		status;
} Horizon;

#define SH_PREFIX horizon
#define SH_ELEMENT_TYPE Horizon
#define SH_KEY_TYPE int64
#define SH_KEY key
#define SH_HASH_KEY(table, key) look_on_the_way(hash_number(key))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "hash_table.h"

/* About the calls of a category. */
typedef enum CallCount
{
	CALLS,
	CALLS_FAILED,
	CALLS_JUDGED,				/* known to have failed or not */
	CALLS_GROUNDED,
	CALLS_LOOKED_AT,			/* known to be grounded or not */
	CALLS_REPEATED,
	N_CALL_COUNTS
} CallCount;

typedef struct CallTotals
{
	Category	category;		/* bytes NULL: calls without a category */
	int64		counts[N_CALL_COUNTS];
	AdvantageTotals *methods;	/* without extremes, squares and bins */
} CallTotals;

#define MOST_SIGNED_METHODS 30	/* with the outcome, 62 bits */

/* Outcome of a rollout, the first digit of a pattern of signs. */
#define OUTCOME_FAILURE 0
#define OUTCOME_SUCCESS 1
#define OUTCOME_UNKNOWN 2
#define N_OUTCOMES 3

/* What judged rollouts received of a reward component. */
typedef struct RewardTotals
{
	int64		n;				/* number of rewards received */
	Sum			sum;
} RewardTotals;

typedef struct Digest
{
	MemoryContext context;
	int			parts;			/* bits: which are present */
	char	   *names;			/* PART_NAMES of the digest added last; NULL: none yet */
	uint64		names_length;
	int			n_methods;
	int			n_measures;
	int			n_rewards;
	Category   *methods;
	Category   *measures;
	int64		counts[N_DIGEST_COUNTS];
	Sum			returns;		/* of judged rollouts, undiscounted */
	RewardTotals *rewards;		/* by component, with room for the greatest number; NULL: none */
	AdvantageTotals *advantages;	/* by method */
	counts_hash *signs;			/* patterns, see make.c; NULL: none */
	double	   *apart;			/* by pair of methods: greatest distance where they disagree; 0: they never do */
	MeasureTotals *measured;	/* by measure */
	horizon_hash *horizons;		/* NULL: none */
	CallTotals *calls;			/* in no order */
	int			n_calls;
	int			room_for_calls;
	ids_hash   *call_places;	/* index of each category, by the hash of its bytes; NULL: no category */
} Digest;

static inline int
digest_n_pairs(const Digest *digest)
{
	return digest->n_methods > MOST_SIGNED_METHODS ? 0 : digest->n_methods * (digest->n_methods - 1) / 2;
}

/* The index of a pair of methods, first < second: pairs are ordered by the first, then by the second. */
static inline int
pair_of_methods(const Digest *digest, int first, int second)
{
	return first * (2 * digest->n_methods - first - 1) / 2 + second - first - 1;
}

/* digest.c */
extern void digest_init(Digest *digest, MemoryContext context, int parts);
extern void digest_set_names(Digest *digest, const char *names, uint64 length, int sqlerrcode);
extern void digest_write_names(StringInfo bytes, const Category *methods, int n_methods, const Category *measures, int n_measures);
extern void digest_make_room_for_rewards(Digest *digest, int n);
extern CallTotals *digest_calls(Digest *digest, const Category *category);
extern Horizon *digest_horizon(Digest *digest, int64 key);
extern void count_in(counts_hash **counts, MemoryContext context, int64 number, int64 n);

/* codec.c */
extern GroupDigest *digest_write(Digest *digest);
extern void digest_add(Digest *digest, const GroupDigest *datum, int sqlerrcode);

/* rollup.c */
extern const Digest *digest_argument(FunctionCallInfo fcinfo, int parts);

/* ----------
 * Numbers with distributions
 *
 * They are rounded to twelve binary digits: integers up to 4096 are exact, others have a relative error of at most
 * 1 in 8192.  Keys have the order of the numbers.
 * ----------
 */

#define DIGITS_DROPPED 41

static inline int64
number_key(double number)
{
	int64		bits;
	int64		key;

	memcpy(&bits, &number, sizeof(bits));
	key = ((bits & PG_INT64_MAX) + (INT64CONST(1) << (DIGITS_DROPPED - 1))) >> DIGITS_DROPPED;
	/* Do not round to infinity. */
	key = Min(key, (INT64CONST(0x7FF) << (52 - DIGITS_DROPPED)) - 1);
	return number < 0 ? -key : key;
}

static inline double
number_of_key(int64 key)
{
	int64		bits = (key < 0 ? -key : key) << DIGITS_DROPPED;
	double		number;

	memcpy(&number, &bits, sizeof(number));
	return key < 0 ? -number : number;
}

/* The largest key; its negative is the smallest. */
#define GREATEST_NUMBER_KEY ((INT64CONST(0x7FF) << (52 - DIGITS_DROPPED)) - 1)

/* A key without rounding, in the order of the numbers. */
static inline int64
exact_key(double number)
{
	int64		bits;

	memcpy(&bits, &number, sizeof(bits));
	return number < 0 ? -(bits & PG_INT64_MAX) : number > 0 ? bits : 0;
}

static inline double
number_of_exact_key(int64 key)
{
	int64		bits = key < 0 ? -key : key;
	double		number;

	memcpy(&number, &bits, sizeof(number));
	return key < 0 ? -number : number;
}

#define GREATEST_EXACT_KEY ((INT64CONST(0x7FF) << 52) - 1)

/* The key of an unknown horizon, after all others. */
#define NO_HORIZON (GREATEST_EXACT_KEY + 1)

/* Bins of advantages: bins per unit, and the largest absolute value. */
#define BINS_OF_ONE 20
#define FURTHEST_BIN 4611686018427387904.0	/* 2^62 */

static inline int64
bin_of_advantage(double advantage)
{
	double		place = Min(Max(advantage * BINS_OF_ONE, -FURTHEST_BIN), FURTHEST_BIN);
	int64		bin = (int64) place;

	/* The floor, without a function call. */
	return bin - (bin > place);
}

#endif							/* STEPADV_DIGEST_H */
