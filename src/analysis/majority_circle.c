/*
 * majority_circle.c
 *		The same as majority.c for many rollouts, by values on the unit circle.
 *
 * The number of rollouts drawn is what generating functions count: of answer j up to
 * v votes, a_j(z) = sum over x <= v of b_j(x) z^x with the binomial b_j of majority.c.
 * That the k drawn have an answer with v votes that wins is the coefficient of z^k of
 *
 *		integral over u from 0 to 1 of  sum over j of r_j b_j(v) z^v  prod over i != j of (a_i(z) + (u - 1) b_i(v) z^v)
 *
 * since a winner tied with t others is taken with probability 1 / (1 + t), which is the
 * integral of u^t.  It is a polynomial in u, so that Gauss and Legendre's quadrature
 * with half as many points as may be tied is no approximation.  The coefficient is the mean
 * of the function times z^-k over roots of unity.  With a vote more each a_j gets one term
 * more: values take a time that grows with k where convolutions take its square.
 *
 * As many roots are taken as there are numbers of rollouts that are drawn with a probability
 * above 1e-21: others alias.  So the result is right to about 1e-13, absolutely, and to 1e-11
 * where 100,000 answers have one vote each; what is less than 1e-13 is 0.  majority.c, whose
 * terms are all positive, has every digit.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "arrays.h"
#include "analysis/binomial.h"
#include "analysis/majority.h"

/* Terms of a sum of probabilities that do not matter. */
#define NEGLIGIBLE 1e-19

typedef struct Complex
{
	double		re;
	double		im;
} Complex;

/* Answers with the same number of votes. */
typedef struct Alike
{
	int64		votes;
	int64		n;
	double		right;			/* how right they are together */
	double	   *probability;	/* of 0 to min(votes, k) being drawn */
	double		so_far;			/* the sum of these up to v */
	Complex    *value;			/* a(z) up to v for each of the roots */
} Alike;

typedef struct Circle
{
	int64		k;
	double		p;				/* with which each rollout is drawn */
	double		of_all;			/* the probability that k of all are */
	int64		n_roots;
	int64		n_values;		/* of roots that are not another's conjugate */
	double	   *cosine;
	double	   *sine;
	int64		n_alike;
	Alike	   *alike;			/* by votes, ascending */
} Circle;

