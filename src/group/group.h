/*
 * group.h
 *		rollout_group: all rollouts of one task as a value of packed columns.
 *
 * This room knows nothing of SQL.  A value has its rollouts sorted by
 * rollout_id and the steps of each by step_no, so whatever is computed from it
 * does not depend on how the rows arrived.
 *
 * NULLs inside: a missing reward, value, turn_reward, cost or outcome is NaN
 * (NaN itself is refused as input); a missing state, action or next_state is a
 * bit in `nulls`.
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
#define HAS_ALL				0x3F

/* Binary format; read_group() must go on reading every version ever written. */
#define GROUP_VERSION		1

/*
 * The varlena.  Header, then the columns, widest first, each exactly as long as
 * its count says (see GROUP_COLUMN_LIST); all little-endian on every machine.
 */
typedef struct RolloutGroup
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	uint8		version;
	uint8		has;			/* HAS_… */
	uint16		reserved;		/* 0 */
	uint32		n_rollouts;
	uint32		n_steps;
} RolloutGroup;

/* A value opened for reading: its columns in native byte order. */
typedef struct GroupColumns
{
	uint32		n_rollouts;
	uint32		n_steps;

	/* by rollout */
	const int64 *rollout_id;
	const double *outcome;		/* reward of the rollout's own row; or NULL */
	const uint32 *n_rollout_steps;
	const uint8 *success;		/* Success */
	const uint32 *first_step;	/* n_rollouts + 1 offsets, made on opening */

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
} GroupColumns;

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
extern RolloutGroup *group_allocate(uint64 n_rollouts, uint64 n_steps, uint8 has, GroupColumns *group);
extern RolloutGroup *group_copy(const GroupColumns *group, GroupColumns *copy);
extern void group_seal(RolloutGroup *datum);
extern void group_check(const GroupColumns *group, int sqlerrcode);
extern Size group_size(uint64 n_rollouts, uint64 n_steps, uint8 has);

/* 0-based step index -> which of its identities are NULL */
static inline bool
step_has_null(const GroupColumns *group, uint32 step, uint8 which)
{
	return group->nulls != NULL && (group->nulls[step] & which) != 0;
}

#endif							/* STEPADV_GROUP_GROUP_H */
