/*
 * success_at_k.c
 *		What k rollouts achieve that are drawn without replacement from the n of a task.
 *
 *	pass_at_k	1 - C(n - c, k) / C(n, k): at least one of them succeeds, if c of n do (Chen et al. 2021, equation 1)
 *	pass_hat_k	C(c, k) / C(n, k): all of them succeed (Yao et al. 2024, tau-bench)
 *	maj_at_k	the probability that their most frequent answer is right
 *	best_at_k	their expected best score
 *
 * The first two have quotients C(m, k) / C(n, k), m at most n, each a product of factors up to 1;
 * their number is the smaller of k and n - m.  So no factorial is needed, and nothing overflows.
 *
 * With scores in ascending order x_1 … x_n, x_i is the best of C(i - 1, k - 1) of the C(n, k)
 * subsets (ties are broken by place).  The weight of x_n is k/n, and that of x_(i - 1) is
 * that of x_i times (i - k)/(i - 1).  A bootstrap, which draws with replacement, would be biased
 * downwards, since its best is that of fewer distinct rollouts.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "arrays.h"
#include "hash.h"
#include "sum.h"

PG_FUNCTION_INFO_V1(stepadv_pass_at_k);
PG_FUNCTION_INFO_V1(stepadv_pass_hat_k);
PG_FUNCTION_INFO_V1(stepadv_maj_at_k);
PG_FUNCTION_INFO_V1(stepadv_best_at_k);

/* The last argument of all functions of this file. */
static int32
k_argument(FunctionCallInfo fcinfo)
{
	int			arg = PG_NARGS() - 1;
	int32		k;

	if (PG_ARGISNULL(arg))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("k must not be null"),
				 errhint("k is how many rollouts of a task are drawn: 1, 2, 4, ….")));
	k = PG_GETARG_INT32(arg);
	if (k < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be at least 1, not %d", k),
				 errhint("k is how many rollouts of a task are drawn: 1, 2, 4, ….")));
	return k;
}

/* ----------
 * Functions of counts
 * ----------
 */

/* C(m, k) / C(n, k), 1 <= k <= n, 0 <= m <= n: the probability that all k drawn are among m of n. */
static double
share_of_draws(int64 m, int64 n, int64 k)
{
	double		share = 1;

	if (k > m)
		return 0;
	if (k <= n - m)
	{
		/* A factor for each one drawn: it is among the m. */
		for (int64 i = 0; i < k && share > 0; i++)
		{
			share *= (double) (m - i) / (double) (n - i);
			CHECK_ONCE_IN_A_WHILE(i);
		}
	}
	else
	{
		/* A factor for each of the other n - m: it is not drawn. */
		for (int64 i = m + 1; i <= n && share > 0; i++)
		{
			share *= (double) (i - k) / (double) i;
			CHECK_ONCE_IN_A_WHILE(i);
		}
	}
	return share;
}

/* Arguments (n bigint, c bigint, k integer); false if the result is NULL: a count is NULL, or n is below k. */
static bool
read_counts(FunctionCallInfo fcinfo, int64 *n, int64 *c, int32 *k)
{
	*k = k_argument(fcinfo);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return false;
	*n = PG_GETARG_INT64(0);
	*c = PG_GETARG_INT64(1);
	if (*n < 0 || *c < 0 || *c > *n)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot have " INT64_FORMAT " successes of " INT64_FORMAT " rollouts", *c, *n),
				 errhint("The first argument is the number of judged rollouts, the second the number of successes.")));
	return *k <= *n;
}

Datum
stepadv_pass_at_k(PG_FUNCTION_ARGS)
{
	int64		n;
	int64		c;
	int32		k;

	if (!read_counts(fcinfo, &n, &c, &k))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(1 - share_of_draws(n - c, n, k));
}

Datum
stepadv_pass_hat_k(PG_FUNCTION_ARGS)
{
	int64		n;
	int64		c;
	int32		k;

	if (!read_counts(fcinfo, &n, &c, &k))
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(share_of_draws(c, n, k));
}