static inline Complex
times(Complex a, Complex b)
{
	return (Complex) {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static inline Complex
plus_times(Complex a, double x, Complex b)
{
	return (Complex) {a.re + x * b.re, a.im + x * b.im};
}

static Complex
power(Complex base, int64 n)
{
	Complex		result = {1, 0};

	for (; n > 0; n >>= 1)
	{
		if (n & 1)
			result = times(result, base);
		base = times(base, base);
	}
	return result;
}

/* z^m, of the l-th root. */
static inline Complex
root_power(const Circle *circle, int64 l, int64 m)
{
	int64		place = (int64) ((uint64) l * (uint64) m % (uint64) circle->n_roots);

	return (Complex) {circle->cosine[place], circle->sine[place]};
}

/* z^-k (1 - p + p z)^m: rollouts that win nothing, however many of them are drawn; by logarithms, which lose nothing where m is large. */
static Complex
without_chance(const Circle *circle, int64 l, int64 m)
{
	double		half = M_PI * (double) l / (double) circle->n_roots;
	double		p = circle->p;
	double		log_size = 0.5 * log1p(-4 * p * (1 - p) * sin(half) * sin(half));
	double		phase = atan2(p * circle->sine[l], 1 - p + p * circle->cosine[l]);
	/* Where p is 1/2 it is nothing at z = -1. */
	double		size = m > 0 ? exp((double) m * log_size) : 1;
	double		turn = (double) m * phase;
	Complex		back = root_power(circle, l, circle->k);

	return times((Complex) {size * cos(turn), size * sin(turn)}, (Complex) {back.re, -back.im});
}

/* Points and weights on 0 to 1 by which polynomials of degree 2 n - 1 are integrated. */
static void
legendre_points(int64 n, double *point, double *weight)
{
	for (int64 i = 0; i < (n + 1) / 2; i++)
	{
		double		x = cos(M_PI * ((double) i + 0.75) / ((double) n + 0.5));
		double		slope = 1;

		/* Newton's method: from there it is there in a few steps. */
		for (int step = 0; step < 50; step++)
		{
			double		last = 1;
			double		now = x;
			double		change;

			for (int64 d = 2; d <= n; d++)
			{
				double		next = ((double) (2 * d - 1) * x * now - (double) (d - 1) * last) / (double) d;

				last = now;
				now = next;
			}
			slope = (double) n * (x * now - last) / (x * x - 1);
			change = now / slope;
			x -= change;
			if (fabs(change) < 1e-15)
				break;
		}
		point[i] = (1 - x) / 2;
		point[n - 1 - i] = (1 + x) / 2;
		weight[i] = weight[n - 1 - i] = 1 / ((1 - x * x) * slope * slope);
	}
}

static void
make_roots(Circle *circle, int64 n)
{
	double		variance = (double) n * circle->p * (1 - circle->p);

	/* By Bernstein's inequality, so far from the mean nothing is more probable than e^-50. */
	circle->n_roots = Min(n, (int64) ceil(17 + sqrt(278 + 100 * variance)) + 1) + 1;
	circle->n_values = circle->n_roots / 2 + 1;
	circle->cosine = ALLOCATE_ARRAY(double, circle->n_roots);
	circle->sine = ALLOCATE_ARRAY(double, circle->n_roots);
	for (int64 l = 0; l < circle->n_roots; l++)
	{
		circle->cosine[l] = cos(2 * M_PI * (double) l / (double) circle->n_roots);
		circle->sine[l] = sin(2 * M_PI * (double) l / (double) circle->n_roots);
	}
}

/* They come by votes. */
static void
make_alike(Circle *circle, const Answer *answers, int64 n_answers)
{
	circle->alike = ALLOCATE_ARRAY(Alike, n_answers);
	for (int64 j = 0; j < n_answers; j++)
	{
		Alike	   *last = circle->alike + circle->n_alike - 1;
		double		right = (double) answers[j].right / (double) answers[j].votes;

		if (circle->n_alike > 0 && last->votes == answers[j].votes)
		{
			last->n++;
			last->right += right;
			continue;
		}
		last = circle->alike + circle->n_alike++;
		*last = (Alike) {.votes = answers[j].votes, .n = 1, .right = right};
		last->probability = ALLOCATE_ARRAY(double, Min(last->votes, circle->k) + 1);
		binomial_probabilities(last->votes, circle->p, Min(last->votes, circle->k), last->probability);
		last->so_far = last->probability[0];
		last->value = ALLOCATE_ARRAY(Complex, circle->n_values);
		for (int64 l = 0; l < circle->n_values; l++)
			last->value[l] = (Complex) {last->probability[0], 0};
	}
}

/* The sum over winners, for one root and one point u. */
static double
winners_at(const Circle *circle, int64 first, int64 v, int64 l, double u, Complex rest)
{
	Complex		vote = root_power(circle, l, v);
	Complex		none = rest;
	Complex		one = {0, 0};

	for (int64 i = first; i < circle->n_alike; i++)
	{
		const Alike *a = circle->alike + i;
		Complex		value = plus_times(a->value[l], (u - 1) * a->probability[v], vote);
		Complex		others = power(value, a->n - 1);
		Complex		all = times(others, value);
		Complex		wins = times(times(none, others), vote);

		one = plus_times(times(one, all), a->right * a->probability[v], wins);
		none = times(none, all);
	}
	return one.re;
}

/* The probability that an answer with v votes wins and is right; first: of the answers that have so many. */
static double
won_by(const Circle *circle, int64 first, int64 v, int64 n_without_chance)
{
	int64		n_able = 0;
	int64		n_points;
	double	   *point;
	double	   *weight;
	double		total = 0;

	for (int64 i = first; i < circle->n_alike; i++)
		n_able += circle->alike[i].n;
	n_points = (Min(circle->k / v, n_able) + 1) / 2;
	point = ALLOCATE_ARRAY(double, n_points);
	weight = ALLOCATE_ARRAY(double, n_points);
	legendre_points(n_points, point, weight);
	for (int64 l = 0; l < circle->n_values; l++)
	{
		Complex		rest = without_chance(circle, l, n_without_chance);
		/* A root and its conjugate give the same. */
		double		times_there = l == 0 || 2 * l == circle->n_roots ? 1 : 2;

		CHECK_FOR_INTERRUPTS();
		if (hypot(rest.re, rest.im) < NEGLIGIBLE * circle->of_all)
			continue;
		for (int64 i = 0; i < n_points; i++)
			total += times_there * weight[i] * winners_at(circle, first, v, l, point[i], rest);
	}
	pfree(point);
	pfree(weight);
	return total / (double) circle->n_roots / circle->of_all;
}

/* A vote more: where that may win and matters, what it wins. */
static double
one_vote_more(Circle *circle, int64 first, int64 v, int64 n_without_chance)
{
	double		none_above = 1;
	double		any_there = 0;

	for (int64 i = first; i < circle->n_alike; i++)
	{
		Alike	   *a = circle->alike + i;

		a->so_far += a->probability[v];
		none_above *= pow(a->so_far, (double) a->n);
		any_there += (double) a->n * a->probability[v];
		for (int64 l = 0; l < circle->n_values; l++)
			a->value[l] = plus_times(a->value[l], a->probability[v], root_power(circle, l, v));
	}
	if (Min(none_above * (double) circle->k, any_there) < NEGLIGIBLE * circle->of_all)
		return 0;
	return won_by(circle, first, v, n_without_chance);
}

double
majority_right_on_circle(const Answer *answers, int64 n_answers, int64 n_silent, int32 k)
{
	Circle		circle = {.k = k};
	int64		n = n_silent;
	int64		first = 0;
	double	   *of_all = ALLOCATE_ARRAY(double, (int64) k + 1);
	double		total = 0;

	for (int64 j = 0; j < n_answers; j++)
		n += answers[j].votes;
	circle.p = ((double) k + 0.5) / ((double) n + 1);
	binomial_probabilities(n, circle.p, k, of_all);
	circle.of_all = of_all[k];
	make_roots(&circle, n);
	make_alike(&circle, answers, n_answers);
	for (int64 v = 1; v <= k; v++)
	{
		CHECK_FOR_INTERRUPTS();
		for (; first < circle.n_alike && circle.alike[first].votes < v; first++)
			n_silent += circle.alike[first].n * circle.alike[first].votes;
		if (first < circle.n_alike)
			total += one_vote_more(&circle, first, v, n_silent);
	}
	return total < 1e-13 ? 0 : Min(total, 1);
}
