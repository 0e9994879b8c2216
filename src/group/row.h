/*
 * row.h
 *		One row of what rollout_agg is fed: a step, or a rollout as a whole.
 */
#ifndef STEPADV_GROUP_ROW_H
#define STEPADV_GROUP_ROW_H

#include <math.h>

/* Whether a rollout reached its goal: any row's word, if any row has one. */
typedef enum Success
{
	SUCCESS_UNKNOWN = 0,
	SUCCESS_FALSE = 1,
	SUCCESS_TRUE = 2
} Success;

/* Whether a rollout was cut off before it ended: any row's word, if any row has one. */
typedef enum Truncation
{
	TRUNCATION_UNKNOWN = 0,
	TRUNCATION_FALSE = 1,
	TRUNCATION_TRUE = 2
} Truncation;

/* The policy_step of a rollout without a known one; the least bigint as a policy_step means the same. */
#define NO_POLICY_STEP		PG_INT64_MIN

/* Bits of StepRow.nulls and of a group's nulls column. */
#define NULL_STATE			0x01
#define NULL_ACTION			0x02
#define NULL_NEXT_STATE		0x04
#define NULL_TURN			0x08	/* in a group without turns it is not set */
#define NULL_COARSE_STATE	0x10	/* in a group without coarse states it is not set */
#define NULLS_IDENTITIES	0x07
#define NULLS_ALL			0x1F
/* What goes without saying of the step of a group without next_states, turns and coarse states. */
#define PLAIN_NULLS			(NULL_NEXT_STATE | NULL_TURN | NULL_COARSE_STATE)

/* Bits of StepRow.parts: what else a row has, else it is not set. */
#define PART_WIDE			0x01	/* next_state, value, turn_reward, cost */
#define PART_EXTRA			0x02	/* turn, defects, rewards, truncated, policy_step */
#define PART_POLICY			0x04	/* coarse_state, logp */

/*
 * Bits of a rollout's defects: why it is not judged, in a value that is forgiving,
 * for which a row that cannot be is no error.  Those of the second kind matter only to who reads the column.
 */
#define DEFECT_STEP			0x01	/* two rows of one step, or one without a step_id */
#define DEFECT_REWARD		0x04	/* a reward that is not finite */
#define DEFECT_OUTCOME		0x08	/* two outcomes */
#define DEFECT_OVERFLOW		0x80	/* a sum of its numbers is not finite */
#define DEFECTS_FOR_ALL		0x8D
#define DEFECT_POLICY_STEP	0x02	/* two of them */
#define DEFECT_TURN_REWARD	0x10	/* not finite */
#define DEFECT_COST			0x20	/* not finite, or not above 0 */
#define DEFECT_COMPONENT	0x40	/* of a reward: not finite */

/* Components that a reward may have. */
#define MAX_REWARDS			64

typedef struct StepRow
{
	int64		rollout_id;
	int64		step_id;
	int64		state;
	int64		action;
	double		reward;			/* NaN: none */
	int32		step_no;
	uint8		nulls;			/* NULL_… */
	uint8		success;		/* Success */
	bool		is_rollout;		/* belongs to the rollout, is no step */
	uint8		parts;			/* PART_…; with neither, a row ends here */
	int64		next_state;
	double		value;
	double		turn_reward;
	double		cost;
	int32		turn;			/* not NULL if the bit in nulls is not set */
	uint8		defects;		/* of its rollout; 0: none known from this row */
	uint8		n_rewards;		/* components given; 0: none */
	const void *rewards;		/* n_rewards doubles, not aligned; NULL: all are missing */
	uint8		truncated;		/* Truncation, of its rollout */
	bool		has_policy_step;
	int64		policy_step;	/* of its rollout, if the row has it */
	int64		coarse_state;	/* not NULL if the bit in nulls is not set */
	double		logp;			/* of the action, NaN: not known */
} StepRow;

static inline double
row_reward(const StepRow *row, int component)
{
	double		reward;

	memcpy(&reward, (const char *) row->rewards + component * sizeof(double), sizeof(double));
	return reward;
}

/* The arguments of rollout_agg; its shorter forms stop earlier. */
enum
{
	ROW_STEP_ID,
	ROW_ROLLOUT_ID,
	ROW_STEP_NO,
	ROW_STATE,
	ROW_ACTION,
	ROW_REWARD,
	ROW_SUCCESS,
	ROW_NEXT_STATE,
	ROW_VALUE,
	ROW_TURN_REWARD,
	ROW_COST,
	ROW_TURN,
	ROW_REWARDS,
	ROW_TRUNCATED,
	ROW_POLICY_STEP,
	ROW_COARSE_STATE,
	ROW_LOGP,
	MAX_ROW_ARGS
};

/*
 * Read a row from arguments.  What an argument list does not have is NULL in
 * every row.  Its reward components are put into `rewards`, and are there until
 * the next row is.  Errors: rollout_id NULL, step_id NULL in a step, a number
 * that is not finite, more than MAX_REWARDS components.
 *
 * `forgiving`: a number that is not finite, or beyond LARGEST_FORGIVEN, or a cost
 * that is not above 0, is missing and a defect of the rollout (of a value it is
 * only missing), as is a step_id; false: the row is of no rollout.
 */
#define LARGEST_FORGIVEN 1e100
extern bool read_step_row(const NullableDatum *args, int n_args, bool forgiving, double rewards[MAX_REWARDS], StepRow *row);

#endif							/* STEPADV_GROUP_ROW_H */
