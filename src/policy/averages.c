/*
 * averages.c
 *		mean_of_steps, mean_of_rollout_means: the two published ways to average a
 *		number per step over a batch; mean_of_tokens, mean_of_rollout_tokens: the
 *		same of sums over the tokens of each step.
 *
 * StepPO's equation 8 averages the steps of each rollout and then the rollouts,
 * its code the steps of the batch, where long rollouts weigh more.  Both sums
 * are compensated, so that they do not depend on the order of rows or on how
 * many workers shared them.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"

#include "arguments.h"
#include "state_value.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_mean_of_steps_trans);
PG_FUNCTION_INFO_V1(stepadv_mean_of_tokens_trans);
PG_FUNCTION_INFO_V1(stepadv_mean_of_steps_combine);
PG_FUNCTION_INFO_V1(stepadv_mean_of_steps_final);
PG_FUNCTION_INFO_V1(stepadv_mean_of_rollout_means_trans);
PG_FUNCTION_INFO_V1(stepadv_mean_of_rollout_tokens_trans);
PG_FUNCTION_INFO_V1(stepadv_mean_of_rollout_means_combine);
PG_FUNCTION_INFO_V1(stepadv_mean_of_rollout_means_final);

/* ----------
 * mean_of_steps: a float8[] of the count and the two halves of the sum
 * ----------
 */

typedef struct Mean
{
	double		n;
	Sum			sum;
} Mean;

static const Mean *
mean_argument(FunctionCallInfo fcinfo, int arg)
{
	return state_numbers(fcinfo, arg, "mean_of_steps", FLOAT8OID, 3);
}

static Mean *
mean_to_change(FunctionCallInfo fcinfo, Datum *state)
{
	return state_numbers_to_change(fcinfo, "mean_of_steps", FLOAT8OID, 3, state);
}

Datum
stepadv_mean_of_steps_trans(PG_FUNCTION_ARGS)
{
	Datum		state;
	Mean	   *mean = mean_to_change(fcinfo, &state);

	mean->n++;
	sum_add(&mean->sum, PG_GETARG_FLOAT8(1));
	PG_RETURN_DATUM(state);
}

static void
refuse_token_count(int64 n_tokens)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("n_tokens must be at least 0, not " INT64_FORMAT, n_tokens)));
}

/* A step that has no token has no part in the mean. */
Datum
stepadv_mean_of_tokens_trans(PG_FUNCTION_ARGS)
{
	Datum		state;
	Mean	   *mean = mean_to_change(fcinfo, &state);
	int64		n_tokens = PG_GETARG_INT64(2);

	if (n_tokens < 0)
		refuse_token_count(n_tokens);
	if (n_tokens > 0)
	{
		mean->n += n_tokens;
		sum_add(&mean->sum, PG_GETARG_FLOAT8(1));
	}
	PG_RETURN_DATUM(state);
}

Datum
stepadv_mean_of_steps_combine(PG_FUNCTION_ARGS)
{
	Datum		state;
	Mean	   *mean = mean_to_change(fcinfo, &state);
	const Mean *other = mean_argument(fcinfo, 1);

	mean->n += other->n;
	sum_add_sum(&mean->sum, &other->sum);
	PG_RETURN_DATUM(state);
}

