#ifndef STEPADV_LEAVE_ONE_OUT_H
#define STEPADV_LEAVE_ONE_OUT_H

#include "estimators/identity.h"

/* A group, prepared for leaving out one rollout at a time. */
typedef struct LeaveOneOut
{
	const GroupColumns *group;
	const RolloutFacts *facts;
	double		gamma;
	double	   *returns;		/* by step, discounted by gamma */
	Identities	states;
	Identities	pairs;
	int32	   *next;			/* by step: the state that it leads to */
} LeaveOneOut;

extern void prepare_leave_one_out(const GroupColumns *group, const RolloutFacts *facts, double gamma,
								  LeaveOneOut *out);

/*
 * Mark the rollouts to leave out: judged ones of the group itself that have steps.  None if fewer than two
 * rollouts can be compared; if more than most, that many, chosen by a hash of their ids.
 */
extern void choose_left_out(const GroupColumns *group, const RolloutFacts *facts, uint32 most, int64 seed,
							bool *chosen);

/*
 * By step of the rollout (entry 0 is its first): the value of its state, estimated from the others. known is
 * false if none of them visited the state.
 */
extern void value_by_others(const LeaveOneOut *out, uint32 rollout, double *value, bool *known);

/* The mean estimate of a pair, over the other rollouts' steps that have one. */
typedef struct PairEstimate
{
	uint32		n;
	double		mean;			/* 0 if there are none */
} PairEstimate;

/* By pair. advantage: the estimates by step of the group, NaN for none. */
extern PairEstimate *mean_by_pair(const LeaveOneOut *out, uint32 rollout, const double *advantage);

/* By state: the mean over the other rollouts' steps in it. */
extern double *average_by_state(const LeaveOneOut *out, const PairEstimate *means);

#endif							/* STEPADV_LEAVE_ONE_OUT_H */
