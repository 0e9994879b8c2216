/*
 * mutate.h
 *		Inputs derived from other inputs, the same ones for the same seed.
 */
#ifndef PROBE_MUTATE_H
#define PROBE_MUTATE_H

#define MAX_POOL 4096
#define MOST_BYTES 16384

typedef struct Input
{
	int			length;
	char	   *bytes;
} Input;

/* The source of new inputs: those given, and those since then that were accepted. */
typedef struct Pool
{
	uint64		random;
	int			n_given;
	int			n;
	Input		inputs[MAX_POOL];
} Pool;

extern void seed_random(Pool *pool, int64 seed);
extern uint64 next_random(Pool *pool);
extern uint32 random_below(Pool *pool, uint32 n);

/* A copy takes the place of the input that is there. */
extern void set_input(Pool *pool, int place, const char *bytes, int length);

/* Writes to a buffer of MOST_BYTES + 1 bytes, with a NUL behind. */
extern int	make_input(Pool *pool, char *buffer);

/* As text is when it comes to a function: without a NUL, of valid characters. */
extern void make_valid_text(char *buffer, int length);

/* It led somewhere. */
extern void keep_input(Pool *pool, const char *bytes, int length);

#endif							/* PROBE_MUTATE_H */
