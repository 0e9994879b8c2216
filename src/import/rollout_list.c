/*
 * rollout_list.c
 *		Rollouts that are made one after the other.
 *
 * A document may have hundreds of them.  What is allocated for one is given back
 * before the next is begun: the same memory again is in the processor's caches, and
 * the kernel need not clear any.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"

#include "import/rollout_list.h"

/* What stays allocated from one rollout to the next; most need no more. */
#define KEPT_SIZE (512 * 1024)

void
begin_rollout_list(RolloutList *list)
{
	list->caller = CurrentMemoryContext;
	list->rollouts = initArrayResult(JSONBOID, list->caller, false);
	list->making = AllocSetContextCreate(list->caller, "stepadv rollout", ALLOCSET_DEFAULT_MINSIZE, KEPT_SIZE, ALLOCSET_DEFAULT_MAXSIZE);
}

void
begin_rollout(RolloutList *list)
{
	CHECK_FOR_INTERRUPTS();
	MemoryContextSwitchTo(list->making);
}

void
add_rollout(RolloutList *list, JsonbValue *rollout)
{
	Datum		json = JsonbPGetDatum(JsonbValueToJsonb(rollout));

	MemoryContextSwitchTo(list->caller);
	accumArrayResult(list->rollouts, json, false, JSONBOID, list->caller);
	MemoryContextReset(list->making);
}

Datum
end_rollout_list(RolloutList *list)
{
	MemoryContextDelete(list->making);
	return makeArrayResult(list->rollouts, list->caller);
}
