/*
 * binomial.h
 *		How probable it is that so many of some rollouts are drawn.
 */
#ifndef STEPADV_SUCCESS_BINOMIAL_H
#define STEPADV_SUCCESS_BINOMIAL_H

#include "postgres.h"

/* That x of m are, each with probability p, for x from 0 to last. */
extern void binomial_probabilities(int64 m, double p, int64 last, double *probability);

#endif							/* STEPADV_SUCCESS_BINOMIAL_H */
