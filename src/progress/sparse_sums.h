/*
 * sparse_sums.h
 *		Sums of sparse feature vectors by owner: only the indices that occur.
 *
 * The caller numbers owners from 0.
 */
#ifndef STEPADV_SPARSE_SUMS_H
#define STEPADV_SPARSE_SUMS_H

#include "progress/features.h"

/* A sum: each place once, ascending. */
typedef struct SparseSum
{
	const int32 *place;
	const double *weight;
	uint32		n;
} SparseSum;

typedef struct SparseEntries
{
	int32	   *place;
	double	   *weight;
	uint64		n;
	uint64		capacity;
} SparseEntries;

/* What was added at once, ascending. */
typedef struct SparseAddend
{
	uint32		owner;
	uint32		n;
} SparseAddend;

typedef struct SparseSums
{
	MemoryContext context;

	/* Sums of the first n_owners: that of owner i from end[i - 1] to end[i]. */
	SparseEntries sums;
	uint64	   *end;
	uint32		n_owners;

	/* What was added since, in the order in which it came. */
	SparseEntries log;
	SparseAddend *addend;
	uint64		n_addends;
	uint64		addends_capacity;

	/* Room for adding up, by place; zeros between calls. */
	int32		most_place;		/* that was added */
	int32		room;			/* 0: none yet */
	double	   *sum;
	uint64	   *seen;			/* a bit each, */
	uint64	   *touched;		/* and a bit for each word of these */
} SparseSums;

extern void sparse_sums_init(SparseSums *sums, MemoryContext context);

/* Features of an owner that is not known yet: addend n_addends - 1. */
extern void sparse_sums_add(SparseSums *sums, const SparseFeatures *features);

/* The same of up to n entries, which the caller writes to place and weight and then reports. */
extern void sparse_sums_make_room(SparseSums *sums, uint32 n, int32 **place, double **weight);
extern void sparse_sums_added(SparseSums *sums, uint32 n);

/* Whether so much was added that adding it up keeps all of the work, and the memory, linear. */
extern bool sparse_sums_are_due(const SparseSums *sums);

/* Adds up; then there is a sum of each of n owners. */
extern void sparse_sums_compact(SparseSums *sums, uint32 n_owners);
extern SparseSum sparse_sums_of(const SparseSums *sums, uint32 owner);

#endif							/* STEPADV_SPARSE_SUMS_H */
