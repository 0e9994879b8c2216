/*
 * jsonb_hash.h
 *		Identities of what importers and the canonical tables hold, without a value
 *		made for the purpose.
 */
#ifndef STEPADV_JSONB_HASH_H
#define STEPADV_JSONB_HASH_H

#include "utils/jsonb.h"

/* signature_hash(jsonb_build_array(tool, args)); args may be NULL, for SQL's. */
extern int64 hash_of_tool_call(const char *tool, int tool_length, Jsonb *args);

#endif							/* STEPADV_JSONB_HASH_H */
