/*
 * sparse_sums.h
 *		Sums of sparse feature vectors by owner, with only the indices that occur.
 *
 * The caller numbers owners from 0.
 */
#ifndef STEPADV_SPARSE_SUMS_H
#define STEPADV_SPARSE_SUMS_H

#include "progress/features.h"

/* A sum: distinct indices, ascending. */
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

/* An addend of the log: n entries with ascending indices. */
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

	/* Addends since then, in the order of arrival. */
	SparseEntries log;
	SparseAddend *addend;
	uint64		n_addends;
	uint64		addends_capacity;

	/* Vectors for adding up, by index; zeros between calls. */
	int32		most_place;		/* largest index added so far */
	int32		room;			/* their length; 0: not allocated */
	double	   *sum;
	uint64	   *seen;			/* a bit per index */
	uint64	   *touched;		/* a bit per word of seen */
} SparseSums;

extern void sparse_sums_init(SparseSums *sums, MemoryContext context);

/* Append features as addend n_addends - 1, whose owner the caller sets later. */
extern void sparse_sums_add(SparseSums *sums, const SparseFeatures *features);

/* The same for up to n entries, which the caller writes to place and weight and then reports. */
extern void sparse_sums_make_room(SparseSums *sums, uint32 n, int32 **place, double **weight);
extern void sparse_sums_added(SparseSums *sums, uint32 n);

/* Is the log long enough that adding it up now keeps total time and memory linear? */
extern bool sparse_sums_are_due(const SparseSums *sums);

/* Add up the log; afterwards each of n_owners owners has a sum. */
extern void sparse_sums_compact(SparseSums *sums, uint32 n_owners);
extern SparseSum sparse_sums_of(const SparseSums *sums, uint32 owner);

#endif							/* STEPADV_SPARSE_SUMS_H */