/* ----------
 * The majority
 *
 * The probability that the most frequent answer of k of n rollouts is right, exactly over all subsets.
 *
 * If m_j rollouts gave answer j, then x_j of them are drawn in prod C(m_j, x_j) of the
 * C(n, k) subsets, with sum x_j = k.  If instead each rollout is drawn independently with
 * probability p, the x_j are binomial, and draws with sum k have the same probabilities
 * up to a common factor.  So binomial distributions are convolved, and the result is divided
 * by the probability of drawing k of n (at least about 1/sqrt(k)).  All numbers are at
 * most 1, for every n.
 *
 * For each number v of votes that may win, the arrays have, for the draws of s rollouts
 * in which no answer has more than v votes and t answers have v, the probability, and
 * the probability times the sum of how right these t are.  For s = k, the latter divided by
 * t is the contribution of ties broken at random.  The divisor is the sum of the same
 * probabilities in the same order, so that the share is exactly 1 if all answers that can win are right.
 * ----------
 */

/* An answer: how many rollouts gave it, and for how many of these it is correct. */
typedef struct Answer
{
	int64		hash;			/* hash key */
	int64		votes;
	int64		right;
} Answer;

/*
 * The probabilities that x of m are drawn, each with probability p, for x from 0 to last.  Terms are
 * computed from the mode outwards and divided by their sum, so that none of the large ones underflows.
 */
static void
binomial_probabilities(int64 m, double p, int64 last, double *probability)
{
	int64		mode = Min((int64) floor((m + 1) * p), m);
	double		odds = p / (1 - p);
	double		sum = 1;
	double		term = 1;

	for (int64 x = 0; x <= last; x++)
		probability[x] = 0;
	if (mode <= last)
		probability[mode] = 1;
	for (int64 x = mode; x > 0 && term > 0; x--)
	{
		term *= (double) x / ((double) (m - x + 1) * odds);
		if ((x & 0xFFFF) == 0)
			CHECK_FOR_INTERRUPTS();
		sum += term;
		if (x - 1 <= last)
			probability[x - 1] = term;
	}
	term = 1;
	for (int64 x = mode; x < m && term > 0; x++)
	{
		term *= (double) (m - x) * odds / (double) (x + 1);
		if ((x & 0xFFFF) == 0)
			CHECK_FOR_INTERRUPTS();
		sum += term;
		if (x + 1 <= last)
			probability[x + 1] = term;
	}
	for (int64 x = 0; x <= last; x++)
		probability[x] /= sum;
}

/* The size of the arrays of draws: two numbers each, 256 MB together. */
#define MOST_DRAWS (16 * 1024 * 1024)

/* The draws for one number v of votes to win: [t * (k + 1) + s]. */
typedef struct Draws
{
	int64		k;
	int64		most_tied;		/* k / v, or all answers */
	double	   *probability;
	double	   *rightness;		/* times the sum of how right the t answers are */
} Draws;

/* Add an answer, of which x rollouts are drawn with probability of[x], up to v of them. */
static void
add_answer(Draws *draws, const double *of, int64 m, int64 v, double rightness)
{
	int64		width = draws->k + 1;
	int64		most = Min(m, v - 1);

	/* In place: from the last element down, since each depends on those before it. */
	for (int64 t = draws->most_tied; t >= 0; t--)
	{
		double	   *p = draws->probability + t * width;
		double	   *r = draws->rightness + t * width;

		for (int64 s = draws->k; s >= t * v; s--)
		{
			double		sum = 0;
			double		right = 0;

			CHECK_FOR_INTERRUPTS();
			for (int64 x = Min(most, s); x >= 0; x--)
			{
				sum += of[x] * p[s - x];
				right += of[x] * r[s - x];
			}
			if (t > 0 && m >= v && s >= v)
			{
				const double *fewer = p - width;
				const double *fewer_right = r - width;

				sum += of[v] * fewer[s - v];
				right += of[v] * (fewer_right[s - v] + rightness * fewer[s - v]);
			}
			p[s] = sum;
			r[s] = right;
		}
	}
}

typedef struct Wins
{
	double		all;
	double		right;
} Wins;

