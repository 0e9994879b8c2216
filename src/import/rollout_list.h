/*
 * rollout_list.h
 *		Rollouts that are made one after the other, in memory used anew for each.
 */
#ifndef STEPADV_ROLLOUT_LIST_H
#define STEPADV_ROLLOUT_LIST_H

#include "utils/array.h"

#include "import/json_read.h"

typedef struct RolloutList
{
	ArrayBuildState *rollouts;
	MemoryContext caller;
	MemoryContext making;		/* of one rollout */
} RolloutList;

extern void begin_rollout_list(RolloutList *list);

/* Until add_rollout, all that is allocated is of this rollout alone. */
extern void begin_rollout(RolloutList *list);

/* The object that was written is the next rollout. */
extern void add_rollout(RolloutList *list, JsonbValue *rollout);

/* As jsonb[]. */
extern Datum end_rollout_list(RolloutList *list);

#endif							/* STEPADV_ROLLOUT_LIST_H */
