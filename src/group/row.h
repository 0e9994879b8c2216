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

/* Bits of StepRow.nulls and of a group's nulls column. */
#define NULL_STATE			0x01
#define NULL_ACTION			0x02
#define NULL_NEXT_STATE		0x04
#define NULLS_ALL			0x07

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
	bool		is_rollout;		/* stands for the rollout, is no step */
	bool		is_wide;		/* has the following, else they are not set */
	int64		next_state;
	double		value;
	double		turn_reward;
	double		cost;
} StepRow;

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
	MAX_ROW_ARGS
};

/*
 * Read a row from arguments.  What an argument list does not have is NULL in
 * every row.  Errors: rollout_id NULL, step_id NULL in a step, a number that is
 * not finite.
 */
extern void read_step_row(const NullableDatum *args, int n_args, StepRow *row);

#endif							/* STEPADV_GROUP_ROW_H */
