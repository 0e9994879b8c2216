/*
 * majority.c
 *		How probable it is that the answer most given by k of n rollouts is right,
 *		exactly over all subsets.
 *
 * Of answer j, that m_j rollouts gave, x_j are drawn in prod C(m_j, x_j) of the
 * C(n, k) subsets, sum x_j = k.  With independent binomial x_j instead, each rollout
 * being drawn with probability p, a draw has the same probability but for a factor
 * that is the same for all with sum k; so these are convolved, and divided by what
 * all draws of k of n have (at least about 1/sqrt(k)): numbers up to 1 throughout,
 * for every n.
 *
 * For each number v of votes that may win: the draws of s rollouts in which no
 * answer has more than v votes and t have v, with their probability and with the
 * sum of how right these t are.  Of s = k the latter divided by t is what a draw
 * among the t makes of it.  What is divided by are the same draws, added up in the
 * same way: where all that can win are right the share is 1, not nearly.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "arrays.h"
#include "analysis/majority.h"

/*
 * That x of m are drawn, each with probability p, for x from 0 to last.  Terms from the mode
 * outwards, divided by their sum, so that nothing is lost.
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

/* Of the draws that are counted at once: two numbers each, 256 MB together. */
#define MOST_DRAWS (16 * 1024 * 1024)

/* Of the draws with one number of votes to win: [t * (k + 1) + s]. */
typedef struct Draws
{
	int64		k;
	int64		most_tied;		/* k / v, or all answers */
	double	   *probability;
	double	   *rightness;		/* times how right the t are together */
} Draws;

/* One answer more, of which x are drawn with probability of[x], up to v of them. */
static void
add_answer(Draws *draws, const double *of, int64 m, int64 v, double rightness)
{
	int64		width = draws->k + 1;
	int64		most = Min(m, v - 1);

	/* From the last place down, each computed from those before it. */
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

/* Those who gave no answer may be among the k, as many as there are, and win nothing. */
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

double
majority_right(const Answer *answers, int64 n_answers, int64 n_silent, int32 k)
{
	int64		n = n_silent;
	int64		most_votes = 0;
	double		p;
	double	   *silent = ALLOCATE_ARRAY(double, (int64) k + 1);
	double	  **of = ALLOCATE_ARRAY(double *, n_answers);
	double		nobody = 1;		/* of those who answered is drawn */
	Wins		wins = {0, 0};
	Draws		draws = {.k = k};

	for (int64 j = 0; j < n_answers; j++)
	{
		n += answers[j].votes;
		most_votes = Max(most_votes, answers[j].votes);
	}
	/* Any p between 0 and 1 will do; this one wastes nothing, and is below 1 for k = n. */
	p = ((double) k + 0.5) / ((double) n + 1);
	binomial_probabilities(n_silent, p, k, silent);
	for (int64 j = 0; j < n_answers; j++)
	{
		of[j] = ALLOCATE_ARRAY(double, Min(answers[j].votes, (int64) k) + 1);
		binomial_probabilities(answers[j].votes, p, Min(answers[j].votes, (int64) k), of[j]);
		nobody *= of[j][0];
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
	wins.all += nobody * silent[k];
	return Min(wins.right / wins.all, 1);
}
