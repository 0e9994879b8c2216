/*
 * group.h
 *		rollout_group: all rollouts of one task as a value of packed columns.
 *
 * This folder does not depend on SQL.  A value has its rollouts sorted by rollout_id and their steps by
 * step_no, so anything computed from it does not depend on the order of input rows.
 *
 * NULLs inside: a missing reward, value, turn_reward, cost, logp, outcome or reward component is NaN (NaN
 * itself is refused as input); a missing state, action, next_state, turn or coarse_state is a bit in `nulls`;
 * a missing policy_step is NO_POLICY_STEP.
 *
 * A value stores calls, one per input row.  A step of an estimator is one call, or all calls of a turn,
 * depending on the value's unit: see group_open_by_unit.
 */
#ifndef STEPADV_GROUP_GROUP_H
#define STEPADV_GROUP_GROUP_H

#include <math.h>

#include "group/row.h"

/* Columns that a value has only if some row has a value for them. */
#define HAS_OUTCOME			0x01
#define HAS_NULLS			0x02
#define HAS_NEXT_STATE		0x04
#define HAS_VALUE			0x08
#define HAS_TURN_REWARD		0x10
#define HAS_COST			0x20
#define HAS_VERSION_1		0x3F	/* possible in version 1 */
#define HAS_TURN			0x40
#define HAS_DEFECTS			0x80
#define HAS_STORED			0xFF	/* the bits in RolloutGroup.has; the others follow from n_rewards or a flag */
#define HAS_REWARDS			0x100
#define HAS_OUTCOME_REWARDS	0x200
#define HAS_TRUNCATED		0x400
#define HAS_POLICY_STEP		0x800
#define HAS_VERSION_2		0xFFF	/* possible in version 2 */
#define HAS_COARSE_STATE	0x1000
#define HAS_LOGP			0x2000

/*
 * Version of the binary format. group_open() must read every version ever written.  A value is written in the
 * oldest version that can represent it.
 */
#define GROUP_VERSION		3

/* What a step is for estimators. */
typedef enum GroupUnit
{
	UNIT_STEP,					/* a call */
	UNIT_TURN,					/* the calls of a turn, in order */
	UNIT_TURN_SET				/* the calls of a turn, in any order */
} GroupUnit;

/* The plural of each unit, for messages. */
extern const char *const group_unit_plurals[];

/* Bits of RolloutGroup.flags: the unit, and */
#define FLAG_UNIT			0x03
#define FLAG_LENIENT		0x04
#define FLAG_OUTCOME_REWARDS 0x08
#define FLAG_TRUNCATED		0x10
#define FLAG_POLICY_STEP	0x20
#define FLAGS_VERSION_2		0x3F	/* possible in version 2 */
#define FLAG_COARSE_STATE	0x40
#define FLAG_LOGP			0x80

/*
 * The varlena: a header, then the columns, widest first, each with exactly as many entries as its count (see
 * GROUP_COLUMN_LIST).  Always little-endian.
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

/* What determines the size of a value and its flags. */
typedef struct GroupShape
{
	uint64		n_rollouts;
	uint64		n_steps;
	uint16		has;			/* HAS_… */
	uint8		n_rewards;
	GroupUnit	unit;
	bool		lenient;
} GroupShape;

