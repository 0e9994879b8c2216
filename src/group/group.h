/*
 * group.h
 *		rollout_group: all rollouts of one task as a value of packed columns.
 *
 * This folder does not depend on SQL.  A value has its rollouts sorted by
 * rollout_id and the steps of each by step_no, so anything computed from it
 * does not depend on how the rows arrived.
 *
 * NULLs inside: a missing reward, value, turn_reward, cost, logp, outcome or reward
 * component is NaN (NaN itself is refused as input); a missing state, action,
 * next_state, turn or coarse_state is a bit in `nulls`; a missing policy_step is NO_POLICY_STEP.
 *
 * What is stored are calls, one a row.  What an estimator calls a step is a call
 * or a turn of several, by the value's unit: see group_open_by_unit.
 */
#ifndef STEPADV_GROUP_GROUP_H
#define STEPADV_GROUP_GROUP_H

#include <math.h>

#include "group/row.h"

/* Columns that a value has only if some row filled them. */
#define HAS_OUTCOME			0x01
#define HAS_NULLS			0x02
#define HAS_NEXT_STATE		0x04
#define HAS_VALUE			0x08
#define HAS_TURN_REWARD		0x10
#define HAS_COST			0x20
#define HAS_VERSION_1		0x3F	/* what version 1 can have */
#define HAS_TURN			0x40
#define HAS_DEFECTS			0x80
#define HAS_STORED			0xFF	/* the others go without saying, or are a flag */
#define HAS_REWARDS			0x100
#define HAS_OUTCOME_REWARDS	0x200
#define HAS_TRUNCATED		0x400
#define HAS_POLICY_STEP		0x800
#define HAS_VERSION_2		0xFFF	/* what version 2 can have */
#define HAS_COARSE_STATE	0x1000
#define HAS_LOGP			0x2000

/*
 * Binary format; group_open() must go on reading every version ever written.  A
 * value is written as the oldest version that can represent it.
 */
#define GROUP_VERSION		3

/* What a step is to the estimators. */
typedef enum GroupUnit
{
	UNIT_STEP,					/* a call */
	UNIT_TURN,					/* the calls of a turn, in their order */
	UNIT_TURN_SET				/* the calls of a turn, in any order */
} GroupUnit;

/* What a group of each unit consists of, in words. */
extern const char *const group_unit_plurals[];

/* Bits of RolloutGroup.flags: the unit, and */
#define FLAG_UNIT			0x03
#define FLAG_FORGIVING		0x04
#define FLAG_OUTCOME_REWARDS 0x08
#define FLAG_TRUNCATED		0x10
#define FLAG_POLICY_STEP	0x20
#define FLAGS_VERSION_2		0x3F	/* those that version 2 has */
#define FLAG_COARSE_STATE	0x40
#define FLAG_LOGP			0x80

/*
 * The varlena.  Header, then the columns, widest first, each with exactly as many
 * entries as its count (see GROUP_COLUMN_LIST); all little-endian on every machine.
 */
typedef struct RolloutGroup
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	uint8		version;
	uint8		has;			/* HAS_… */
	uint8		flags;			/* FLAG_…; 0 in version 1 */
	uint8		n_rewards;		/* reward components; 0 in version 1 */
	uint32		n_rollouts;
	uint32		n_steps;
} RolloutGroup;

/* What decides how long a value is, and its flags. */
typedef struct GroupShape
{
	uint64		n_rollouts;
	uint64		n_steps;
	uint16		has;			/* HAS_… */
	uint8		n_rewards;
	GroupUnit	unit;
	bool		forgiving;
} GroupShape;

