/*
 * write_steps.h
 *		Steps in our words into the canonical table of steps.
 */
#ifndef STEPADV_WRITE_STEPS_H
#define STEPADV_WRITE_STEPS_H

#include "tcop/dest.h"

#include "import/json_read.h"
#include "import/rollout_rows.h"
#include "import/row_writer.h"

/* The next row: the columns that tell its rollout, and behind them those of a step. */
typedef struct SaidSteps
{
	RowWriter  *writer;
	int			n_keys;
	Datum	   *values;
	bool	   *nulls;
	StepCounts	counts;			/* of the rollout that was written last */
} SaidSteps;

/* The writer is NULL where only an INSERT can do it. */
extern void begin_said_steps(SaidSteps *to, Oid steps, Oid rollouts, char **keys, int n_keys);

/*
 * A rollout's list of steps, of which import_problem has nothing to say; the first
 * n_keys values are set.  kept: what each step's metadata is to have besides, or
 * NULL.  A rollout that is known to be there, or to come, is not looked up.
 */
extern void write_said_steps(SaidSteps *to, const JsonbValue *list, Jsonb *kept, bool rollout_is_known);

/* What a receiver does that has nothing to do before and after. */
extern void begin_receiving(DestReceiver *self, int operation, TupleDesc desc);
extern void end_receiving(DestReceiver *self);

/* The rows of a query, one after the other. */
extern void receive_query(const char *query, DestReceiver *receiver);

#endif							/* STEPADV_WRITE_STEPS_H */
