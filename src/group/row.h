/*
 * row.h
 *		One input row of rollout_agg: a step, or a rollout as a whole.
 */
#ifndef STEPADV_GROUP_ROW_H
#define STEPADV_GROUP_ROW_H

#include <math.h>

/* Whether a rollout reached its goal.  Over several rows, the greatest value counts. */
typedef enum Success
{
	SUCCESS_UNKNOWN = 0,
	SUCCESS_FALSE = 1,
	SUCCESS_TRUE = 2
} Success;

/* Whether a rollout was truncated.  Over several rows, the greatest value counts. */
typedef enum Truncation
{
	TRUNCATION_UNKNOWN = 0,
	TRUNCATION_FALSE = 1,
	TRUNCATION_TRUE = 2
} Truncation;

/* The policy_step of a rollout that has none.  The least bigint as input means the same. */
#define NO_POLICY_STEP		PG_INT64_MIN

/* Bits of StepRow.nulls and of a group's nulls column. */
#define NULL_STATE			0x01
#define NULL_ACTION			0x02
#define NULL_NEXT_STATE		0x04
#define NULL_TURN			0x08	/* not set in a group without turns */
#define NULL_COARSE_STATE	0x10	/* not set in a group without coarse states */
#define NULLS_IDENTITIES	0x07
#define NULLS_ALL			0x1F
/* The bits of a step without next_state, turn and coarse_state. */
#define PLAIN_NULLS			(NULL_NEXT_STATE | NULL_TURN | NULL_COARSE_STATE)

/* Bits of StepRow.parts: the optional parts that are set. */
#define PART_WIDE			0x01	/* next_state, value, turn_reward, cost */
#define PART_EXTRA			0x02	/* turn, defects, rewards, truncated, policy_step */
#define PART_POLICY			0x04	/* coarse_state, logp */

/*
 * Bits of a rollout's defects, in a lenient value: bad input that would otherwise be an error.  Those in
 * DEFECTS_FOR_ALL make the rollout not judged; the others do so only for methods that read the column.
 */
#define DEFECT_STEP			0x01	/* two rows for one step, or a step without step_id */
#define DEFECT_REWARD		0x04	/* a reward that is not finite */
#define DEFECT_OUTCOME		0x08	/* two outcomes */
#define DEFECT_OVERFLOW		0x80	/* a sum of its numbers overflows */
#define DEFECTS_FOR_ALL		0x8D
#define DEFECT_POLICY_STEP	0x02	/* two different policy steps */
#define DEFECT_TURN_REWARD	0x10	/* not finite */
#define DEFECT_COST			0x20	/* not finite, or not above 0 */
#define DEFECT_COMPONENT	0x40	/* a reward component that is not finite */

/* The maximum number of reward components. */
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
	bool		is_rollout;		/* a row of the rollout itself, not a step */
	uint8		parts;			/* PART_…; without any, the fields below are not set */
	int64		next_state;
	double		value;
	double		turn_reward;
	double		cost;
	int32		turn;			/* valid unless its bit in nulls is set */
	uint8		defects;		/* of its rollout, found in this row */
	uint8		n_rewards;		/* length of the array; 0: none */
	const void *rewards;		/* n_rewards doubles, not aligned; NULL: all are NULL */
	uint8		truncated;		/* Truncation, of its rollout */
	bool		has_policy_step;
	int64		policy_step;	/* of its rollout, if has_policy_step */
	int64		coarse_state;	/* valid unless its bit in nulls is set */
	double		logp;			/* NaN: unknown */
} StepRow;

static inline double
row_reward(const StepRow *row, int component)
{
	double		reward;

	memcpy(&reward, (const char *) row->rewards + component * sizeof(double), sizeof(double));
	return reward;
}

/* The arguments of rollout_agg.  Its shorter forms have only the first ones. */
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
 * Read a row from arguments; missing trailing arguments are NULL.  Reward components are stored in rewards, and
 * are valid until the next call.  Errors: rollout_id is NULL, step_id of a step is NULL, a number is not
 * finite, there are more than MAX_REWARDS components.
 *
 * lenient: numbers that are not finite or exceed LARGEST_LENIENT, costs that are not above 0, and
 * missing step_ids are defects of the rollout instead, and bad numbers become missing.  A bad value or logp
 * only becomes missing.  Returns false if rollout_id is NULL.
 */
#define LARGEST_LENIENT 1e100
extern bool read_step_row(const NullableDatum *args, int n_args, bool lenient, double rewards[MAX_REWARDS], StepRow *row);

#endif							/* STEPADV_GROUP_ROW_H */
