/*
 * step_signs.h
 *		The signs of steps by several methods, counted; see step_signs.c.
 */
#ifndef STEPADV_STEP_SIGNS_H
#define STEPADV_STEP_SIGNS_H

#include "digest/counts.h"

#define MOST_METHODS 30			/* with the outcome, 62 bits */

/* Outcome of a rollout, the first digit of a pattern. */
#define OUTCOME_FAILURE 0
#define OUTCOME_SUCCESS 1
#define OUTCOME_UNKNOWN 2
#define N_OUTCOMES 3

typedef struct StepSigns
{
	int			n_methods;
	counts_hash *patterns;
	double	   *apart;			/* of each pair; 0: they never disagree */
} StepSigns;

/* What one method says of a step; scale: NaN where it says nothing. */
typedef struct SignedStep
{
	double		advantage;
	double		scale;
	bool		isnull;
} SignedStep;

extern StepSigns *new_step_signs(MemoryContext context, int n_methods);

/* A step more, by all methods. */
extern void add_signed_step(StepSigns *signs, int outcome, const SignedStep *steps, double sign_threshold, double scale_threshold);

/* Patterns bigint[] in their order, counts bigint[], apart float8[]. */
extern void step_signs_values(const StepSigns *signs, Datum *values);

#endif							/* STEPADV_STEP_SIGNS_H */
