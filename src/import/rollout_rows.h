/*
 * rollout_rows.h
 *		Rollouts whose steps are written as they are read, as rows of a function.
 */
#ifndef STEPADV_ROLLOUT_ROWS_H
#define STEPADV_ROLLOUT_ROWS_H

#include "fmgr.h"
#include "utils/tuplestore.h"

/* The columns that the functions give. */
typedef enum RolloutColumn
{
	ROLLOUT_KEYS,				/* of the group, in the order of the caller */
	ROLLOUT_ID,
	ROLLOUT_TASK_ID,
	ROLLOUT_GROUP_ID,
	ROLLOUT_RUN_ID,
	ROLLOUT_POLICY_VERSION,
	ROLLOUT_POLICY_STEP,
	ROLLOUT_TAGS,
	ROLLOUT_OUTCOME,
	ROLLOUT_SUCCESS,
	ROLLOUT_TRUNCATED,
	ROLLOUT_MODEL,
	ROLLOUT_CHANNEL,
	ROLLOUT_CURATION,
	ROLLOUT_STARTED_AT,
	ROLLOUT_ENDED_AT,
	ROLLOUT_METADATA,
	ROLLOUT_N_READ,				/* lines or documents */
	ROLLOUT_N_STEPS,
	ROLLOUT_DROPPED,			/* of documents: counts by kind, to be told at the end */
	ROLLOUT_REPAIRED,
	ROLLOUT_N_ACTIONS,			/* of its steps: how many have one */
	ROLLOUT_N_STATES,
	ROLLOUT_N_TOKENS,
	N_ROLLOUT_COLUMNS
} RolloutColumn;

#define MAX_ROLLOUT_KEYS 6

/* How many steps of a rollout have an action, a state and the tokens of a response. */
typedef struct StepCounts
{
	int64		actions;
	int64		states;
	int64		tokens;
} StepCounts;

/* The next rollout, and what the caller says of all. */
typedef struct RolloutRows
{
	Tuplestorestate *rows;
	TupleDesc	desc;
	int			n_keys;
	char	   *key_names[MAX_ROLLOUT_KEYS + 1];	/* and rollout_id */
	RolloutColumn keys[MAX_ROLLOUT_KEYS];
	Datum		otherwise[MAX_ROLLOUT_KEYS];	/* where a rollout does not say; 0: nothing */
	bool		lacks[N_ROLLOUT_COLUMNS];	/* what the tables have no column for */
	Datum		given[N_ROLLOUT_COLUMNS];	/* run, version and its number, of all; 0: not */
	Datum		values[N_ROLLOUT_COLUMNS];
	bool		nulls[N_ROLLOUT_COLUMNS];
	int64		n_rollouts;		/* given */
} RolloutRows;

/*
 * What the arguments of write_lines and write_documents have in common, the first
 * eight: steps, rollouts, keys, otherwise, lacking, run_id, policy_version, policy_step.
 */
extern void begin_rollouts(RolloutRows *to, FunctionCallInfo fcinfo);

/* Nothing is set of the next rollout. */
extern void clear_rollout(RolloutRows *to);

static inline void
set_rollout(RolloutRows *to, RolloutColumn column, Datum value)
{
	to->values[column] = value;
	to->nulls[column] = false;
}

/* The keys that these values, by RolloutColumn, make, and the rollout's id. */
extern void keys_of_rollout(const RolloutRows *to, const Datum *values, const bool *nulls, Datum *keys);

/* The rollout, with the keys of its steps, and what these have. */
extern void give_rollout(RolloutRows *to, Datum *keys, StepCounts counts);

/* Leave it to those who look at each and say what is wrong: an error that they expect. */
extern _Noreturn void leave_it_to_others(const char *reason);

#endif							/* STEPADV_ROLLOUT_ROWS_H */
