/*
 * maj_at_k.c
 *		The aggregate maj_at_k: the answers of a task's rollouts, counted; what
 *		follows from the counts is computed in majority.c.
 */
#include "postgres.h"

#include "fmgr.h"
#include "libpq/pqformat.h"
#include "miscadmin.h"
#include "utils/hsearch.h"

#include "arrays.h"
#include "compat.h"
#include "hash.h"
#include "state_value.h"
#include "analysis/k.h"
#include "analysis/majority.h"

PG_FUNCTION_INFO_V1(stepadv_maj_at_k_trans);
PG_FUNCTION_INFO_V1(stepadv_maj_at_k_combine);
PG_FUNCTION_INFO_V1(stepadv_maj_at_k_final);

typedef struct Poll
{
	HTAB	   *answers;		/* of Answer */
	int64		n_silent;		/* rollouts without an answer */
	int32		k;				/* 0: no row yet */
} Poll;

static void
init_poll(void *content, MemoryContext context)
{
	HASHCTL		control = {.keysize = sizeof(int64), .entrysize = sizeof(Answer), .hcxt = context};

	((Poll *) content)->answers = hash_create("stepadv answers", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

static void
add_votes(Poll *poll, int64 hash, int64 votes, int64 right)
{
	bool		found;
	Answer	   *answer = hash_search(poll->answers, &hash, HASH_ENTER, &found);

	answer->votes = (found ? answer->votes : 0) + votes;
	answer->right = (found ? answer->right : 0) + right;
}

static void
write_poll(void *content, StringInfo bytes)
{
	Poll	   *poll = content;
	HASH_SEQ_STATUS scan;
	Answer	   *answer;

	pq_sendint32(bytes, poll->k);
	pq_sendint64(bytes, poll->n_silent);
	pq_sendint64(bytes, hash_get_num_entries(poll->answers));
	hash_seq_init(&scan, poll->answers);
	while ((answer = hash_seq_search(&scan)) != NULL)
	{
		pq_sendint64(bytes, answer->hash);
		pq_sendint64(bytes, answer->votes);
		pq_sendint64(bytes, answer->right);
	}
}

static void read_poll(void *content, StringInfo bytes);

static const StateKind poll_kind = {
	"maj_at_k", 0x6d616a6f, sizeof(Poll), init_poll, write_poll, read_poll
};

/* More rollouts than a task has, so few that sums over states do not overflow. */
#define MOST_VOTES (INT64CONST(1) << 32)

static int64
read_votes(StringInfo bytes, int64 most)
{
	int64		n = pq_getmsgint64(bytes);

	if (n < 0 || n > most)
		refuse_state(&poll_kind);
	return n;
}

static void
read_poll(void *content, StringInfo bytes)
{
	Poll	   *poll = content;
	int64		n_answers;

	poll->k = (int32) pq_getmsgint(bytes, 4);
	if (poll->k < 1)
		refuse_state(&poll_kind);
	poll->n_silent = read_votes(bytes, MOST_VOTES);
	n_answers = read_state_count(bytes, sizeof(Answer), &poll_kind);
	for (int64 i = 0; i < n_answers; i++)
	{
		int64		hash = pq_getmsgint64(bytes);
		int64		votes = read_votes(bytes, MOST_VOTES);

		if (votes == 0)
			refuse_state(&poll_kind);
		add_votes(poll, hash, votes, read_votes(bytes, votes));
	}
}

/* maj_at_k_trans(bytea, answer text, correct boolean, k integer): correct NULL is not judged. */
Datum
stepadv_maj_at_k_trans(PG_FUNCTION_ARGS)
{
	Poll	   *poll = state_to_change(fcinfo, &poll_kind);
	int32		k = read_k(&fcinfo->args[3]);

	same_k(poll->k, k);
	poll->k = k;
	if (PG_ARGISNULL(2))
		PG_RETURN_DATUM(state_datum(poll));
	if (PG_ARGISNULL(1))
		poll->n_silent++;
	else
	{
		text	   *answer = PG_GETARG_TEXT_PP(1);

		add_votes(poll, hash_bytes_64(VARDATA_ANY(answer), VARSIZE_ANY_EXHDR(answer)), 1, PG_GETARG_BOOL(2) ? 1 : 0);
		PG_FREE_IF_COPY(answer, 1);
	}
	PG_RETURN_DATUM(state_datum(poll));
}

Datum
stepadv_maj_at_k_combine(PG_FUNCTION_ARGS)
{
	const Poll *other = state_argument(fcinfo, 1, &poll_kind);
	Poll	   *poll;
	HASH_SEQ_STATUS scan;
	Answer	   *answer;

	if (other == NULL)
		return state_unchanged(fcinfo);
	poll = state_to_change(fcinfo, &poll_kind);
	same_k(poll->k, other->k);
	poll->k = other->k;
	poll->n_silent += other->n_silent;
	hash_seq_init(&scan, other->answers);
	while ((answer = hash_seq_search(&scan)) != NULL)
		add_votes(poll, answer->hash, answer->votes, answer->right);
	PG_RETURN_DATUM(state_datum(poll));
}

/* By what was counted, not by the hash: sums that do not depend on the order of the rows. */
static int
compare_answers(const void *a, const void *b)
{
	const Answer *one = a;
	const Answer *other = b;

	CHECK_FOR_INTERRUPTS();
	return one->votes != other->votes ? (one->votes < other->votes ? -1 : 1)
		: one->right != other->right ? (one->right < other->right ? -1 : 1) : 0;
}

Datum
stepadv_maj_at_k_final(PG_FUNCTION_ARGS)
{
	const Poll *poll = state_argument(fcinfo, 0, &poll_kind);
	int64		n_answers = poll != NULL ? hash_get_num_entries(poll->answers) : 0;
	Answer	   *answers = ALLOCATE_ARRAY(Answer, n_answers);
	HASH_SEQ_STATUS scan;
	Answer	   *answer;
	int64		n;
	int64		i = 0;

	if (poll == NULL)
		PG_RETURN_NULL();
	n = poll->n_silent;
	hash_seq_init(&scan, poll->answers);
	while ((answer = hash_seq_search(&scan)) != NULL)
	{
		n += answer->votes;
		answers[i++] = *answer;
	}
	if (n < poll->k)
		PG_RETURN_NULL();
	qsort(answers, n_answers, sizeof(Answer), compare_answers);
	PG_RETURN_FLOAT8(majority_right(answers, n_answers, poll->n_silent, poll->k));
}
