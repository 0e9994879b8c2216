/*
 * joined_groups.h
 *		The rollouts of several groups as columns of one, for functions of several groups.
 */
#ifndef STEPADV_JOINED_GROUPS_H
#define STEPADV_JOINED_GROUPS_H

#include "utils/array.h"

#include "group/facts.h"

typedef struct JoinedGroups
{
	GroupColumns columns;		/* rollout_id, step_no, state, action, reward, outcome, success; no others */
	RolloutFacts facts;
	uint32		n;				/* groups */
	uint32	   *first_rollout;	/* n + 1 offsets */
} JoinedGroups;

/* NULL elements are ignored. */
extern void join_groups(ArrayType *array, JoinedGroups *joined);

#endif							/* STEPADV_JOINED_GROUPS_H */