Datum
stepadv_mean_of_steps_final(PG_FUNCTION_ARGS)
{
	const Mean *mean = mean_argument(fcinfo, 0);

	if (mean->n == 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(sum_value(&mean->sum) / mean->n);
}

/* ----------
 * mean_of_rollout_means: a mean per rollout
 * ----------
 */

typedef struct RolloutMean
{
	int64		rollout_id;
	Mean		mean;
	char		status;			/* of the hash table's slot */
} RolloutMean;

#define SH_PREFIX rollout_means
#define SH_ELEMENT_TYPE RolloutMean
#define SH_KEY_TYPE int64
#define SH_KEY rollout_id
#define SH_HASH_KEY(table, key) look_on_the_way(hash_bytes((const unsigned char *) &(key), sizeof(int64)))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DEFINE
#define SH_DECLARE
#include "hash_table.h"

#define FIRST_TABLE_SIZE 64

typedef struct RolloutMeans
{
	rollout_means_hash *table;
} RolloutMeans;

static void
init_means(void *content, MemoryContext context)
{
	((RolloutMeans *) content)->table = rollout_means_create(context, FIRST_TABLE_SIZE, NULL);
}

static Mean *
mean_of_rollout(RolloutMeans *means, int64 rollout_id)
{
	bool		found;
	RolloutMean *entry = rollout_means_insert(means->table, rollout_id, &found);

	if (!found)
		memset(&entry->mean, 0, sizeof(entry->mean));
	return &entry->mean;
}

static void
add_mean(RolloutMeans *means, const RolloutMean *entry)
{
	Mean	   *mean = mean_of_rollout(means, entry->rollout_id);

	mean->n += entry->mean.n;
	sum_add_sum(&mean->sum, &entry->mean.sum);
}

static void
write_means(void *content, StringInfo bytes)
{
	RolloutMeans *means = content;
	rollout_means_iterator i;
	RolloutMean *entry;

	pq_sendint64(bytes, means->table->members);
	rollout_means_start_iterate(means->table, &i);
	while ((entry = rollout_means_iterate(means->table, &i)) != NULL)
	{
		pq_sendint64(bytes, entry->rollout_id);
		pq_sendfloat8(bytes, entry->mean.n);
		pq_sendfloat8(bytes, entry->mean.sum.high);
		pq_sendfloat8(bytes, entry->mean.sum.low);
	}
}

static void read_means(void *content, StringInfo bytes);

static const StateKind means_kind = {
	"mean_of_rollout_means", 0x6d65616e, sizeof(RolloutMeans), init_means, write_means, read_means
};

static void
read_means(void *content, StringInfo bytes)
{
	int64		n = read_state_count(bytes, sizeof(int64) + sizeof(Mean), &means_kind);

	for (int64 i = 0; i < n; i++)
	{
		RolloutMean entry;

		entry.rollout_id = pq_getmsgint64(bytes);
		entry.mean.n = pq_getmsgfloat8(bytes);
		entry.mean.sum.high = pq_getmsgfloat8(bytes);
		entry.mean.sum.low = pq_getmsgfloat8(bytes);
		add_mean(content, &entry);
	}
}

/* The state with n more, and their sum, for the rollout of the second argument. */
static Datum
add_to_rollout(FunctionCallInfo fcinfo, double n, double sum)
{
	RolloutMeans *means;
	Mean	   *mean;

	if (PG_ARGISNULL(1))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("rollout_id must not be null where there is a value")));
	means = state_to_change(fcinfo, &means_kind);
	mean = mean_of_rollout(means, PG_GETARG_INT64(1));
	mean->n += n;
	sum_add(&mean->sum, sum);
	PG_RETURN_DATUM(state_datum(means));
}

Datum
stepadv_mean_of_rollout_means_trans(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(2))
		return state_unchanged(fcinfo);
	return add_to_rollout(fcinfo, 1, PG_GETARG_FLOAT8(2));
}

Datum
stepadv_mean_of_rollout_tokens_trans(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(2) || PG_ARGISNULL(3) || PG_GETARG_INT64(3) == 0)
		return state_unchanged(fcinfo);
	if (PG_GETARG_INT64(3) < 0)
		refuse_token_count(PG_GETARG_INT64(3));
	return add_to_rollout(fcinfo, PG_GETARG_INT64(3), PG_GETARG_FLOAT8(2));
}

Datum
stepadv_mean_of_rollout_means_combine(PG_FUNCTION_ARGS)
{
	RolloutMeans *other = state_argument(fcinfo, 1, &means_kind);
	RolloutMeans *means;
	rollout_means_iterator i;
	RolloutMean *entry;

	if (other == NULL)
		return state_unchanged(fcinfo);
	means = state_to_change(fcinfo, &means_kind);
	rollout_means_start_iterate(other->table, &i);
	while ((entry = rollout_means_iterate(other->table, &i)) != NULL)
		add_mean(means, entry);
	CHECK_FOR_INTERRUPTS();
	PG_RETURN_DATUM(state_datum(means));
}

Datum
stepadv_mean_of_rollout_means_final(PG_FUNCTION_ARGS)
{
	RolloutMeans *means = state_argument(fcinfo, 0, &means_kind);
	rollout_means_iterator i;
	RolloutMean *entry;
	Sum			sum = {0};

	if (means == NULL)
		PG_RETURN_NULL();
	rollout_means_start_iterate(means->table, &i);
	while ((entry = rollout_means_iterate(means->table, &i)) != NULL)
		sum_add(&sum, sum_value(&entry->mean.sum) / entry->mean.n);
	PG_RETURN_FLOAT8(sum_value(&sum) / means->table->members);
}
