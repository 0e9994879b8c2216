/*
 * pool.h
 *		Inputs given by SQL, and a file with the current one.
 */
#ifndef PROBE_POOL_H
#define PROBE_POOL_H

#include "mutate.h"
#include "utils/array.h"

extern Pool *make_pool(ArrayType *given, int64 seed);

/* Writes the current input to a file, where it is found after a crash. */
extern void note_input(const char *what, const char *bytes, int length);

#endif							/* PROBE_POOL_H */