/* A value opened for reading: its columns in native byte order. */
typedef struct GroupColumns
{
	uint32		n_rollouts;
	uint32		n_steps;
	uint32		n_rewards;		/* reward components */
	GroupUnit	unit;
	bool		forgiving;		/* estimators give NULL where they would raise an error */

	/* by rollout */
	const int64 *rollout_id;
	const double *outcome;		/* reward of the rollout's own row; or NULL */
	const uint32 *n_rollout_steps;
	const uint8 *success;		/* Success */
	const uint8 *truncated;		/* Truncation; or NULL: nothing is known of any */
	const int64 *policy_step;	/* of the policy that made it, or NO_POLICY_STEP; or NULL: none is known */
	const uint32 *first_step;	/* n_rollouts + 1 offsets, made on opening */
	const uint8 *defects;		/* what made it not worth judging; or NULL: none */
	bool		owns_defects;	/* they are not the value's own: group_add_defect made them */

	/* by step */
	const int64 *step_id;
	const int64 *state;
	const int64 *action;
	const double *reward;
	const int32 *step_no;
	const uint8 *nulls;			/* NULL_… bits; or NULL: none */

	/* by step, NULL where the value does not have them */
	const int64 *next_state;
	const double *value;
	const double *turn_reward;
	const double *cost;
	const int32 *turn;
	const int64 *coarse_state;	/* what several states have in common */
	const double *logp;			/* of the action, by the policy that took it */

	/* n_rewards columns one after the other, by step and by rollout; or NULL */
	const double *step_rewards;
	const double *outcome_rewards;
	uint64		n_step_rewards; /* entries */
	uint64		n_outcome_rewards;
} GroupColumns;

/* The contents of a header; only its own bytes can be checked. */
extern GroupShape group_shape(const RolloutGroup *datum);

/*
 * Reading.  `datum` must be detoasted and stay alive as long as the columns: on
 * little-endian machines its columns point into it.
 */
extern void group_open(const RolloutGroup *datum, GroupColumns *group);

/* The same of bytes from outside, which it does not trust more than group_check. */
extern void group_open_input(const RolloutGroup *datum, GroupColumns *group, int sqlerrcode);

/*
 * Values made otherwise: one with room for the given counts, or a copy of an
 * open one, whose columns the caller fills or changes through the pointers of
 * GroupColumns (they are const only for readers) and then seals.
 */
extern RolloutGroup *group_allocate(const GroupShape *shape, GroupColumns *group);
extern RolloutGroup *group_copy(const GroupColumns *group, GroupColumns *copy);
extern void group_seal(RolloutGroup *datum);

/* What the builder guarantees and the estimators rely on: of a value from outside, an error unless it holds. */
extern void group_check(const GroupColumns *group, int sqlerrcode);
extern uint64 group_size(const GroupShape *shape);

/* The same, or an error if that is more than a value may be. */
extern Size checked_group_size(const GroupShape *shape);

/*
 * A value as the estimators see it: of unit step its columns as they are, of
 * unit turn the calls of each turn made one step, whose step_id and step_no are
 * those of its first call.  The result is NULL, or by call the number of the step
 * that it is part of; `calls`, if not NULL, are the columns as stored.
 */
extern const uint32 *group_open_by_unit(const RolloutGroup *datum, GroupColumns *group, GroupColumns *calls);

/* By rollout how many turns it has, of a value's columns as stored. */
extern const uint32 *group_count_turns(const GroupColumns *calls);

/* The place of a rollout, of which a value has each once in the order of their ids; -1: it is none of these. */
extern int64 group_place_of_rollout(const GroupColumns *group, int64 rollout_id);

/* Mark a rollout of columns that are not a value, or not one to be believed. */
extern void group_add_defect(GroupColumns *group, uint32 rollout, uint8 defect);

/* Was the rollout cut off, so far as is known? */
static inline bool
rollout_is_truncated(const GroupColumns *group, uint32 rollout)
{
	return group->truncated != NULL && group->truncated[rollout] == TRUNCATION_TRUE;
}

/* NaN: it has none */
static inline double
step_turn_reward(const GroupColumns *group, uint32 step)
{
	return group->turn_reward == NULL ? NAN : group->turn_reward[step];
}

/* 0-based step index -> which of its identities are NULL */
static inline bool
step_has_null(const GroupColumns *group, uint32 step, uint8 which)
{
	return group->nulls != NULL && (group->nulls[step] & which) != 0;
}

#endif							/* STEPADV_GROUP_GROUP_H */
