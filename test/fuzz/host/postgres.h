/*
 * postgres.h
 *		The parts of PostgreSQL that the signature kernels need, outside a server.
 *
 * host.c detects accesses beyond allocations, which host_reset() frees after each run.
 */
#ifndef HOST_POSTGRES_H
#define HOST_POSTGRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int32_t int32;
typedef int64_t int64;
typedef uint8_t uint8;
typedef uint32_t uint32;
typedef uint64_t uint64;
typedef size_t Size;

#define INT64CONST(x) INT64_C(x)
#define UINT64CONST(x) UINT64_C(x)
#define PG_INT64_MAX INT64_MAX
#define PG_INT64_MIN INT64_MIN
#define lengthof(array) (sizeof(array) / sizeof((array)[0]))
#define Max(x, y) ((x) > (y) ? (x) : (y))
#define Min(x, y) ((x) < (y) ? (x) : (y))
#define Assert(condition) ((condition) ? (void) 0 : abort())
#define CHECK_FOR_INTERRUPTS() ((void) 0)

extern void *palloc(Size size);
extern void *palloc0(Size size);
extern void *repalloc(void *pointer, Size size);
extern void pfree(void *pointer);
extern void host_reset(void);

/* A copy of an input; a read beyond its end is detected. */
extern char *host_text(const uint8_t *data, Size size);

/* The number of the input in many.c, which does not check every input in every way; else 0. */
extern int64 host_turn;

#endif							/* HOST_POSTGRES_H */
