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
 * whatever n is.
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
#include "analysis/binomial.h"
#include "analysis/majority.h"

/* So many take some milliseconds; of more than that another way is the shorter one. */
#define MANY_TERMS 4e6

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

	/* From the last place down, each made of those not made yet. */
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

/* About how many terms add_answer adds, in all. */
static double
number_of_terms(const Answer *answers, int64 n_answers, int32 k)
{
	double		votes = 0;

	for (int64 j = 0; j < n_answers; j++)
		votes += (double) Min(answers[j].votes, (int64) k);
	return votes * k * k;
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

	if (number_of_terms(answers, n_answers, k) > MANY_TERMS)
		return majority_right_on_circle(answers, n_answers, n_silent, k);
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
