/*
 * matrix.h
 *		Two-dimensional SQL arrays: a row per step or rollout, a column per name.
 */
#ifndef STEPADV_MATRIX_H
#define STEPADV_MATRIX_H

#include "utils/array.h"

/*
 * The numbers of the array, row by row, with NaN for NULL.  An error unless it has n_rows rows, one per
 * of_what, and width columns, one for each of names.  If finite, any other NaN or infinity is an error too.
 */
extern double *read_matrix(const ArrayType *array, const char *what, uint32 n_rows, const char *of_what, int width,
						   const char *names, bool finite);

#endif							/* STEPADV_MATRIX_H */
