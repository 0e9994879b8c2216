/*
 * leave_one_out.h
 *		What the other rollouts of a group say about the steps of one, and what
 *		then happened to it.
 */
#ifndef STEPADV_LEAVE_ONE_OUT_H
#define STEPADV_LEAVE_ONE_OUT_H

#include "estimators/identity.h"
#include "sum.h"

/* A group, as leaving its rollouts out one by one needs it. */
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
 * The rollouts to leave out, marked in `chosen`: the group's own that are judged and have steps,
 * if there are two, and of more than `most` so many, by a hash of their ids.
 */
extern void choose_left_out(const GroupColumns *group, const RolloutFacts *facts, uint32 most, int64 seed,
							bool *chosen);

/*
 * By step of the rollout (entry 0 is its first): the value of its state by the others, or,
 * where `known` is false, of a state that none of them has been in.
 */
extern void value_by_others(const LeaveOneOut *out, uint32 rollout, double *value, bool *known);

/* What comes of it, added up over rollouts left out, and over groups. */
enum
{
	CREDIT_ROLLOUTS,			/* left out */
	CREDIT_STEPS,				/* of them */
	CREDIT_COVERED,				/* of these: the others took the action in the state */
	CREDIT_HAPPENED_SQUARE,		/* of all steps */
	CREDIT_HAPPENED_SIZE,		/* of those covered */
	CREDIT_SAID_SQUARE,
	CREDIT_SAID_HAPPENED,
	CREDIT_RANK_SQUARE,
	CREDIT_RANK_HAPPENED,
	CREDIT_SIGN_HAPPENED,
	N_CREDIT_SUMS
};

/* Adds those of a rollout left out; `advantage` is what was said, by step of the group, NaN: nothing. */
extern void add_left_out(const LeaveOneOut *out, uint32 rollout, const double *advantage, Sum *sums);

#endif							/* STEPADV_LEAVE_ONE_OUT_H */
