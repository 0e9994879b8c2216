/*
 * xxh3.c
 *		The baseline of signature_hash: XXH3 called from C.
 *
 *	xxh3 BYTES CALLS RUNS
 *
 * Prints the hash of the text of signatures.sh, then the milliseconds of each
 * run of CALLS calls over that one buffer.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

int
main(int argc, char **argv)
{
	size_t		bytes = atol(argv[1]);
	int			calls = atoi(argv[2]);
	int			runs = atoi(argv[3]);
	char	   *memory = malloc(bytes + 4);
	char	   *text = memory + 4;	/* as after the length word of a text */

	for (size_t i = 0; i < bytes; i++)
		text[i] = "0123456789abcdef"[i % 16];
	for (int run = -1; run < runs; run++)
	{
		struct timespec start;
		struct timespec end;
		uint64_t	hash = 0;

		clock_gettime(CLOCK_MONOTONIC, &start);
		for (int i = 0; i < calls; i++)
		{
			hash = XXH3_64bits(text, bytes);
			/* The compiler must not see that every call has the same result. */
			__asm__ volatile ("" : "+r" (hash), "+r" (text) : : "memory");
		}
		clock_gettime(CLOCK_MONOTONIC, &end);
		if (run < 0)
			printf("%lld\n", (long long) hash);
		else
			printf("%.6f\n", (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6);
	}
	free(memory);
	return 0;
}
