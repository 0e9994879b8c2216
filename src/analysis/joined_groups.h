/*
 * joined_groups.h
 *		The rollouts of several groups as columns of one, for what is asked of all of them.
 */
#ifndef STEPADV_JOINED_GROUPS_H
#define STEPADV_JOINED_GROUPS_H

#include "utils/array.h"

#include "group/facts.h"

typedef struct JoinedGroups
{
	GroupColumns columns;		/* ids, states, actions, rewards and results of all; no other columns */
	RolloutFacts facts;
	uint32		n;				/* groups */
	uint32	   *first_rollout;	/* n + 1 offsets */
} JoinedGroups;

/* NULLs in the array are no groups. */
extern void join_groups(ArrayType *array, JoinedGroups *joined);

#endif							/* STEPADV_JOINED_GROUPS_H */
