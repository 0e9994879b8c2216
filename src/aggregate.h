/*
 * aggregate.h
 *		The context in which an aggregate keeps its state.
 */
#ifndef STEPADV_AGGREGATE_H
#define STEPADV_AGGREGATE_H

#include "fmgr.h"

/* Of the support function's aggregate; an error if there is none. */
static inline MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate support function called outside an aggregate");
	return context;
}

#endif							/* STEPADV_AGGREGATE_H */
