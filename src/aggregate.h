/*
 * aggregate.h
 *		Declarations for aggregates.
 */
#ifndef STEPADV_AGGREGATE_H
#define STEPADV_AGGREGATE_H

#include "fmgr.h"

/* The memory context of the aggregate's state; an error if the function is not called by an aggregate. */
static inline MemoryContext
aggregate_context(FunctionCallInfo fcinfo)
{
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("support function of an aggregate called in non-aggregate context")));
	return context;
}

/* Lets plan/fold/offer_fold.c recognize rollout_agg and its lenient form. */
extern PGDLLEXPORT Datum stepadv_rollout_agg_trans(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum stepadv_lenient_rollout_agg_trans(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum stepadv_rollout_agg_final(PG_FUNCTION_ARGS);

/* The functions that hash other ids to bigints, which it also recognizes. */
extern PGDLLEXPORT Datum stepadv_signature_hash_text(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum stepadv_signature_hash_bytea(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum stepadv_signature_hash_uuid(PG_FUNCTION_ARGS);
extern PGDLLEXPORT Datum stepadv_signature_hash_pair(PG_FUNCTION_ARGS);

#endif							/* STEPADV_AGGREGATE_H */