/* A value opened for reading: its columns in native byte order. */
typedef struct GroupColumns
{
	uint32		n_rollouts;
	uint32		n_steps;
	uint32		n_rewards;		/* reward components */
	GroupUnit	unit;
	bool		lenient;		/* lenient: estimators return NULL where they would raise an error */

	/* by rollout */
	const int64 *rollout_id;
	const double *outcome;		/* reward of the rollout's own rows; or NULL */
	const uint32 *n_rollout_steps;
	const uint8 *success;		/* Success */
	const uint8 *truncated;		/* Truncation; or NULL: all unknown */
	const int64 *policy_step;	/* of the policy that made it, or NO_POLICY_STEP; or NULL: all unknown */
	const uint32 *first_step;	/* n_rollouts + 1 offsets, computed on opening */
	const uint8 *defects;		/* DEFECT_… bits; or NULL: none */
	bool		owns_defects;	/* defects is a copy made by group_add_defect */

	/* by step */
	const int64 *step_id;
	const int64 *state;
	const int64 *action;
	const double *reward;
	const int32 *step_no;
	const uint8 *nulls;			/* NULL_… bits; or NULL: none */

	/* by step, NULL if the value does not have the column */
	const int64 *next_state;
	const double *value;
	const double *turn_reward;
	const double *cost;
	const int32 *turn;
	const int64 *coarse_state;	/* identity of a coarser state, which several states share */
	const double *logp;			/* log-probability of the action, by the policy that took it */

	/* n_rewards columns one after the other, by step and by rollout; or NULL */
	const double *step_rewards;
	const double *outcome_rewards;
	uint64		n_step_rewards; /* entries */
	uint64		n_outcome_rewards;
} GroupColumns;

/* The shape in the header of a value, which is not checked here. */
extern GroupShape group_shape(const RolloutGroup *datum);

/*
 * Open a value for reading. datum must be detoasted and stay allocated as long as the columns are used: on
 * little-endian machines they point into it.
 */
extern void group_open(const RolloutGroup *datum, GroupColumns *group);

/* The same for external input, of which group_check checks the rest. */
extern void group_open_input(const RolloutGroup *datum, GroupColumns *group, int sqlerrcode);

/*
 * Create a value with room for the given counts, or a copy of an open one.  The caller fills or changes its
 * columns through the pointers of GroupColumns (which are const only for readers), and then seals it.
 */
extern RolloutGroup *group_allocate(const GroupShape *shape, GroupColumns *group);
extern RolloutGroup *group_copy(const GroupColumns *group, GroupColumns *copy);
extern void group_seal(RolloutGroup *datum);

/* Check what the builder guarantees and estimators rely on, of an external value; an error if it does not hold. */
extern void group_check(const GroupColumns *group, int sqlerrcode);
extern uint64 group_size(const GroupShape *shape);

/* The same, or an error if it exceeds the limit. */
extern Size checked_group_size(const GroupShape *shape);

/*
 * Open a value as estimators see it.  If the unit is a step, these are its columns; if it is a turn, the calls
 * of each turn become one step, with step_id and step_no of its first call.  Returns NULL, or by call the index
 * of its step. calls, unless NULL, receives the columns as stored.
 */
extern const uint32 *group_open_by_unit(const RolloutGroup *datum, GroupColumns *group, GroupColumns *calls);

/* The number of turns by rollout, from a value's columns as stored. */
extern const uint32 *group_count_turns(const GroupColumns *calls);

/* The index of a rollout, by binary search; -1: not found.  Requires the columns of a value. */
extern int64 group_place_of_rollout(const GroupColumns *group, int64 rollout_id);

/* Mark a rollout as defective in open columns.  The value itself does not change. */
extern void group_add_defect(GroupColumns *group, uint32 rollout, uint8 defect);

/* Is the rollout known to be truncated? */
static inline bool
rollout_is_truncated(const GroupColumns *group, uint32 rollout)
{
	return group->truncated != NULL && group->truncated[rollout] == TRUNCATION_TRUE;
}

/* NaN: the step has none. */
static inline double
step_turn_reward(const GroupColumns *group, uint32 step)
{
	return group->turn_reward == NULL ? NAN : group->turn_reward[step];
}

/* Is this identity of a step NULL? which: a NULL_… bit. */
static inline bool
step_has_null(const GroupColumns *group, uint32 step, uint8 which)
{
	return group->nulls != NULL && (group->nulls[step] & which) != 0;
}

#endif							/* STEPADV_GROUP_GROUP_H */
