#ifndef STEPADV_SUCCESS_MAJORITY_H
#define STEPADV_SUCCESS_MAJORITY_H

#include "postgres.h"

/* An answer: how many rollouts gave it, and how many of these were judged right. */
typedef struct Answer
{
	int64		hash;			/* hash key */
	int64		votes;
	int64		right;
} Answer;

/*
 * n_silent rollouts gave no answer.  k is at least 1, and at most the sum of the votes and these.  An answer is as
 * right as the share of its rollouts that are; of several most given ones each is taken as often.
 */
extern double majority_right(const Answer *answers, int64 n_answers, int64 n_silent, int32 k);

#endif							/* STEPADV_SUCCESS_MAJORITY_H */