/* Rollouts without an answer may be among the k drawn, but cannot win. */
static void
add_wins(const Draws *draws, const double *silent, int64 n_silent, Wins *wins)
{
	for (int64 t = 1; t <= draws->most_tied; t++)
	{
		const double *p = draws->probability + t * (draws->k + 1);
		const double *r = draws->rightness + t * (draws->k + 1);
		double		all = 0;
		double		right = 0;

		for (int64 x = 0; x <= Min(n_silent, draws->k); x++)
		{
			all += silent[x] * p[draws->k - x];
			right += silent[x] * r[draws->k - x];
		}
		wins->all += all;
		wins->right += right / (double) t;
	}
}

/*
 * n_silent rollouts gave no answer.  k is at least 1, and at most the sum of all votes and n_silent.  How right an
 * answer is: the share of its rollouts that are correct.  Ties are broken at random.
 */
static double
majority_right(const Answer *answers, int64 n_answers, int64 n_silent, int32 k)
{
	int64		n = n_silent;
	int64		most_votes = 0;
	double		p;
	double	   *silent = ALLOCATE_ARRAY(double, (int64) k + 1);
	double	  **of = ALLOCATE_ARRAY(double *, n_answers);
	double		none_drawn = 1;		/* probability that no rollout with an answer is drawn */
	Wins		wins = {0, 0};
	Draws		draws = {.k = k};

	for (int64 j = 0; j < n_answers; j++)
	{
		n += answers[j].votes;
		most_votes = Max(most_votes, answers[j].votes);
	}
	/* Any p between 0 and 1 works; this one makes a sum of k likely, and is below 1 for k = n. */
	p = ((double) k + 0.5) / ((double) n + 1);
	binomial_probabilities(n_silent, p, k, silent);
	for (int64 j = 0; j < n_answers; j++)
	{
		of[j] = ALLOCATE_ARRAY(double, Min(answers[j].votes, (int64) k) + 1);
		binomial_probabilities(answers[j].votes, p, Min(answers[j].votes, (int64) k), of[j]);
		none_drawn *= of[j][0];
	}
	if ((Min((int64) k, n_answers) + 1) * ((int64) k + 1) > MOST_DRAWS)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("draws of %d of " INT64_FORMAT " rollouts with " INT64_FORMAT " different answers are too many to count",
						k, n, n_answers),
				 errhint("Use a smaller k.")));
	draws.probability = ALLOCATE_ARRAY(double, (Min((int64) k, n_answers) + 1) * ((int64) k + 1));
	draws.rightness = ALLOCATE_ARRAY(double, (Min((int64) k, n_answers) + 1) * ((int64) k + 1));
	for (int64 v = 1; v <= Min(most_votes, (int64) k); v++)
	{
		draws.most_tied = Min(k / v, n_answers);
		memset(draws.probability, 0, (draws.most_tied + 1) * (k + 1) * sizeof(double));
		memset(draws.rightness, 0, (draws.most_tied + 1) * (k + 1) * sizeof(double));
		draws.probability[0] = 1;
		for (int64 j = 0; j < n_answers; j++)
			add_answer(&draws, of[j], answers[j].votes, v, (double) answers[j].right / (double) answers[j].votes);
		add_wins(&draws, silent, n_silent, &wins);
	}
	wins.all += none_drawn * silent[k];
	return Min(wins.right / wins.all, 1);
}

/* ----------
 * Functions of rollouts
 * ----------
 */

/* An array with an element per rollout; false if it is NULL, as array_agg returns for no rows. */
static bool
rollouts_argument(FunctionCallInfo fcinfo, int arg, Oid type, Datum **elements, bool **nulls, int *n)
{
	int16		length;
	bool		by_value;
	char		align;

	if (PG_ARGISNULL(arg))
		return false;
	get_typlenbyvalalign(type, &length, &by_value, &align);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(arg), type, length, by_value, align, elements, nulls, n);
	return true;
}

static int
compare_hashes(const void *a, const void *b)
{
	int64		one = ((const Answer *) a)->hash;
	int64		other = ((const Answer *) b)->hash;

	CHECK_FOR_INTERRUPTS();
	return one < other ? -1 : one > other;
}

