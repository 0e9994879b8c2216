/*
 * pool.h
 *		Inputs that SQL gives, and where the one under way is noted.
 */
#ifndef PROBE_POOL_H
#define PROBE_POOL_H

#include "mutate.h"
#include "utils/array.h"

extern Pool *make_pool(ArrayType *given, int64 seed);

/* Where what crashed a server is found: a file with the input that is under way. */
extern void note_input(const char *what, const char *bytes, int length);

#endif							/* PROBE_POOL_H */
