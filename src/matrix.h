/*
 * matrix.h
 *		SQL arrays of two dimensions: a row per step or rollout, a column per name.
 */
#ifndef STEPADV_MATRIX_H
#define STEPADV_MATRIX_H

#include "utils/array.h"

/*
 * Its numbers, row by row; NaN: NULL.  Error unless it has n_rows rows, one per of_what, and width columns, one for each
 * of names, and, with `finite`, no other number is NaN or infinite.
 */
extern double *read_matrix(const ArrayType *array, const char *what, uint32 n_rows, const char *of_what, int width,
						   const char *names, bool finite);

#endif							/* STEPADV_MATRIX_H */
