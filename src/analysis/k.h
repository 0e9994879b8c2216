/*
 * k.h
 *		How many rollouts are drawn of a task's: the k of pass@k and its like.
 */
#ifndef STEPADV_SUCCESS_K_H
#define STEPADV_SUCCESS_K_H

#include "postgres.h"

/* k of a call: an error if it is NULL or not above 0. */
extern int32 read_k(const NullableDatum *arg);

/* k of one row more of an aggregate: an error if it is not that of the rows before (0: there are none). */
extern void same_k(int64 known, int32 k);

#endif							/* STEPADV_SUCCESS_K_H */
