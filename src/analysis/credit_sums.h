/*
 * credit_sums.h
 *		The sums of a group, which credit_agg computes and credit_check reads.
 */
#ifndef STEPADV_CREDIT_SUMS_H
#define STEPADV_CREDIT_SUMS_H

#define MAX_SHUFFLES 1000

/* The first columns of a row; the sums of x' y, x x and y y follow for each shuffle, the actual outcomes first. */
enum
{
	COUNT_STEPS, COUNT_COVERED, N_COUNTS
};

#endif							/* STEPADV_CREDIT_SUMS_H */
