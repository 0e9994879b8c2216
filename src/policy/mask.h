/*
 * mask.h
 *		A boolean[] that says which tokens count.
 */
#ifndef STEPADV_MASK_H
#define STEPADV_MASK_H

#include "utils/array.h"

/* Its elements, one byte each, and their number: one dimension, no NULLs. */
static inline const bool *
open_mask(ArrayType *mask, int *n)
{
	if (ARR_NDIM(mask) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("mask has %d dimensions, not one", ARR_NDIM(mask))));
	if (array_contains_nulls(mask))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("mask must not contain nulls")));
	*n = ARR_NDIM(mask) == 0 ? 0 : ARR_DIMS(mask)[0];
	return (const bool *) ARR_DATA_PTR(mask);
}

#endif							/* STEPADV_MASK_H */