/* By counts, not by hash, so that sums do not depend on the answers' texts. */
static int
compare_counts(const void *a, const void *b)
{
	const Answer *one = a;
	const Answer *other = b;

	CHECK_FOR_INTERRUPTS();
	return one->votes != other->votes ? (one->votes < other->votes ? -1 : 1)
		: one->right != other->right ? (one->right < other->right ? -1 : 1) : 0;
}

/* Merge equal answers of one vote each; returns the number of distinct answers. */
static int64
count_votes(Answer *answers, int64 n)
{
	int64		n_different = 0;

	qsort(answers, n, sizeof(Answer), compare_hashes);
	for (int64 i = 0; i < n; i++)
		if (n_different > 0 && answers[n_different - 1].hash == answers[i].hash)
		{
			answers[n_different - 1].votes++;
			answers[n_different - 1].right += answers[i].right;
		}
		else
			answers[n_different++] = answers[i];
	qsort(answers, n_different, sizeof(Answer), compare_counts);
	return n_different;
}

/* maj_at_k(answers text[], correct boolean[], k integer): answer NULL: no vote; correct NULL: not judged. */
Datum
stepadv_maj_at_k(PG_FUNCTION_ARGS)
{
	int32		k = k_argument(fcinfo);
	Datum	   *given;
	Datum	   *correct;
	bool	   *no_answer;
	bool	   *unjudged;
	int			n;
	int			n_correct;
	Answer	   *answers;
	int64		n_answers = 0;
	int64		n_silent = 0;

	if (!rollouts_argument(fcinfo, 0, TEXTOID, &given, &no_answer, &n) ||
		!rollouts_argument(fcinfo, 1, BOOLOID, &correct, &unjudged, &n_correct))
		PG_RETURN_NULL();
	if (n != n_correct)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("answers has %d elements, correct has %d", n, n_correct)));
	answers = ALLOCATE_ARRAY(Answer, n);
	for (int i = 0; i < n; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (unjudged[i])
			continue;
		if (no_answer[i])
			n_silent++;
		else
		{
			text	   *answer = DatumGetTextPP(given[i]);

			answers[n_answers++] = (Answer) {
				hash_bytes_64(VARDATA_ANY(answer), VARSIZE_ANY_EXHDR(answer)), 1, DatumGetBool(correct[i]) ? 1 : 0
			};
		}
	}
	if (n_answers + n_silent < k)
		PG_RETURN_NULL();
	n_answers = count_votes(answers, n_answers);
	PG_RETURN_FLOAT8(majority_right(answers, n_answers, n_silent, k));
}

/* The server's sort template, which checks for interrupts. */
#define ST_SORT sort_descending
#define ST_ELEMENT_TYPE double
#define ST_COMPARE(a, b) (*(a) < *(b) ? 1 : *(a) > *(b) ? -1 : 0)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DECLARE
#define ST_DEFINE
#include "lib/sort_template.h"

/* best_at_k(scores float8[], k integer): NULL: not judged. */
Datum
stepadv_best_at_k(PG_FUNCTION_ARGS)
{
	int32		k = k_argument(fcinfo);
	Datum	   *scores;
	bool	   *unjudged;
	int			n_rollouts;
	double	   *x;
	int64		n = 0;
	double		weight;
	Sum			best = {0, 0};

	if (!rollouts_argument(fcinfo, 0, FLOAT8OID, &scores, &unjudged, &n_rollouts))
		PG_RETURN_NULL();
	x = ALLOCATE_ARRAY(double, n_rollouts);
	for (int i = 0; i < n_rollouts; i++)
	{
		CHECK_ONCE_IN_A_WHILE(i);
		if (unjudged[i])
			continue;
		x[n] = DatumGetFloat8(scores[i]);
		if (!isfinite(x[n]))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("score must be a finite number, not %g", x[n]),
					 errhint("NULL means that the rollout is not judged.")));
		n++;
	}
	if (n < k)
		PG_RETURN_NULL();
	sort_descending(x, n);
	weight = (double) k / (double) n;
	for (int64 i = n; i >= k && weight > 0; i--)
	{
		sum_add(&best, weight * x[n - i]);
		if (i > 1)
			weight *= (double) (i - k) / (double) (i - 1);
		CHECK_ONCE_IN_A_WHILE(i);
	}
	PG_RETURN_FLOAT8(sum_value(&best));
}
