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

/* The source of new inputs: those given, and some that were accepted since. */
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

/* Replaces the input at a place by a copy of the bytes. */
extern void set_input(Pool *pool, int place, const char *bytes, int length);

/* Writes an input and a NUL to a buffer of MOST_BYTES + 1 bytes; returns its length. */
extern int	make_input(Pool *pool, char *buffer);

/* Replaces NULs and invalid characters, so that a function can get it as text. */
extern void make_valid_text(char *buffer, int length);

/* Keeps some of the inputs that were accepted. */
extern void keep_input(Pool *pool, const char *bytes, int length);

#endif							/* PROBE_MUTATE_H */
