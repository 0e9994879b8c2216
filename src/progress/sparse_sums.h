/*
 * sparse_sums.h
 *		Sums of sparse feature vectors: only the places that occur.
 */
#ifndef STEPADV_SPARSE_SUMS_H
#define STEPADV_SPARSE_SUMS_H

#include "progress/features.h"

/* A sum, as a log of what was added; compact: each place once, ascending. */
typedef struct SparseSum
{
	uint32		n;
	uint32		n_compact;		/* entries at the start that are */
	uint32		capacity;
	int32	   *place;
	double	   *weight;
} SparseSum;

/* Room for compacting, shared by many sums; grows with the largest place. */
typedef struct SparseScratch
{
	MemoryContext context;
	int32		most_places;	/* 0: no room yet */
	double	   *sum;			/* by place, zeros between calls */
	uint64	   *seen;			/* a bit by place, likewise */
	int32	   *touched;		/* room for most_touched */
	uint32		most_touched;
} SparseScratch;

extern void sparse_sum_add(SparseSum *sum, const SparseFeatures *features, SparseScratch *scratch);
extern void sparse_sum_merge(SparseSum *sum, const SparseSum *other, SparseScratch *scratch);
extern void sparse_sum_compact(SparseSum *sum, SparseScratch *scratch);

/* An empty one with room for n entries. */
extern void sparse_sum_reserve(SparseSum *sum, uint64 n, MemoryContext context);

#endif							/* STEPADV_SPARSE_SUMS_H */
