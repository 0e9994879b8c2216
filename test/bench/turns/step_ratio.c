/*
 * step_ratio.c
 *		The baseline of step_ratio: a plain loop.
 *
 *	step_ratio CALLS RUNS [masked]
 *
 * Prints the result, then the milliseconds of each run of CALLS calls.  The
 * arrays are those of turns.sh.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define TOKENS 1000

static float new_logp[TOKENS];
static float old_logp[TOKENS];
static bool mask[TOKENS];

static __attribute__((noinline)) double
ratio(const float *new, const float *old, int n)
{
	double		sum = 0;

	for (int i = 0; i < n; i++)
		sum += (double) new[i] - old[i];
	return exp(sum / n);
}

static __attribute__((noinline)) double
masked_ratio(const float *new, const float *old, const bool *counts, int n)
{
	double		sum = 0;
	int			tokens = 0;

	for (int i = 0; i < n; i++)
	{
		if (counts[i])
		{
			sum += (double) new[i] - old[i];
			tokens++;
		}
	}
	return exp(sum / tokens);
}

int
main(int argc, char **argv)
{
	int			calls = atoi(argv[1]);
	int			runs = atoi(argv[2]);
	bool		masked = argc > 3;

	for (int i = 0; i < TOKENS; i++)
	{
		new_logp[i] = -(i * 7919 % 1000) / 1000.0;
		old_logp[i] = -((long) i * 104729 % 1009) / 1009.0;
		mask[i] = i % 10 != 0;
	}
	for (int run = -1; run < runs; run++)
	{
		struct timespec start;
		struct timespec end;
		double		result = 0;

		clock_gettime(CLOCK_MONOTONIC, &start);
		for (int i = 0; i < calls; i++)
		{
			result = masked ? masked_ratio(new_logp, old_logp, mask, TOKENS) : ratio(new_logp, old_logp, TOKENS);
			/* The compiler must not see that every call has the same result. */
			__asm__ volatile ("" : "+m" (result) : : "memory");
		}
		clock_gettime(CLOCK_MONOTONIC, &end);
		if (run < 0)
			printf("%.17g\n", result);
		else
			printf("%.6f\n", (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6);
	}
	return 0;
}
