/*
 * mutate.h
 *		Inputs derived from other inputs, the same ones for the same seed.
 */
#ifndef PROBE_MUTATE_H
#define PROBE_MUTATE_H

#include "utils/array.h"

#define MAX_POOL 512
#define MAX_INPUT 16384

typedef struct Input
{
	int			length;
	char	   *bytes;
} Input;

/* The source of new inputs: those given, and those since then that were accepted. */
typedef struct Pool
{
	MemoryContext context;
	uint64		random;
	int			n_given;
	int			n;
	Input		inputs[MAX_POOL];
} Pool;

extern uint64 next_random(Pool *pool);
extern uint32 random_below(Pool *pool, uint32 n);
extern Pool *make_pool(ArrayType *given, int64 seed);

/* Writes to a buffer of MAX_INPUT + 1 bytes, with a NUL behind. */
extern int	make_input(Pool *pool, char *buffer);

/* As text is when it comes to a function: without a NUL, of valid characters. */
extern void make_valid_text(char *buffer, int length);

/* It led somewhere. */
extern void keep_input(Pool *pool, const char *bytes, int length);

/* Where what crashed a server is found: a file with the input that is under way. */
extern void note_input(const char *what, const char *bytes, int length);

#endif							/* PROBE_MUTATE_H */
