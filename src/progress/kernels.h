#ifndef STEPADV_KERNELS_H
#define STEPADV_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

/* Place of the first entry of row i in a packed lower triangle. */
#define PACKED_ROW(i) ((size_t) (i) * ((size_t) (i) + 1) / 2)

/* Whether all x are finite. */
extern bool features_finite(const float *x, int n);

/* The inner product of weights and features. */
extern double features_dot(const double *weights, const float *x, int n);

/* The inner product of two columns of numbers. */
extern double numbers_dot(const double *a, const double *b, size_t n);

/* The same at columns of weights. */
extern double numbers_dot_at(const double *weights, const int *column, const double *x, size_t n);

/* sum += weight * x, and the same at columns of sum */
extern void numbers_add_scaled(double *sum, const double *x, double weight, size_t n);
extern void numbers_add_scaled_at(double *sum, const int *column, const double *x, double weight, size_t n);

/* Add weight * x x' to a packed lower triangle, x being sparse with ascending columns. */
extern void gram_add_at(double *gram, const int *column, const double *x, double weight, size_t n);

#endif							/* STEPADV_KERNELS_H */
