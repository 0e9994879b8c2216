/*
 * read.c
 *		What state_cluster is measured against: reading the same memory.
 *
 *	read BYTES ROUNDS RUNS
 *
 * Prints a sum, then the milliseconds of each run of ROUNDS times reading BYTES.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef uint64_t Words __attribute__((vector_size(32)));

int
main(int argc, char **argv)
{
	size_t		n = atol(argv[1]) / (4 * sizeof(Words)) * 4;
	int			rounds = atoi(argv[2]);
	int			runs = atoi(argv[3]);
	Words	   *memory = aligned_alloc(sizeof(Words), n * sizeof(Words));

	memset(memory, 1, n * sizeof(Words));
	for (int run = -1; run < runs; run++)
	{
		struct timespec start;
		struct timespec end;
		Words		a = {0};
		Words		b = {0};
		Words		c = {0};
		Words		d = {0};

		clock_gettime(CLOCK_MONOTONIC, &start);
		for (int round = 0; round < rounds; round++)
		{
			for (size_t i = 0; i < n; i += 4)
			{
				a += memory[i];
				b += memory[i + 1];
				c += memory[i + 2];
				d += memory[i + 3];
			}
			/* The compiler must not see that every round reads the same. */
			__asm__ volatile ("" : "+r" (memory) : : "memory");
		}
		clock_gettime(CLOCK_MONOTONIC, &end);
		a += b + c + d;
		if (run < 0)
			printf("%llu\n", (unsigned long long) (a[0] + a[1] + a[2] + a[3]));
		else
			printf("%.6f\n", (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6);
	}
	free(memory);
	return 0;
}
