/*
 * binomial.c
 *		The binomial distribution, from its mode outwards.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "analysis/binomial.h"

/* Terms from the mode outwards, divided by their sum, so that nothing is lost. */
void
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
